"""`akgnn models`."""

from collections.abc import Mapping
from typing import Any

import typer

from akgnn.cli.names import dataset_names, model_names
from akgnn.cli.show import fits, print_json, print_table
from akgnn.cli.terminal import say
from akgnn.report.values import value_text

# Numbers of features and classes of Cora.
_CORA = (1433, 7)


def models(
    name: str | None = typer.Argument(
        None, help="Show the settings of this model.", autocompletion=model_names
    ),
    dataset: str = typer.Option(
        "cora", help="Data set whose settings are shown.", autocompletion=dataset_names
    ),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """List the models, or the settings of one.

    Example: akgnn models akgnn
    """
    from akgnn.models.registry import MODELS, find_model
    from akgnn.runs.presets import list_presets, load_preset
    from akgnn.tuning.space import settings_of

    if name is None:
        rows = [
            {
                "name": key,
                "family": entry.family,
                "parameters": _parameters(key),
                "presets": list(list_presets(key)),
                "paper": entry.paper,
            }
            for key, entry in MODELS.items()
        ]
        if as_json:
            print_json({"models": rows})
            return
        columns = ["name", "family", "parameters", "presets", "paper"]
        print_table(columns, [[_shown(row[column]) for column in columns] for row in rows], "llrll")
        say()
        say("Parameters are counted on Cora. Settings of a model: akgnn models NAME")
        return

    find_model(name)
    presets = {key: load_preset(name, key, dataset) for key in list_presets(name)}
    values = {key: settings_of(preset) for key, preset in presets.items()}
    if as_json:
        print_json({"name": name, "presets": values})
        return
    about = list_presets(name)
    # Presets with different strategies have different settings.
    settings = dict.fromkeys(setting for kept in values.values() for setting in kept)
    columns = ["setting", *presets]
    rows_ = [
        [setting, *(_shown(values[key].get(setting, "-")) for key in presets)]
        for setting in settings
    ]
    say(f"Settings on {dataset}.")
    if fits(columns, rows_):
        for key, words in about.items():
            say(f"{key}: {words}.", hang=2)
        say()
        print_table(columns, rows_)
    else:
        _print_differences(about, values)
    say()
    say("Change one with: akgnn train --set num_layers=8")


def _print_differences(about: Mapping[str, str], values: Mapping[str, Mapping[str, Any]]) -> None:
    """The settings of the first preset, and those that others have otherwise."""
    first, *others = values
    say(f"{first}: {about[first]}.", hang=2)
    say()
    print_table(["setting", first], [[key, _shown(value)] for key, value in values[first].items()])
    say()
    say(f"Where the other presets differ from {first}:")
    for name in others:
        differs = [
            f"{key}={_shown(value)}"
            for key, value in values[name].items()
            if key not in values[first] or values[first][key] != value
        ]
        say()
        say(f"{name}: {about[name]}.", hang=2)
        say(f"  {', '.join(differs)}")


def _parameters(name: str) -> int | None:
    """Number of parameters on Cora with the first preset; None where a package is missing."""
    from akgnn.errors import MissingExtraError
    from akgnn.models.registry import build_model
    from akgnn.runs.presets import list_presets, load_preset

    settings = load_preset(name, next(iter(list_presets(name))), "cora").model
    try:
        model = build_model(name, settings, *_CORA)
    except MissingExtraError:
        return None
    return sum(parameter.numel() for parameter in model.parameters())


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, list) else value_text(value)
