import json
import math

from akgnn.plain_json import without_nan


def test_what_json_lacks_becomes_null():
    content = {"a": [1.0, math.nan, (math.inf, 2)], "b": "NaN", "c": True}
    assert json.dumps(without_nan(content), allow_nan=False) == (
        '{"a": [1.0, null, [null, 2]], "b": "NaN", "c": true}'
    )
