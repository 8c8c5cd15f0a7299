"""Dataclasses as JSON and back.

What is read is checked against the annotations, as if a stranger had written it, so that the rest
of the code can trust it.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from akgnn.errors import AkgnnError, CheckpointError, UnknownNameError
from akgnn.text import is_printable

Kind = TypeVar("Kind")

MISFITS = (
    KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, AkgnnError,
)  # fmt: skip
"""What can go wrong in picking foreign JSON apart."""
_HINTS: dict[type, dict[str, Any]] = {}


def hints_of(kind: type) -> dict[str, Any]:
    """The types of a class's fields; worked out once, for there are many records."""
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Inside, anything that does not fit is reported as a damaged or foreign record of `path`.

    Raises:
        CheckpointError: Something did not fit.
    """
    try:
        yield
    except CheckpointError:
        raise
    except UnknownNameError as error:
        # A model or kernel that was registered by other code, or a later version's.
        raise CheckpointError(f"The record in {path} cannot be read here. {error}") from error
    except MISFITS as error:
        raise CheckpointError(
            f"The record in {path} is damaged or foreign: {cause_of(error)}."
        ) from error


def cause_of(error: Exception) -> str:
    """What is wrong with a record, for a sentence that goes on or ends."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")


def to_json(value: Any) -> Any:
    """A value as JSON holds it: a dataclass as an object of its fields, a tuple as a list.

    A class with a method `to_dict` decides for itself.
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if is_dataclass(value):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {name: to_json(item) for name, item in value.items()}
    return [to_json(item) for item in value] if isinstance(value, list | tuple) else value


def from_json(kind: type[Kind], content: Any, where: str = "it") -> Kind:
    """A value of this type from JSON.

    Types are float (null is NaN), int from 0 on, bool, printable str, their unions with None,
    Literal, tuples and lists of one type, mappings from str, and dataclasses of these, whose fields
    with defaults may be absent. A class with a class method `from_dict` decides for itself.

    Args:
        kind: The type, as annotations write it.
        content: What a JSON file holds.
        where: What to call it in messages.

    Raises:
        ValueError: Something does not fit; the message names it.
    """
    return cast(Kind, _parsed(kind, content, where))


def _parsed(kind: Any, content: Any, where: str) -> Any:
    if kind is Any:
        return content
    if kind in _PLAIN:
        return _PLAIN[kind](content, where)
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        if content not in inner:
            raise ValueError(
                f"{where} is {_short(content)}, not one of {', '.join(map(str, inner))}"
            )
        return content
    if origin is UnionType:
        return _parsed_union(inner, content, where)
    if origin in (list, tuple, Sequence):
        items = _checked(content, list, "a list", where)
        if inner[0] is float and all(type(item) is float for item in items):
            # Histories are long.
            return tuple(items) if origin is tuple else list(items)
        parsed = [_parsed(inner[0], item, f"{where}[{n}]") for n, item in enumerate(items)]
        if origin is tuple and inner[1:] != (...,) and len(parsed) != len(inner):
            raise ValueError(f"{where} has {len(parsed)} entries, not {len(inner)}")
        return tuple(parsed) if origin is tuple else parsed
    if origin in (dict, Mapping):
        items = _checked(content, dict, "an object", where)
        return {
            printable_text(name, where): _parsed(inner[1], item, f"{where}.{name}")
            for name, item in items.items()
        }
    _checked(content, dict, "an object", where)
    if hasattr(kind, "from_dict"):
        return kind.from_dict(content)
    hints = hints_of(kind)
    values = {}
    for item in fields(kind):
        if item.name in content:
            values[item.name] = _parsed(hints[item.name], content[item.name], item.name)
        elif item.default is MISSING and item.default_factory is MISSING:
            raise KeyError(item.name)
    return kind(**values)


def _parsed_union(kinds: tuple[Any, ...], content: Any, where: str) -> Any:
    if content is None and NoneType in kinds:
        return None
    others = [kind for kind in kinds if kind is not NoneType]
    for kind in others[:-1]:
        try:
            return _parsed(kind, content, where)
        except MISFITS:
            continue
    return _parsed(others[-1], content, where)


def _checked(content: Any, kind: type, name: str, where: str) -> Any:
    if not isinstance(content, kind):
        raise ValueError(f"{where} is {_short(content)}, not {name}")
    return content


def _short(value: Any) -> str:
    """A value for a message, which must stay one line."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def number(value: Any, where: str = "it") -> float:
    """A number; None, which stands for NaN in JSON, becomes that."""
    if value is None:
        return math.nan
    if type(value) not in (int, float):
        raise ValueError(f"{where}: {_short(value)} is not a number")
    return float(value)


def integer(value: Any, where: str = "it") -> int:
    """An integer from 0 on."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{where}: {_short(value)} is not an integer from 0 on")
    return value


def printable_text(value: Any, where: str = "it") -> str:
    """Text that can be shown on a terminal without harm."""
    if not isinstance(value, str) or not is_printable(value):
        raise ValueError(f"{where}: {_short(value)} is not printable text")
    return value


def _boolean(value: Any, where: str) -> bool:
    if type(value) is not bool:
        raise ValueError(f"{where}: {_short(value)} is neither true nor false")
    return value


_PLAIN: dict[type, Callable[[Any, str], Any]] = {
    float: number,
    int: integer,
    str: printable_text,
    bool: _boolean,
}
