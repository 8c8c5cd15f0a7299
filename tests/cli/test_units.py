import pytest

from akgnn.cli.units import parse_bytes, parse_rate
from akgnn.errors import SettingsError


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("139GiB", 139 * 2**30),
        ("16GB", 16 * 10**9),
        ("1.5 TB", 15 * 10**11),
        ("512kB", 512_000),
        ("512KB", 512_000),
        ("4KiB", 4096),
        ("1e3B", 1000),
    ],
)
def test_sizes_are_in_bytes(text, number):
    assert parse_bytes("--memory", text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("50GB/s", 50e9), ("200Mbit/s", 25e6), ("1Gbit/s", 125e6), ("100 kB/s", 1e5), ("8bit/s", 1)],
)
def test_rates_are_in_bytes_a_second(text, number):
    assert parse_rate("--network", text) == pytest.approx(number)


@pytest.mark.parametrize(
    "text", ["", "GB", "-1GB", "16", "16gb", "16GB/s", "0GB", "1e999GB", "1.2.3GB", "nanGB", "9Mb"]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(SettingsError, match="--memory is a size, such as 139GiB"):
        parse_bytes("--memory", text)


@pytest.mark.parametrize("text", ["", "50GB", "-1GB/s", "0GB/s", "5 parsecs", "200mbit/s", "1/s"])
def test_what_is_no_rate_is_refused(text):
    with pytest.raises(SettingsError, match="--network is a rate, such as 50GB/s"):
        parse_rate("--network", text)
