"""A matplotlib figure as SVG that lives inside an HTML page.

The page's style sheet gives the colours, so one drawing serves light and dark; ids are unique in
the page; text stays text; nothing is left that points outside the page.
"""

from __future__ import annotations

import io
import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

INK, FAINT, PAPER = "#a10001", "#a10002", "#a10003"
ROLES = ("teacher", "baseline", "student", "file", "reference")
COLOURS = {role: f"#a2000{i}" for i, role in enumerate(ROLES)}
"""Stand-ins for the style sheet's variables; matplotlib wants real colours."""
_VARIABLES = {
    INK: "var(--ink)",
    FAINT: "var(--line)",
    PAPER: "var(--paper)",
    **{colour: f"var(--{role})" for role, colour in COLOURS.items()},
}
_STAND_IN = re.compile("|".join(_VARIABLES))
# Some versions of matplotlib write one property, some write one for each part.
_FONT = re.compile(r"font:\s*(?:[\w-]+\s+)*?([\d.]+px)[^;]*")
_FAMILY = re.compile(r"font-family:[^;]*(;\s*|$)")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "tfdistil",
    "text.parse_math": False,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
}


@contextmanager
def canvas(width: float = 4.8, height: float = 3.2) -> Iterator[tuple[Any, Any]]:
    """A figure and its axes in the page's style; sizes in inches.

    Figures are small so that their text stays readable when the page is as narrow as a phone.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # The browser draws the text with its own fonts; matplotlib's lack of one does not matter.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from", category=UserWarning)
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.add_subplot()


def inline_svg(figure: Any, name: str, title: str, description: str) -> str:
    """The figure as an ``<svg>`` element; call it inside `canvas`.

    Args:
        figure: a matplotlib figure.
        name: prefix of all ids, unique in the page.
        title: what the picture is.
        description: what it shows, for those who do not see it.
    """
    buffer = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    root = ET.fromstring(buffer.getvalue())
    for parent in root.iter():
        for child in list(parent):
            if _local(child.tag) in ("metadata", "style"):
                parent.remove(child)
    for element in root.iter():
        element.tag = _local(element.tag)
        element.attrib = {
            _local(key): _attribute(_local(key), value, name)
            for key, value in element.attrib.items()
        }
    size = root.attrib.pop("width").removesuffix("pt")
    for key in ("height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {
        "class": "plot",
        "role": "img",
        "aria-labelledby": f"{name}-title {name}-description",
        "style": f"max-width: {float(size) * 1.45:.0f}px",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        label = ET.Element(tag, {"id": f"{name}-{'description' if tag == 'desc' else tag}"})
        label.text = text
        root.insert(position, label)
    return ET.tostring(root, encoding="unicode")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _attribute(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{name}-\1)", value)
    value = _STAND_IN.sub(lambda found: _VARIABLES[found.group()], value)
    if key != "style":
        return value
    return _FAMILY.sub("", _FONT.sub(r"font-size: \1", value))
