from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from tfdistil.report import write_report
from tfdistil.report.html import render_html as render
from tfdistil.runs.run_metrics import Metrics


def render_html(metrics, history=None):
    """The page of plain data."""
    return render(Metrics.from_json(metrics), history)


VOID = {"meta", "link", "br", "hr", "img", "input"}
HOSTILE = "<script>alert('x')</script> & \"q\" $\\frac{ {{ 7*7 }} </style></title>"


class Page(HTMLParser):
    """What a browser would see: elements, ids, text; complains about what is not closed."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.cells: list[str] = []
        self.headers: list[dict[str, str | None]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, key, value or "") for key, value in attrs]
        self.ids += [value for key, value in attrs if key == "id"]
        if tag == "th":
            self.headers.append(dict(attrs))
        if tag not in VOID:
            self._open.append(tag)
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" in self._open:
            return
        self.text += data
        if self._open and self._open[-1] in ("td", "th"):
            self.cells[-1] += data


@pytest.fixture
def page(metrics, history) -> Page:
    return Page(render_html(metrics, history))


def test_the_first_screen_answers(page):
    main = page.text.split("Systems")[0]
    for answer in ("97.1 %", "47× smaller", "152× faster", "222× faster", "Yes", "99.91 %"):
        assert answer in main
    assert "0 Flex and 0 custom operators among 421. Needs runtime 2.0.0 or later." in main


def test_every_number_of_the_run_is_there(page):
    cells = {cell.strip() for cell in page.cells}
    expected = {"76.1", "61.4", "74.1", "73.9", "22.7 M", "1.9 M", "90.9 MB", "1.9 MB", "708 MB"}
    expected |= {"0.260", "0.281", "0.416", "6,154", "80.7 %", "test, unseen", "mbert-shape"}
    expected |= {"40,000", "312", "21", "130", "FULLY_CONNECTED", "10 min 12 s", "47 min 59 s"}
    expected |= {"Example CPU @ 2.0 GHz", "73.9", "7.9", "412"}
    found = cells | {cell.removesuffix(" (random weights)") for cell in cells}
    assert expected <= found
    assert "tfdistil run demo.yaml --out runs/demo" in page.text
    assert "(95 % interval +11.1 to +14.2, paired bootstrap of 1,000 draws)" in page.text


def test_the_page_needs_nothing_from_outside(metrics, history):
    text = render_html(metrics, history)
    assert not re.search(r"https?:|//[a-z]|@import|<script|<link|<iframe| src=", text)
    page = Page(text)
    links = [value for _, key, value in page.attributes if key == "href"]
    assert links
    assert all(link.startswith("#") for link in links)
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]


def test_ids_are_unique_and_references_lead_somewhere(metrics, history):
    text = render_html(metrics, history)
    page = Page(text)
    assert len(page.ids) == len(set(page.ids))
    targets = [value[1:] for _, key, value in page.attributes if key == "href"]
    targets += re.findall(r"url\(#([^)]+)\)", text)
    for _, key, value in page.attributes:
        if key == "aria-labelledby":
            targets += value.split()
    assert set(targets) <= set(page.ids)


def test_plots_have_a_text_and_take_their_colours_from_the_page(metrics, history):
    text = render_html(metrics, history)
    drawings = re.findall(r"<svg.*?</svg>", text, flags=re.S)
    assert len(drawings) == 6
    for drawing in drawings:
        assert 'role="img"' in drawing
        assert re.search(r"<title id=\S+>[^<]+</title><desc id=\S+>[^<]+</desc>", drawing)
        assert not re.search(r"(fill|stroke): #(?!fff)", drawing)
        assert "DejaVu" not in drawing
        assert "mathdefault" not in drawing
    declared = set(re.findall(r"(--\w+):", text))
    assert set(re.findall(r"var\((--\w+)\)", text)) <= declared
    assert "student int8: 73.9 at 1.9 MB" in text


def test_tables_have_headers_with_a_scope(page):
    assert page.headers
    assert all(header.get("scope") in ("row", "col", "colgroup") for header in page.headers)
    assert page.tags.count("caption") == page.tags.count("table") > 5
    assert ("html", "lang", "en") in page.attributes


def _contrast(first: str, second: str) -> float:
    """Contrast ratio by the formula of WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_light_and_dark_have_enough_contrast(metrics):
    text = render_html(metrics)
    light, dark = re.findall(r":root \{(.*?)\}", text, flags=re.S)
    for palette in (light, dark):
        colours = dict(re.findall(r"--(\w+): (#\w{6})", palette))
        for name in ("ink", "soft", "link", "good", "bad"):
            assert _contrast(colours[name], colours["paper"]) >= 4.5, name
            assert _contrast(colours[name], colours["panel"]) >= 4.5, name
        for name in ("teacher", "baseline", "student", "file", "reference"):
            assert _contrast(colours[name], colours["paper"]) >= 3, name


def test_the_same_input_gives_the_same_files(metrics, history, tmp_path):
    first = write_report(Metrics.from_json(metrics), history, tmp_path / "a")
    second = write_report(Metrics.from_json(metrics), history, tmp_path / "b")
    assert [path.name for path in first] == ["report.html", "MODEL_CARD.md"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    assert not re.search(r"20\d\d-\d\d-\d\d", first[0].read_text("utf-8"))
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "MODEL_CARD.md",
        "report.html",
    ]


KEPT = ("metric", "task", "main", "id", "role", "model", "teacher")


def _replace_texts(value, key=None):
    """Hostile text wherever a user's text can stand."""
    if isinstance(value, dict):
        named = {"data", "environment", "wall_clock_s", "ops", "tags"}
        return {
            (HOSTILE if key in named and not isinstance(inner, dict) else name): _replace_texts(
                inner, name
            )
            for name, inner in value.items()
        }
    if isinstance(value, list):
        return [_replace_texts(item, key) for item in value]
    return HOSTILE if isinstance(value, str) and key not in KEPT else value


def test_hostile_text_stays_text(metrics):
    hostile = _replace_texts(metrics)
    for system in hostile["systems"]:
        system["labels"] = {HOSTILE: {"f1": 1.0, "support": 3}}
        system["languages"] = {HOSTILE: 50.0, "en": 60.0}
    text = render_html(hostile)
    assert text.count("<script") == 0
    assert text.count("</style>") == 1
    page = Page(text)
    assert "script" not in page.tags
    assert page.text.count(HOSTILE) > 20
    assert "49" not in page.text.replace("4900", "")


def test_text_of_any_script_is_drawn_without_a_warning(metrics):
    codes = {"ไทย": 50.0, "हिन्दी": 60.0, "日本語": 55.0, "العربية": 40.0}
    for system in metrics["systems"]:
        system["languages"] = codes
    assert "日本語" in render_html(metrics)


@pytest.mark.parametrize(
    "missing",
    [
        ["unknown_labels", "errors", "languages", "monitors"],
        ["reference", "wall_clock_s", "environment", "command", "data"],
    ],
)
def test_optional_keys_may_be_missing(metrics, history, missing):
    for key in missing:
        del metrics[key]
    Page(render_html(metrics, history))


def test_a_run_with_nothing_but_a_model_trained_on_labels(metrics):
    student = metrics["systems"][2] | {"teacher": None, "retention": {}, "gain": {}}
    alone = {key: metrics[key] for key in ("name", "task", "metric", "seed")}
    text = render_html(alone | {"main": "student", "systems": [student]})
    assert "The model student (distilled) has a span F1 of 74.1 on test." in text
    assert "<svg" not in text


def test_a_run_without_benchmark_test_set_and_baseline(metrics, history):
    metrics["systems"] = [s for s in metrics["systems"] if s["role"] != "baseline"]
    for system in metrics["systems"]:
        system["latency"] = None
        for key in ("scores", "retention"):
            system[key] = {k: v for k, v in system[key].items() if k == "dev"}
    metrics["reference"] = None
    text = render_html(metrics, history)
    page = Page(text)
    assert "Not benchmarked." in page.text
    assert "span F1 on dev: 74.3, teacher 77.2." in page.text
    assert 'id="speed"' not in text


def test_every_file_of_a_run_has_its_tables(metrics):
    second = metrics["systems"][-1] | {"id": "half.tflite", "model": "half", "name": "half int8"}
    half = metrics["systems"][2] | {"id": "half", "model": "half", "name": "half (distilled)"}
    metrics["systems"] += [half, second]
    page = Page(render_html(metrics))
    for name in ("student int8", "half int8"):
        assert f"{name}: The file" in page.text
        assert f"{name}: Operators by signature" in page.text


def test_unreadable_lines_of_the_history_are_told(metrics, history):
    with history.open("a", encoding="utf-8") as file:
        file.write("student,labels.enc")
    assert "1 lines of history.csv could not be read" in render_html(metrics, history)


def test_importing_the_package_loads_no_plotting():
    code = (
        "import sys, tfdistil.report, tfdistil.report.html, tfdistil.report.plots\n"
        "print([m for m in ('matplotlib', 'jinja2', 'tensorflow', 'keras') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
