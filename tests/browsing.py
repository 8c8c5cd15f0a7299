"""For tests that drive a browser."""

import pytest


def until(page, statement):
    """Wait until a statement holds; Playwright's own way needs `eval`, which our pages forbid."""
    for _ in range(150):
        if page.evaluate(statement):
            return
        page.wait_for_timeout(100)
    pytest.fail(f"It never held: {statement}")
