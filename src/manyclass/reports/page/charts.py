"""Line charts in SVG. Colours and type are those of the page's style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from manyclass.reports.page.axes import Axis
from manyclass.reports.page.elements import Markup, element, joined

WIDTH, HEIGHT = 440, 280
LEFT, RIGHT, TOP, BOTTOM = 64, 14, 12, 46
DOTTED_POINTS = 60  # up to which each point of a line is marked


@dataclass(frozen=True, slots=True)
class Series:
    """Points of a chart.

    Attributes
    ----------
    name : str
    points : sequence of (float, float)
        Within the axes.
    style : {"one", "two", "three", "guide"}
        A colour; guide: a thin dashed line.
    shape : {"line", "points", "diamond"}
    """

    name: str
    points: Sequence[tuple[float, float]]
    style: str = "one"
    shape: str = "line"


def chart(x: Axis, y: Axis, series: Sequence[Series], description: str) -> Markup:
    """Return a figure: the chart, and what its lines are.

    Parameters
    ----------
    x, y : Axis
    series : sequence of Series
    description : str
        What there is to see, for those who do not see it.
    """
    drawing = element(
        "svg",
        _frame(x, y),
        *(_drawn(one, x, y) for one in series),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=description,
        class_="chart",
    )
    legend = [element("li", _swatch(one), one.name) for one in series]
    caption = element("figcaption", element("ul", *legend, class_="legend"))
    return element("figure", drawing, caption)


def _at(x: Axis, y: Axis, point: tuple[float, float]) -> tuple[float, float]:
    across = LEFT + x.share(point[0]) * (WIDTH - LEFT - RIGHT)
    return across, HEIGHT - BOTTOM - y.share(point[1]) * (HEIGHT - TOP - BOTTOM)


def _frame(x: Axis, y: Axis) -> Markup:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = []
    for value, name in y.ticks():
        _, down = _at(x, y, (x.low, value))
        parts.append(element("line", x1=LEFT, x2=right, y1=down, y2=down, class_="grid"))
        parts.append(element("text", name, x=LEFT - 8, y=down + 4, text_anchor="end"))
    for value, name in x.ticks():
        across, _ = _at(x, y, (value, y.low))
        parts.append(element("line", x1=across, x2=across, y1=bottom, y2=bottom + 5, class_="tick"))
        parts.append(element("text", name, x=across, y=bottom + 19, text_anchor="middle"))
    parts.append(element("line", x1=LEFT, x2=right, y1=bottom, y2=bottom, class_="tick"))
    middle = (TOP + bottom) / 2
    titles = [
        element("text", x.title, x=(LEFT + right) / 2, y=HEIGHT - 8, text_anchor="middle"),
        element(
            "text",
            y.title,
            x=0,
            y=0,
            text_anchor="middle",
            transform=f"translate(14 {middle:g}) rotate(-90)",
        ),
    ]
    return joined([*parts, *titles])


def _drawn(series: Series, x: Axis, y: Axis) -> Markup:
    places = [_at(x, y, point) for point in series.points]
    if series.shape == "diamond":
        return joined(_diamond(*place, series.style) for place in places)
    line = element(
        "polyline",
        points=" ".join(f"{a:.1f},{b:.1f}" for a, b in places),
        class_=f"line {series.style}",
    )
    dotted = series.style != "guide" and len(places) <= DOTTED_POINTS
    dots = [element("circle", cx=a, cy=b, r=3, class_=f"dot {series.style}") for a, b in places]
    return joined([line, *(dots if dotted else [])])


def _diamond(across: float, down: float, style: str) -> Markup:
    path = f"M{across:.1f} {down - 6:.1f}l6 6l-6 6l-6 -6z"
    return element("path", d=path, class_=f"dot {style}")


def _swatch(series: Series) -> Markup:
    if series.shape == "diamond":
        mark = _diamond(12, 7, series.style)
    else:
        mark = element("line", x1=1, x2=23, y1=7, y2=7, class_=f"line {series.style}")
    return element("svg", mark, viewBox="0 0 24 14", class_="swatch", aria_hidden="true")
