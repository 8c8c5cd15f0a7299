"""A small graph in tables, to be written as files and spoilt."""

from collections.abc import Callable
from pathlib import Path

import pytest

NODES = """\
id,label,age,kind
007,spam,1.5,x
a,ham,2,y
b,spam,,x
c,ham,4,
d,,5,y
e,spam,6,x
f,ham,7,y
g,spam,8,x
h,ham,9,y
i,spam,10,x
j,ham,11,y
k,spam,12,x
"""
EDGES = """\
source,target,weight
007,a,1
a,b,2
b,c,0.5
c,d,1
d,e,1
e,007,3
"""


@pytest.fixture
def write(tmp_path) -> Callable[[str, str | bytes], Path]:
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def nodes(write) -> str:
    return str(write("nodes.csv", NODES))


@pytest.fixture
def edges(write) -> str:
    return str(write("edges.csv", EDGES))
