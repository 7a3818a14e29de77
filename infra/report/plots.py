"""The plots of the page, as SVG whose colours and font are the page's, so that they follow its light and dark.

Matplotlib draws with stand-ins for colours, which then become the page's variables. Each plot is drawn twice, for
wide and for narrow screens, as text in a picture that is only scaled down cannot be read on a phone.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, FAINT, PAPER = "#000001", "#000002", "#000003"
SERIES = tuple(f"#00010{digit:x}" for digit in range(10))  # as many as there are stages, and one for all else
VARIABLES = {INK: "--ink", FAINT: "--faint", PAPER: "--paper"}
VARIABLES |= {colour: f"--series-{index}" for index, colour in enumerate(SERIES)}

STYLE: Any = {
    "svg.fonttype": "none",  # text stays text: in the page's font, found by a search, read aloud
    "text.parse_math": False,  # names from a log may have dollars
    "font.size": 11,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "grid.alpha": 0.6,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "legend.markerscale": 2,
    "lines.linewidth": 1.5,
}
PIXELS = 72  # to an inch of Matplotlib's SVG
LETTER, HANDLE = 6.6, 30  # of a legend, in pixels: a letter of most fonts, and the line before it with its space
SIZES = {"wide": (8.0, 3.6), "narrow": (4.0, 3.6)}  # inches


@dataclass(frozen=True, slots=True)
class Plot:
    """`draw` gets axes and whether they are narrow. `caption` says what is shown, and what is not."""

    title: str
    caption: str
    draw: Callable[[Axes, bool], None]

    def svg(self) -> dict[str, str]:
        """By the names of SIZES."""
        return {name: self._drawn(name, *size) for name, size in SIZES.items()}

    def _drawn(self, name: str, width: float, height: float) -> str:
        salt = f"{self.title}-{name}"  # ids must differ within a page
        with matplotlib.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # letters that its own font lacks; the reader's has them
            figure = Figure(figsize=(width, height), layout="constrained")
            axes = figure.add_subplot()
            self.draw(axes, name == "narrow")
            _legend(figure, axes, width * PIXELS)
            return _inline(figure, self.title)


def _legend(figure: Figure, axes: Axes, width: float) -> None:
    """Above the plot, where it hides nothing, in as many columns as there is room for."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        look: Any = {"loc": "outside upper left", "handlelength": 1.2, "columnspacing": 1.2, "handletextpad": 0.5}
        room = int(width / (LETTER * max(map(len, labels)) + HANDLE))
        figure.legend(handles, labels, ncols=min(len(handles), max(2, room)), **look)


def _inline(figure: Figure, title: str) -> str:
    out = io.StringIO()
    bare: dict[str, Any] = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    figure.savefig(out, format="svg", metadata=bare)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r' id="[A-Za-z]+[0-9a-zA-Z.]*_\d+"', "", svg)  # figure_1 …: the same in each plot, and unused
    svg = re.sub(r"font: [^;\"]*", _font, svg)
    svg = re.sub(r"#0000\d\d|#00010[0-9a-f]", lambda found: f"var({VARIABLES[found[0]]})", svg)
    return svg.replace("<svg ", '<svg aria-hidden="true" focusable="false" ', 1)


def _font(said: re.Match[str]) -> str:
    size = re.search(r"[\d.]+px", said[0])
    return f"font-family: inherit; font-size: {size[0] if size else '10px'}"
