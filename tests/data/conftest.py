"""On a machine without these packages, as `make gpu-test` may find it, tables are not tested."""

from importlib.util import find_spec

_NEEDED = ("pyarrow", "narwhals", "pandas", "polars", "igraph", "networkx")

if any(find_spec(name) is None for name in _NEEDED):
    collect_ignore_glob = ["test_convert.py", "tables/test_*.py"]
