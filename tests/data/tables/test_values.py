import datetime

import pyarrow as pa
import pytest

from akgnn.data.tables.table import Table
from akgnn.data.tables.values import as_numbers, as_seconds, is_date_text
from akgnn.errors import DataError


def table(values):
    return Table("n.csv", pa.table({"a": values}))


NOON = datetime.datetime(2024, 5, 31, 12)


@pytest.mark.parametrize(
    "values",
    [
        [datetime.date(2024, 5, 31), None],
        pa.array([NOON, None], pa.timestamp("ns")),
        pa.array([NOON, None], pa.timestamp("s", tz="UTC")),
        ["2024-05-31 12:00", ""],
        ["2024-05-31T12:00:00.123456789", None],
        ["2024-05-31T12:00:00Z", None],
        ["2024-05-31T14:00:00+02:00", None],
        [" 2024-05-31", ""],
    ],
)
def test_dates_become_seconds(values):
    seconds = as_seconds(table(values), "a").to_pylist()
    is_date = values[0] in (datetime.date(2024, 5, 31), " 2024-05-31")
    assert seconds[0] == pytest.approx(19874 * 86400 + (0 if is_date else 43200), abs=1)
    assert seconds[1] is None


def test_dates_with_and_without_a_zone_go_together():
    seconds = as_seconds(table(["2024-05-31T00:00:00Z", "2024-05-31", "2024-05-31 00:00:00"]), "a")
    assert len(set(seconds.to_pylist())) == 1


def test_times_of_day_and_durations_are_seconds_too():
    assert as_seconds(table([datetime.time(1, 0, 5)]), "a").to_pylist() == [3605]
    assert as_seconds(table([datetime.timedelta(minutes=2)]), "a").to_pylist() == [120]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (["2024-05-31", "soon"], r"row 1 .*'soon' is no date, .* such as 2024-05-31"),
        (["2024-02-31"], "column 'a': a date does not exist"),
        ([1, 2], "expected dates, got int64"),
    ],
)
def test_what_is_no_date_is_named(values, words):
    with pytest.raises(DataError, match=words):
        as_seconds(table(values), "a")


def test_a_column_of_dates_is_told_from_others():
    assert is_date_text(pa.chunked_array([["2024-05-31", "2020-01-01 10:00"]]))
    assert not is_date_text(pa.chunked_array([["2024-05-31", "31.5.2024"]]))


def test_numbers_written_as_text_are_numbers():
    assert as_numbers(table(["1", " 2.5 ", "-1e3", ""]), "a").to_pylist() == [1, 2.5, -1000, None]
    with pytest.raises(DataError, match="'x' is no number"):
        as_numbers(table(["1", "x"]), "a")
