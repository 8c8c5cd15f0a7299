"""Command-line options made from `Request`, so that each is declared once."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import Field, fields
from functools import wraps
from inspect import Parameter
from types import NoneType
from typing import Annotated, Any, get_args

import typer

from akgnn.cli.names import dataset_names, model_names, models_or_auto, preset_names
from akgnn.errors import SettingsError
from akgnn.runs.request import Request, flag_of

_COMPLETIONS: Mapping[str, Callable[..., list[str]]] = {
    "datasets": dataset_names,
    "models": models_or_auto,
    "single models": model_names,
    "presets": preset_names,
}

_FIELDS = {item.name: item for item in fields(Request)}
_NAMED = re.compile(r"`(\w+)`")


def with_request(
    names: Collection[str] | None = None, **changed: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Decorate a command that takes a `request`: it gets the options that the request is made of.

    Args:
        names: Options that the command has; all if None.
        changed: Options that differ, by name: their `help`, `completes` and so on.
    """
    known = [item for item in fields(Request) if "panel" in item.metadata]
    chosen = [item for item in known if names is None or item.name in names]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters

        @wraps(command)
        def run(**values: Any) -> None:
            asked = {item.name: values.pop(item.name) for item in chosen}
            command(request=request_of(asked), **values)

        options = [_parameter(item, changed.get(item.name, {})) for item in chosen]
        before = [own[name] for name in own if own[name].annotation is typer.Context]
        others = [own[name] for name in own if name != "request" and own[name] not in before]
        run.__signature__ = inspect.Signature([*before, *options, *others])  # type: ignore[attr-defined]
        return run

    return decorated


def request_of(values: Mapping[str, Any]) -> Request:
    """The request that the values of the options make."""
    given = {name: value for name, value in values.items() if value not in (None, [], ())}
    if "vote" in given:
        given["vote"] = not given["vote"]
    if "settings" in given:
        given["settings"] = parsed_changes(given["settings"])
    return Request(**given)


def parsed_changes(changes: Collection[str]) -> dict[str, str]:
    """What `--set` says, given as NAME=VALUE each."""
    pairs = [change.partition("=") for change in changes]
    for name, equals, _ in pairs:
        if not (name and equals):
            raise SettingsError(f"Write NAME=VALUE, such as num_layers=8; got {name!r}.")
    return {name: value for name, _, value in pairs}


def _parameter(item: "Field[Any]", changed: Mapping[str, Any]) -> Parameter:
    """The option of a field."""
    about = {**item.metadata, **changed}
    flags = [flag_of(item)] if "flag" in about else []
    kind = about.get("kind") or _without_none(item.type)
    is_switch = kind is bool
    default = False if is_switch and item.default is True else item.default
    option = typer.Option(
        *flags,
        help=_NAMED.sub(_as_flag, about["help"]),
        rich_help_panel=about["panel"],
        metavar=about.get("metavar"),
        autocompletion=_COMPLETIONS.get(about.get("completes", "")),
        show_default=default not in (None, False, ()),
    )
    default = None if default == () else default
    hint: Any = kind if default is not None else kind | None
    hint = Annotated[hint, option]
    return Parameter(item.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=hint)


def _as_flag(found: re.Match[str]) -> str:
    """The flag of an option that a help names in backticks."""
    return flag_of(_FIELDS[found[1]]) if found[1] in _FIELDS else found[0]


def _without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if kinds else hint
