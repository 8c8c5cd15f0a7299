"""Settings: small frozen dataclasses that check their own fields and read them from text."""

import inspect
import math
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import Field, asdict, dataclass, field, fields
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, get_args, get_origin

from akgnn.codec import hints_of
from akgnn.errors import NoEffectError, SettingsError, UnknownNameError, did_you_mean, suggest
from akgnn.text import is_printable

_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


_TEXTS: Any = tuple[str, ...]
# Beyond this float32 has no numbers.
_LARGEST = 1e38
# The most seeds of one model, and the most runs at a time: beyond it lies a slip of the keys.
MOST_RUNS = 10_000

Model = TypeVar("Model", bound=type)
# What constructors of models take besides settings.
_SIZES = {
    "in_channels": "Number of features.",
    "out_channels": "Number of classes.",
    "generator": "Source of the initial weights.",
}
_RAISES = """Raises:
    SettingsError: A value is outside its range, or two do not go together.
    UnknownNameError: A setting names what is not registered."""


def count(default: int, most: int = 10**9) -> Any:
    """A field that holds an integer from 1 to `most`."""
    return field(default=default, metadata={"low": 1, "high": most, "says": f"from 1 to {most}"})


def whole(default: int) -> Any:
    """A field that holds an integer from 0 on."""
    most = 10**9
    return field(default=default, metadata={"low": 0, "high": most, "says": f"from 0 to {most}"})


def seed(default: int = 0) -> Any:
    """A field that holds the seed of a generator: an integer from 0 on, of 63 bits."""
    says = "from 0 to 2^63 - 1"
    return field(default=default, metadata={"low": 0, "high": 2**63 - 1, "says": says})


def rate(default: float) -> Any:
    """A field that holds a probability of dropping, at least 0 and below 1."""
    return field(default=default, metadata={"low": 0, "below": 1, "says": "at least 0 and below 1"})


def share(default: float) -> Any:
    """A field that holds a part of a whole, from 0 to 1."""
    return field(default=default, metadata={"low": 0, "high": 1, "says": "from 0 to 1"})


def positive(default: float | None, most: float = _LARGEST) -> Any:
    """A field that holds a number above 0, to `most`."""
    says = f"above 0, to {most:g}".replace("e+", "e")
    return field(default=default, metadata={"above": 0, "high": most, "says": says})


def non_negative(default: float | None) -> Any:
    """A field that holds a number from 0 on."""
    return field(default=default, metadata={"low": 0, "high": _LARGEST, "says": "from 0 to 1e38"})


def needs(made: Any, **others: tuple[Any, ...]) -> Any:
    """A field that has an effect only where other fields have one of these values.

    Args:
        made: A field, such as `rate(0.5)`, or its default.
        others: The values that another field must have, by its name.
    """
    made = made if isinstance(made, Field) else field(default=made)
    return field(default=made.default, metadata={**made.metadata, "needs": others})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of all settings: every field is checked against its annotation and its range.

    A value other than the default is an error where it would have no effect; see `needs`.
    """

    def __post_init__(self) -> None:
        hints = hints_of(type(self))
        for item in fields(self):
            value = _checked(item.name, getattr(self, item.name), hints[item.name])
            if value is not None and "says" in item.metadata:
                _check_bounds(item.name, value, item.metadata)
            object.__setattr__(self, item.name, value)
        for item in fields(self):
            if getattr(self, item.name) != item.default:
                self._check_effect(item)

    @classmethod
    def names(cls) -> list[str]:
        """The names of the fields."""
        return [item.name for item in fields(cls)]

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Build from named values; a name that is no field is an error that lists the fields."""
        return cls().updated(values)

    @classmethod
    def of_call(cls, values: Mapping[str, Any]) -> Self:
        """Build from the `locals()` of a function that takes the fields by name, among others."""
        return cls(**{name: values[name] for name in cls.names() if name in values})

    def updated(self, values: Mapping[str, Any]) -> Self:
        """A copy with other values, given as such or as text.

        What has no effect with them goes back to its default, unless it is among them.

        Raises:
            SettingsError: A value does not fit, or would have no effect.
            UnknownNameError: There is no such setting.
        """
        parsed = self._parsed(values)
        made = self._settled(parsed, keeps=set(parsed))
        for item in fields(made):
            if item.name in parsed and getattr(self, item.name) == item.default:
                made._check_effect(item)
        return made

    def restored(self, values: Mapping[str, Any]) -> Self:
        """A copy with the values of a record, which has those without effect as well."""
        return self._settled(self._parsed(values), keeps=set())

    def in_effect(self) -> dict[str, Any]:
        """The fields by name, without fields that have no effect."""
        return {
            item.name: getattr(self, item.name) for item in fields(self) if not self._unmet(item)
        }

    @classmethod
    def choosers(cls) -> set[str]:
        """The fields that decide which others have an effect."""
        return {name for item in fields(cls) for name in item.metadata.get("needs", ())}

    def _parsed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        for name in values:
            if name not in self.names():
                raise UnknownNameError("setting", name, self.names())
        hints = hints_of(type(self))
        return {
            name: _checked(
                name,
                _parsed(name, value, hints[name]) if isinstance(value, str) else value,
                hints[name],
            )
            for name, value in values.items()
        }

    def _settled(self, values: Mapping[str, Any], keeps: set[str]) -> Self:
        """A copy with other values, and defaults for what has no effect and is not to be kept."""
        merged = {name: getattr(self, name) for name in self.names()} | dict(values)
        # What goes back to its default may be what others need.
        for _ in fields(self):
            for item in fields(self):
                if item.name not in keeps and _unmet(item, merged):
                    merged[item.name] = item.default
        return type(self)(**merged)

    def _unmet(self, item: "Field[Any]") -> str:
        return _unmet(item, {name: getattr(self, name) for name in self.names()})

    def _check_effect(self, item: "Field[Any]") -> None:
        """Refuse a field that has no effect with the others."""
        unmet = self._unmet(item)
        if unmet:
            raise NoEffectError(
                f"{item.name}={getattr(self, item.name)!r} needs {unmet}, and has no effect here. "
                + suggest(item.name, self.in_effect())
            )

    def to_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def meanings(settings: type[Settings]) -> dict[str, str]:
    """What each setting means, from the docstrings of its class and of those it is made of."""
    texts = [inspect.cleandoc(kind.__doc__ or "") for kind in reversed(settings.__mro__)]
    listed = "\n".join(text.partition("Attributes:\n")[2] for text in texts)
    found = re.findall(r"^    (\w+): (.+(?:\n      .+)*)", listed, flags=re.M)
    return {name: " ".join(words.split()) for name, words in found}


def takes(settings: type[Settings]) -> Callable[[Model], Model]:
    """Decorate a model whose constructor takes these settings: its help says what they mean.

    So their meanings stand in one place, where the settings are declared.
    """

    def documented(model: Model) -> Model:
        if model.__doc__ is None:
            # Python was started with -OO.
            return model
        words = _SIZES | meanings(settings)
        wrap = textwrap.TextWrapper(96, initial_indent="    ", subsequent_indent=" " * 8)
        names = inspect.signature(model).parameters
        lines = [wrap.fill(f"{name}: {words[name]}") for name in names]
        model.__doc__ = "\n".join([f"{inspect.getdoc(model)}\n", "Args:", *lines, "", _RAISES])
        return model

    return documented


def _unmet(item: "Field[Any]", values: Mapping[str, Any]) -> str:
    """What a field needs and these values do not have, in words; empty where it has an effect."""
    for name, wanted in item.metadata.get("needs", {}).items():
        if values[name] not in wanted:
            return f"{name}={' or '.join(map(repr, wanted))}"
    return ""


def _options(hint: Any) -> tuple[Any, ...]:
    """The types that an annotation allows."""
    return get_args(hint) if get_origin(hint) is UnionType else (hint,)


def _checked(name: str, value: Any, hint: Any) -> Any:
    """The value if it is of an allowed type, integers widened to float where needed."""
    for option in _options(hint):
        if get_origin(option) is Literal:
            if value in get_args(option):
                return value
        elif option is float and type(value) in (int, float) and abs(value) <= _LARGEST:
            return float(value)
        elif option is str and isinstance(value, str) and not is_printable(value):
            raise SettingsError(f"{name} holds characters that cannot be printed: {value!r}.")
        elif option == _TEXTS and isinstance(value, list | tuple):
            return tuple(_checked(name, text, str) for text in value)
        elif type(value) is option:
            return value
    raise SettingsError(
        f"{name} must be {_described(hint)}, got {_shown(value)}.{_hint(value, hint)}"
    )


def _shown(value: Any) -> str:
    """A value for a message."""
    try:
        return repr(value)
    except ValueError:
        # Python writes no integers of more than 4300 digits.
        return "an integer of very many digits"


def _hint(value: Any, hint: Any) -> str:
    literals = [option for option in _options(hint) if get_origin(option) is Literal]
    choices = [choice for option in literals for choice in get_args(option)]
    if not (choices and isinstance(value, str)):
        return ""
    return did_you_mean(value, choices)


def _described(hint: Any) -> str:
    words = {int: "an integer", float: "a number", bool: "true or false", str: "text"}
    words |= {_TEXTS: "a list of texts"}
    parts = []
    for option in _options(hint):
        if get_origin(option) is Literal:
            parts.append("one of " + ", ".join(get_args(option)))
        else:
            parts.append("none" if option is NoneType else words[option])
    return " or ".join(parts)


def _check_bounds(name: str, value: float, bounds: Mapping[str, Any]) -> None:
    is_inside = (
        value <= bounds.get("high", math.inf)
        and value >= bounds.get("low", -math.inf)
        and value > bounds.get("above", -math.inf)
        and value < bounds.get("below", math.inf)
    )
    if not is_inside:
        raise SettingsError(f"{name} must be {bounds['says']}, got {_shown(value)}.")


def _parsed(name: str, text: str, hint: Any) -> Any:
    """Read a value from text, by the annotation of its field."""
    for option in _options(hint):
        if get_origin(option) is Literal or option is str:
            return text
        if option is NoneType and text.lower() == "none":
            return None
        if option is bool and text.lower() in _TRUE + _FALSE:
            return text.lower() in _TRUE
        if option in (int, float):
            try:
                return _whole(text) if option is int else float(text)
            except ValueError:
                continue
    raise SettingsError(f"{name} must be {_described(hint)}, got {text!r}.")


def _whole(text: str) -> int:
    """An integer, as in 1000000 or 1e6."""
    if "e" not in text.lower():
        return int(text)
    number = float(text)
    if not number.is_integer():
        raise ValueError(text)
    return int(number)
