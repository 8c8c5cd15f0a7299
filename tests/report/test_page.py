from akgnn.report.figures import Figure
from akgnn.report.page import Page
from akgnn.report.panel import Panel
from akgnn.report.response import Response
from akgnn.report.spectrum import Spectrum


def test_what_is_drawn_are_the_panels_and_responses():
    panels = tuple(Panel("", "", (), (), {"depths": [depth]}) for depth in (1, 2))
    figure = Figure("mine", "depth", "Title", "About", panels)
    spectrum = Spectrum((0.0, 1.0, 2.0), (0.25, 0.75), True)
    response = Response("Cora", (2.5, 2.0), "last", spectrum, "All of it.")
    page = Page("Title", "run.html", {}, (figure,), (response,), (), {})
    assert page.drawn == {
        "figures": {"mine": {"kind": "depth", "panels": [{"depths": [1]}, {"depths": [2]}]}},
        "responses": [
            {
                "name": "Cora",
                "lambda": [2.5, 2.0],
                "readout": "last",
                "note": "All of it.",
                "edges": [0.0, 1.0, 2.0],
                "share": [0.25, 0.75],
            }
        ],
    }
