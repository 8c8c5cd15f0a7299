import base64
import zlib

import numpy as np

from akgnn.report import html
from akgnn.report.packing import deflated, deflated_asset, joined
from report_data import read_arrays


def test_compressed_text_comes_back_and_cannot_end_an_element():
    content = "</script> & λ".encode() * 50
    text = deflated(content)
    assert not set("<>&") & set(text)
    assert zlib.decompress(base64.b64decode(text), -zlib.MAX_WBITS) == content
    assert len(text) < len(content) / 4


def test_arrays_come_back():
    arrays = {
        "some": np.arange(6, dtype=np.uint16).reshape(2, 3),
        "none": np.zeros(0, dtype=np.float32),
        "signs": np.array([-1.5, 0.25], dtype=np.float32),
    }
    found = read_arrays(*joined(arrays))
    assert {name: array.tolist() for name, array in found.items()} == {
        name: array.reshape(-1).tolist() for name, array in arrays.items()
    }


def test_the_drawing_library_takes_less_than_half_of_its_text():
    assert len(deflated_asset(html.PLOTLY)) < len(html.asset(html.PLOTLY)) / 2
