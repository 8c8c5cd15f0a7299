"""The pages in a browser: what is drawn, sorted, moved and switched."""

import shutil
from itertools import pairwise
from types import SimpleNamespace

import pytest

from akgnn.report import html
from akgnn.report.experiments_page import experiments_page
from akgnn.report.run_page import run_page
from akgnn.report.tuning_page import tuning_page
from browsing import until
from report_data import some_search

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
PAGES = ["experiments", "run", "signed", "homophily", "varied", "speed", "tuning"]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(f"none of the browsers {', '.join(BROWSERS)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def files(
    tmp_path_factory,
    results,
    speed_results,
    spec_files,
    run,
    signed_run,
    homophily_results,
    homophily_file,
    varied_results,
    varied_file,
):
    folder = tmp_path_factory.mktemp("pages")
    html.write(experiments_page(results, spec_files), folder / "experiments.html")
    html.write(experiments_page(speed_results, spec_files), folder / "speed.html")
    html.write(run_page(run), folder / "run.html")
    html.write(run_page(signed_run), folder / "signed.html")
    html.write(experiments_page(homophily_results, [homophily_file]), folder / "homophily.html")
    html.write(experiments_page(varied_results, [varied_file]), folder / "varied.html")
    html.write(tuning_page(some_search(), "akgnn train --config best.toml"), folder / "tuning.html")
    return folder


class Tab:
    """A tab for one page; the second time the browser opens a page there, it knows its scripts."""

    def __init__(self, browser, file):
        self.context = browser.new_context(offline=True)
        self.page, self.file, self.trouble = self.context.new_page(), file, []
        self.page.on("console", lambda message: self.trouble.append(message.text))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", self.note_request)

    def note_request(self, request):
        if not request.url.startswith(("file:", "about:")):
            self.trouble.append(request.url)

    def open(self, width, scheme):
        """The page as somebody sees it who has never been there."""
        self.page.set_viewport_size({"width": width, "height": 800})
        self.page.emulate_media(color_scheme=scheme)
        self.page.goto(self.file.as_uri())
        until(self.page, "document.querySelectorAll('.chart .main-svg').length > 0")
        return self.page

    def leave(self):
        """Forget what the page has kept. An empty page between keeps forms from being restored."""
        self.page.evaluate("localStorage.clear()")
        self.page.goto("about:blank")


@pytest.fixture(scope="module")
def tabs(browser, files):
    tabs = {name: Tab(browser, files / f"{name}.html") for name in PAGES}
    yield tabs
    for tab in tabs.values():
        tab.context.close()
        assert tab.trouble == []


@pytest.fixture
def visit(tabs):
    """Opens a page offline; afterwards nothing may have gone wrong or been asked for."""
    visited = []

    def opened(name, *, width=1280, scheme="light", folded=False):
        if tabs[name] in visited:
            tabs[name].leave()
        visited.append(tabs[name])
        page = tabs[name].open(width, scheme)
        if not folded:
            unfold(page, ".fold")
        return page

    yield opened
    trouble = []
    for tab in set(visited):
        tab.leave()
        trouble += tab.trouble
        tab.trouble.clear()
    assert trouble == []


def unfold(page, which="details"):
    """Open what is folded away; it is then drawn."""
    page.evaluate(
        "(which) => { for (const box of document.querySelectorAll(which)) box.open = true; }", which
    )
    until(
        page,
        "[...document.querySelectorAll('.chart')].every("
        "(chart) => chart.closest('details:not([open])') || chart.querySelector('.main-svg'))",
    )


def labels(page):
    return page.locator("#mine-1 tbody .open").all_inner_texts()


def head(page, name):
    return SimpleNamespace(
        button=page.locator("#mine-1 thead button", has_text=name),
        cell=page.locator("#mine-1 thead th", has=page.locator("button", has_text=name)),
    )


def test_columns_sort_by_mouse(visit):
    page = visit("experiments")
    before = labels(page)
    assert before[:2] == ["AKGNN", "GCN"]
    measured = head(page, "Measured")
    measured.button.click()
    # The best to the top.
    assert measured.cell.get_attribute("aria-sort") == "descending"
    assert labels(page) == [before[2], "AKGNN", "GCN"]
    measured.button.click()
    assert measured.cell.get_attribute("aria-sort") == "ascending"
    assert labels(page) == ["GCN", "AKGNN", before[2]]


def test_columns_sort_by_keyboard(visit):
    page = visit("experiments")
    before = labels(page)
    difference = head(page, "AKGNN minus row")
    difference.button.focus()
    page.keyboard.press("Enter")
    # 80 - 75, 80 - 82, and the reference, which has no difference, last.
    assert labels(page) == ["GCN", before[2], "AKGNN"]
    page.keyboard.press("Space")
    assert labels(page) == [before[2], "GCN", "AKGNN"]
    assert difference.cell.get_attribute("aria-sort") == "ascending"


def test_every_column_can_be_sorted(visit):
    page = visit("experiments")
    buttons = page.locator("#mine-1 thead button")
    assert buttons.count() == page.locator("#mine-1 thead th").count() == 7
    for place in range(buttons.count()):
        buttons.nth(place).click()
        assert len(labels(page)) == 3


def test_a_row_opens_to_how_it_was_made(visit):
    page = visit("experiments")
    detail = page.locator("#mine-1 .detail")
    button = page.locator("#mine-1 .open").nth(1)
    assert detail.count() == 0
    button.click()
    text = detail.inner_text()
    assert "akgnn train --dataset csbm:num_nodes=60 --model gcn" in text
    assert "runs unpaired, 6 and 6; corrected p" in text
    assert "75.3" in text
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    assert not detail.is_visible()
    assert button.get_attribute("aria-expanded") == "false"


def test_graphs_are_chosen(visit):
    page = visit("experiments")
    assert page.locator("#mine-1").is_visible()
    assert not page.locator("#mine-2").is_visible()
    page.locator("[data-graphs=mine] label").nth(1).click()
    assert page.locator("#mine-2").is_visible()
    assert not page.locator("#mine-1").is_visible()
    page.keyboard.press("ArrowRight")
    assert page.locator("#mine-1").is_visible()
    assert page.locator("#mine-2").is_visible()


def test_hostile_labels_do_nothing(visit):
    page = visit("experiments")
    assert page.locator("img").count() == 0
    assert labels(page)[2] == "</script><img src=x onerror=alert(1)>"


def test_failed_runs_are_seen(visit):
    page = visit("experiments")
    page.locator("[data-graphs=mine] label").nth(1).click()
    assert "1 failed" in page.locator("#mine-2").inner_text()


def curve(page, name):
    trace = page.evaluate(
        "(name) => { const t = document.getElementById('response-chart').data"
        ".find((trace) => trace.name === name); return {x: [...t.x], y: [...t.y]}; }",
        name,
    )
    return trace["x"], trace["y"]


def expected(lambdas, mu):
    """The mean over layers of Π (1 - μ / λ)."""
    product, total = 1.0, 0.0
    for value in lambdas:
        product *= 1 - mu / value
        total += product
    return total / len(lambdas)


@pytest.mark.parametrize("name", ["experiments", "run"])
def test_sliders_redraw_the_response(visit, name):
    page = visit(name)
    lambdas = page.evaluate("akgnn.data.responses[0].lambda")
    x, learned = curve(page, "readout")
    assert learned == pytest.approx([expected(lambdas, mu) for mu in x])
    summary = page.locator("#response-chart").get_attribute("aria-label")
    page.get_by_label("λ of layer 2").fill("4")
    moved = [lambdas[0], 4, *lambdas[2:]]
    assert curve(page, "readout")[1] == pytest.approx([expected(moved, mu) for mu in x])
    assert page.locator("output").nth(1).inner_text() == "4.00"
    assert page.locator("#response-chart").get_attribute("aria-label") != summary
    page.get_by_role("button", name="Reset to learned").click()
    assert curve(page, "readout")[1] == pytest.approx(learned)


def test_sliders_move_by_keyboard_down_to_the_plain_average(visit):
    page = visit("experiments")
    slider = page.get_by_label("λ of layer 1")
    slider.focus()
    page.keyboard.press("Home")
    assert slider.input_value() == "1"
    x, y = curve(page, "layer 1")
    assert y == pytest.approx([1 - mu for mu in x])


def tau_factor(tau, mu):
    return (1 + tau * (1 - mu)) / (1 + abs(tau))


@pytest.mark.parametrize("name", ["signed", "homophily"])
def test_tau_sliders_follow_their_own_formula(visit, name):
    page = visit(name)
    taus = page.evaluate("akgnn.data.responses[0].tau")
    x, y = curve(page, "layer 1")
    assert y == pytest.approx([tau_factor(taus[0], mu) for mu in x])
    slider = page.get_by_label("τ of layer 1")
    assert (slider.get_attribute("min"), slider.get_attribute("max")) == ("-3", "10")
    slider.fill("-2")
    assert page.locator("output").nth(0).inner_text() == "−2.00"
    assert curve(page, "layer 1")[1] == pytest.approx([tau_factor(-2, mu) for mu in x])
    both = [tau_factor(-2, mu) * tau_factor(taus[1], mu) for mu in x]
    assert curve(page, "layers 1 to 2")[1] == pytest.approx(both)
    label = page.locator("#response-chart").get_attribute("aria-label")
    assert "with τ = −2.00" in label
    slider.focus()
    page.keyboard.press("Home")
    assert slider.input_value() == "-3"
    page.get_by_role("button", name="Reset to learned").click()
    assert curve(page, "layer 1")[1] == pytest.approx(y)


@pytest.mark.parametrize("width", [1280, 390])
def test_numbers_of_products_do_not_cover_each_other(visit, width):
    page = visit("run", width=width)
    page.get_by_label("λ of layer 1").fill("6")
    boxes = page.evaluate(
        "[...document.querySelectorAll('#response-chart .annotation')]"
        ".map((each) => each.getBoundingClientRect()).map((box) => [box.left, box.right])"
    )
    assert len(boxes) == len(page.evaluate("akgnn.data.responses[0].lambda"))
    assert all(one[1] <= other[0] for one, other in pairwise(sorted(boxes)))


def test_names_above_the_confusion_matrix_stay_whole_on_a_phone(visit):
    page = visit("run", width=390)
    lines = page.evaluate(
        """() => {
          const table = document.querySelector(".confusion");
          table.classList.add("long");
          return [...table.querySelectorAll("thead span")].map((head) => {
            head.textContent = "Reinforcement_Learning";
            const words = document.createRange();
            words.selectNodeContents(head);
            return words.getClientRects().length;
          });
        }"""
    )
    assert set(lines) == {1}


def test_points_of_few_nodes_have_their_intervals(visit):
    page = visit("run")
    (trace,) = page.evaluate(
        "document.querySelector('[data-figure=reliability]').data.map((trace) => "
        "({ y: trace.y, up: trace.error_y.array, down: trace.error_y.arrayminus }))"
    )
    panel = page.evaluate("akgnn.data.figures.reliability.panels[0]")
    ends = [y + up for y, up in zip(trace["y"], trace["up"], strict=True)]
    assert ends == pytest.approx(panel["high"])
    ends = [y - down for y, down in zip(trace["y"], trace["down"], strict=True)]
    assert ends == pytest.approx(panel["low"])


def test_lambda_and_tau_of_one_graph_have_their_own_sliders(visit):
    page = visit("homophily")
    page.get_by_label("Scalar").select_option("λ")
    slider = page.get_by_label("λ of layer 1")
    assert slider.get_attribute("min") == "1"
    x, y = curve(page, "layer 1")
    assert y == pytest.approx([1 - mu / 2.5 for mu in x])
    assert page.locator("#sliders").get_attribute("aria-label") == "λ of each layer"


def test_rows_over_homophily_differ_in_colour_dash_and_mark(visit):
    for scheme in ("light", "dark"):
        page = visit("homophily", scheme=scheme)
        lines = page.evaluate(
            "document.querySelector('[data-figure=myhomophily]').data.filter((t) => t.name)"
            ".map((t) => [t.line.color, t.line.dash, t.marker.symbol])"
        )
        assert len(lines) == 3
        for looks in zip(*lines, strict=True):
            assert len(set(looks)) == 3


def test_curves_of_speed_have_logarithmic_axes_with_round_ticks(visit):
    for scheme in ("light", "dark"):
        page = visit("speed", scheme=scheme)
        layout, names, colours = page.evaluate(
            "(() => { const c = document.querySelector('[data-figure=speed-curves]');"
            "return [c.layout, c.data.map((t) => t.name), c.data.map((t) => t.line.color)]; })()"
        )
        assert [layout[axis]["type"] for axis in ("xaxis", "yaxis")] == ["log", "log"]
        assert layout["yaxis"]["ticktext"] == ["10", "20"]
        assert names == ["akgnn", "PyG scatter"]
        assert len(set(colours)) == 2


def test_marks_of_trials_are_as_strong_as_their_key_and_log_ticks_are_plain(visit):
    page = visit("tuning")
    rate, ticks = page.evaluate(
        "(() => { const chart = document.querySelector('[data-figure=settings]');"
        "return [chart.data[0].marker, chart.layout.xaxis.ticktext]; })()"
    )
    assert rate["opacity"] == 1
    assert ticks == ["0.002", "0.005", "0.01", "0.02", "0.05", "0.1"]


def test_trials_run_through_all_settings(visit):
    page = visit("tuning", width=390)
    chart = page.locator("[data-figure=parallel]")
    other, _, best = chart.evaluate("chart => chart.data.map((trace) => trace.x)")
    assert other.count(None) == 2
    assert best == [*page.evaluate("akgnn.data.figures.parallel.panels[0].trials[0].at"), None]
    names = chart.locator(".yaxislayer-above .ytick").all_text_contents()
    assert sorted(names) == ["learning_rate", "num_layers", "readout", "validation accuracy"]


def test_the_command_is_copied_or_selected(visit):
    page = visit("tuning")
    copying = "() => {{ navigator.clipboard.writeText = async (text) => {{ {} }}; }}"
    page.evaluate(copying.format("window.copied = text;"))
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    assert page.evaluate("window.copied") == "akgnn train --config best.toml"
    page.evaluate(copying.format("throw new Error();"))
    page.get_by_role("button", name="Copied").click()
    until(page, "String(getSelection()) === 'akgnn train --config best.toml'")


def read_at(page, figure, x):
    """Point at a place of a chart in the middle of the window; the texts it then says, by line."""
    # Scrolling is told of in the next frame, and hides what a chart says.
    page.evaluate(
        "async (figure) => { document.querySelector(`[data-figure=${figure}]`)"
        ".scrollIntoView({ block: 'center', behavior: 'instant' });"
        "for (const _ of [1, 2]) await new Promise(requestAnimationFrame); }",
        figure,
    )
    left, top = page.evaluate(
        "([figure, x]) => { const chart = document.querySelector(`[data-figure=${figure}]`);"
        "const box = chart.getBoundingClientRect(); const { xaxis } = chart._fullLayout;"
        "return [box.left + xaxis._offset + xaxis.d2p(x), box.top + box.height / 2]; }",
        [figure, x],
    )
    page.mouse.move(left - 3, top)
    page.mouse.move(left, top, steps=3)
    until(page, "!document.querySelector('.reading').hidden")
    # textContent, unlike innerText, is the same for what is hidden.
    return page.evaluate(
        "[...document.querySelectorAll('.reading > *')].map((line) => "
        "line.matches('p') ? [line.textContent] : "
        "[...line.querySelectorAll('span, b')].map((part) => part.textContent))"
    )


def test_values_over_homophily_are_shown_on_hover(visit):
    page = visit("homophily")
    first, *_ = read_at(page, "myhomophily", 0.5)
    assert first == ["homophily 0.5"]
    # On a busy machine the lines come one after another.
    until(page, "document.querySelector('.reading').innerText.includes('73.5 %')")
    page.mouse.move(1, 1)
    until(page, "document.querySelector('.reading').hidden")


@pytest.mark.parametrize(
    ("name", "figure", "width"),
    [("homophily", "myhomophily", 1280), ("run", "loss", 1280), ("run", "lambda", 390)],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_a_chart_says_covers_none_of_its_lines(visit, name, figure, width, scheme):
    page = visit(name, width=width, scheme=scheme)
    read_at(page, figure, 0.5 if name == "homophily" else 10)
    box, chart = (
        page.evaluate(
            "(which) => { const { left, right, top, bottom } = "
            "document.querySelector(which).getBoundingClientRect(); "
            "return [left, right, top, bottom]; }",
            which,
        )
        for which in (".reading", f"[data-figure={figure}]")
    )
    assert box[2] >= chart[3] or box[3] <= chart[2]
    assert box[0] >= 0
    assert box[1] <= width
    assert box[2] >= 0
    assert box[3] <= 800


def test_numbers_over_homophily_open_by_keyboard(visit):
    page = visit("homophily")
    table = page.locator("#myhomophily table").first
    assert not table.is_visible()
    page.locator("#myhomophily summary", has_text="Numbers").first.focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    assert "73.5 ± 1.3, n 4" in table.inner_text()


def test_another_graph_brings_its_own_stack(visit):
    page = visit("experiments")
    page.locator("#response-graph").select_option(index=1)
    assert "csbm:num_nodes=80" in page.locator("#response-note").inner_text()


def test_the_theme_follows_the_system_and_the_button(visit):
    page = visit("experiments", scheme="dark")
    paper = "getComputedStyle(document.body).backgroundColor"
    chart = "document.querySelector('#response-chart').layout.font.color"
    dark, dark_ink = page.evaluate(paper), page.evaluate(chart)
    assert page.locator("#theme").inner_text() == "Light theme"
    page.locator("#theme").click()
    assert page.locator("#theme").inner_text() == "Dark theme"
    light = page.evaluate(paper)
    assert light != dark
    assert page.evaluate(chart) != dark_ink
    page.reload()
    assert page.evaluate(paper) == light


@pytest.mark.parametrize("name", ["experiments", "run"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_ground(visit, name, scheme):
    page = visit(name, scheme=scheme)

    def luminance(variable):
        colour = page.evaluate("(name) => akgnn.colour(name).match(/[0-9.]+/g)", variable)
        parts = [float(part) / 255 for part in colour[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    for ink in ("ink", "muted", "accent", "bad", "good", *(f"series-{k}" for k in range(1, 7))):
        for ground in ("paper", "tint"):
            low, high = sorted((luminance(ink), luminance(ground)))
            assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, ground)


@pytest.mark.parametrize("name", PAGES)
def test_a_phone_scrolls_down_only(visit, name):
    page = visit(name, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    unfold(page)
    for button in page.locator(".results .open:visible").all():
        button.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


@pytest.mark.parametrize("name", PAGES)
def test_charts_have_words_and_headings_go_in_order(visit, name):
    page = visit(name)
    for chart in page.locator(".chart").all():
        assert chart.get_attribute("role") == "img"
        assert len(chart.get_attribute("aria-label")) > 30
    levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map((h) => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_of_the_page_is_not_blank(visit, name, tmp_path):
    page = visit(name)
    file = tmp_path / "page.png"
    page.screenshot(path=file, full_page=True)
    blank = tmp_path / "blank.png"
    page.evaluate("document.body.style.visibility = 'hidden'")
    page.screenshot(path=blank, full_page=True)
    assert file.stat().st_size > 3 * blank.stat().st_size
    unfold(page)
    drawn = page.evaluate("[...document.querySelectorAll('.chart')].map((c) => c.data.length)")
    assert drawn
    assert all(drawn)


def test_what_is_folded_away_is_drawn_when_a_link_leads_there(visit):
    page = visit("speed", folded=True)
    drawn = "!!document.querySelector('[data-figure=speed-curves] .main-svg')"
    assert not page.evaluate(drawn)
    page.locator("nav a", has_text="Speed").click()
    until(page, drawn)
    assert page.locator("#speed").get_attribute("open") is not None


def test_a_table_fades_where_it_goes_on(visit):
    page = visit("experiments", width=360)
    box = page.locator(".scroll", has=page.locator("#mine-1"))
    until(page, "document.querySelector('#mine-1').parentElement.matches('.more-right')")
    assert "more-left" not in box.get_attribute("class")
    box.evaluate("(box) => { box.scrollLeft = box.scrollWidth; }")
    until(page, "document.querySelector('#mine-1').parentElement.matches('.more-left')")
    assert "more-right" not in box.get_attribute("class")
    assert head(page, "Method").cell.bounding_box()["x"] >= 0


def test_single_runs_are_drawn_on_the_scale_of_their_graph(visit):
    page = visit("experiments")
    circles = page.locator("#mine-1 tbody").nth(1).locator("circle")
    assert circles.count() == 6
    low, high = page.evaluate("[akgnn.data.tables['mine-1'].low, akgnn.data.tables['mine-1'].high]")
    places = [float(c.get_attribute("cx").rstrip("%")) for c in circles.all()]
    wanted = [100 * (75 + seed / 10 - low) / (high - low) for seed in range(6)]
    assert places == pytest.approx(wanted, abs=0.01)


def test_names_on_hover_are_whole_and_in_the_order_of_the_key(visit):
    page = visit("homophily")
    _, *lines = read_at(page, "myhomophily", 0.5)
    key = page.locator("#story .key li").all_inner_texts()
    assert [name for name, _ in lines] == key
    assert all(value.endswith(" %") for _, value in lines)


def test_the_keyboard_can_skip_to_the_content(visit):
    page = visit("experiments")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
