"""Figures as SVG (in the page) and PNG (beside it), by matplotlib; the same data gives the same bytes."""

from __future__ import annotations

import io
import itertools
import re
from collections.abc import Mapping
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogFormatter

from prismem.tb.report.model import Figure, Number

HEADROOM = 1.08  # of an axis over the highest point
OUTSIDE = 6  # entries of a legend from which on it stands beside the picture
WIDTH_IN, HEIGHT_IN, PNG_DPI = 7.2, 3.9, 110
# Told apart without colour too: lines have markers of their own. Palette of Okabe and Ito, safe for colour blindness.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A8A8A", "#F0E442", "#4B0092")
MARKERS = "os^Dvxp*+<"
SETTINGS: Any = {
    "svg.hashsalt": "prismem",
    "svg.fonttype": "path",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.axisbelow": True,
}


def _plain(value: float, _position: int | None = None) -> str:
    return f"{value:,.10g}"


def _lines(axes: Axes, figure: Figure) -> None:
    for i, series in enumerate(figure.series):
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        style = {"line": "-", "dashed": "--", "points": ""}[series.style]
        drawn = "" if series.style == "dashed" else marker
        filled = colour if i < len(COLOURS) else "white"  # colours that come round have hollow markers
        looks: Any = {"marker": drawn, "markerfacecolor": filled, "markersize": 4, "linestyle": style, "lw": 1.3}
        axes.plot(series.x, series.y, color=colour, label=series.label, **looks)
    if figure.log_x:
        axes.set_xscale("log", base=2 if all(_power_of_2(x) for s in figure.series for x in s.x) else 10)
        axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    if figure.log_y:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.yaxis.set_minor_formatter(LogFormatter())  # below one decade only, without powers of ten
    else:
        highest = max(float(y) for series in figure.series for y in series.y)
        axes.set_ylim(bottom=0, top=figure.y_max or HEADROOM * highest or 1)
    if figure.categories:
        axes.set_xticks(range(len(figure.categories)), figure.categories, rotation=25, ha="right")


def _power_of_2(value: float) -> bool:
    return value >= 1 and value == int(value) and int(value) & (int(value) - 1) == 0


def spans(heights: Mapping[str, Number]) -> list[tuple[str, float, float]]:
    """(part, start, width) of a stacked bar: each bar in the order of its own parts."""
    ends = list(itertools.accumulate(float(width) for width in heights.values()))
    return [(part, end - width, float(width)) for (part, width), end in zip(heights.items(), ends, strict=True)]


def _bars(axes: Axes, figure: Figure) -> None:
    parts = list(dict.fromkeys(part for heights in figure.bars.values() for part in heights))
    shown: set[str] = set()
    for name, heights in figure.bars.items():
        for part, left, width in spans(heights):
            colour, label = COLOURS[parts.index(part) % len(COLOURS)], "_" if part in shown else part
            axes.barh([name], [width], left=left, label=label, color=colour, edgecolor="white", lw=0.4)
            shown.add(part)
        total = sum(heights.values())
        axes.annotate(_plain(total), (total, name), xytext=(3, 0), textcoords="offset points", va="center", fontsize=8)
    axes.margins(x=0.08)
    axes.invert_yaxis()


def draw(figure: Figure) -> tuple[str, bytes]:
    """(SVG text without XML header, PNG bytes) of a figure."""
    with mpl.rc_context(SETTINGS):
        canvas = Canvas(figsize=(WIDTH_IN, HEIGHT_IN), layout="constrained")
        axes = canvas.subplots()
        if figure.bars:
            _bars(axes, figure)
        else:
            _lines(axes, figure)
        axes.set_title(figure.title, fontsize=10)
        axes.set_xlabel(figure.x_label)
        axes.set_ylabel(figure.y_label)
        _, labels = axes.get_legend_handles_labels()
        if len(labels) > 1:
            place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(labels) > OUTSIDE else {}
            axes.legend(fontsize=7.5, **place)
        svg, png = io.StringIO(), io.BytesIO()
        canvas.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
        canvas.savefig(png, format="png", dpi=PNG_DPI, metadata={"Software": None})
    return _embeddable(svg.getvalue(), figure), png.getvalue()


def _embeddable(svg: str, figure: Figure) -> str:
    """The svg element alone, with names of its own and a text for who cannot see it."""
    element = svg[svg.index("<svg") :]
    element = re.sub(r'(id="|url\(#|xlink:href="#)', rf"\g<1>{figure.id}-", element)
    label = f"{figure.title}. Horizontal: {figure.x_label or 'bars'}. Vertical: {figure.y_label or 'bars'}."
    return element.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
