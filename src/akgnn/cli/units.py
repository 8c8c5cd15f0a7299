"""Sizes and rates as people write them: 139GiB, 16GB, 50GB/s, 200Mbit/s."""

import re

from akgnn.errors import SettingsError

_NUMBER = re.compile(r"([0-9.]+(?:e[+-]?[0-9]+)?)\s*([A-Za-z]*)(/s)?")
_BYTES = {
    "B": 1,
    **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)},
    **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
}
_BITS = {"bit": 1, **{f"{letter}bit": 1000**power for power, letter in enumerate("kMGT", 1)}}


def parse_bytes(option: str, text: str) -> int:
    """A number of bytes.

    Raises:
        SettingsError: It is none, or none above 0.
    """
    value = _value(text, _BYTES, is_rate=False)
    if value is None or value < 1:
        raise SettingsError(f"{option} is a size, such as 139GiB or 16GB; got {text[:40]!r}.")
    return round(value)


def parse_rate(option: str, text: str) -> float:
    """A number of bytes a second.

    Raises:
        SettingsError: It is none, or none above 0.
    """
    value = _value(text, _BYTES, is_rate=True)
    if value is None:
        bits = _value(text, _BITS, is_rate=True)
        value = None if bits is None else bits / 8
    if not value:
        raise SettingsError(f"{option} is a rate, such as 50GB/s or 200Mbit/s; got {text[:40]!r}.")
    return value


def _value(text: str, units: dict[str, int], *, is_rate: bool) -> float | None:
    found = _NUMBER.fullmatch(text.strip())
    if found is None or bool(found[3]) != is_rate:
        return None
    # Letters count: bits and bytes differ by them. Only k and K are the same.
    known = {name.lower() if name[0] in "kK" else name: size for name, size in units.items()}
    unit = found[2].lower() if found[2][:1] in ("k", "K") else found[2]
    try:
        number = float(found[1])
    except ValueError:
        return None
    return number * known[unit] if unit in known and number < 1e18 else None
