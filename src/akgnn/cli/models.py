"""`akgnn models`."""

import typer

from akgnn.cli.output import print_json, print_table


def models(
    name: str | None = typer.Argument(None, help="Show the settings of this model."),
    as_json: bool = typer.Option(False, "--json", help="Print one JSON object."),
) -> None:
    """List the models, or the settings of one.

    Example: akgnn models akgnn
    """
    from akgnn.models.registry import MODELS, find_model
    from akgnn.training.presets import list_presets, load_preset

    if name is None:
        rows = [
            {"name": key, "family": entry.family, "paper": entry.paper}
            | {"presets": list(list_presets(key))}
            for key, entry in MODELS.items()
        ]
        if as_json:
            print_json({"models": rows})
            return
        for row in rows:
            print(f"{row['name']}  {row['family']}. {row['paper']}.")
            print(f"{'':{len(str(row['name']))}}  presets: {', '.join(row['presets'])}")
        print("\nSettings of a model: akgnn models NAME")
        return

    find_model(name)
    presets = {key: load_preset(name, key, dataset="") for key in list_presets(name)}
    values = {
        key: {**preset.model.to_dict(), **preset.training.to_dict()}
        for key, preset in presets.items()
    }
    if as_json:
        print_json({"name": name, "presets": values})
        return
    for key, about in list_presets(name).items():
        print(f"{key}: {about}.")
    print()
    settings = next(iter(values.values()))
    rows_ = [[setting, *(_shown(values[key][setting]) for key in presets)] for setting in settings]
    print_table(["setting", *presets], rows_)
    print("\nChange one with: akgnn train --set num_layers=8")


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool | None) else str(value)
