"""Charts as SVG text. A chart is {"name", "title", "kind", "x", "y", "x_values", "series"}: kind lines
(x_values are numbers, log_x for a logarithmic axis) or bars (x_values are words); series maps a name
to as many numbers, None where there is none. The y axis starts at 0.
"""

import html
import math

WIDTH, HEIGHT = 640, 340
LEFT, RIGHT, TOP, BOTTOM = 70, 20, 40, 50
# Colours that most eyes can tell apart, also in grey.
COLOURS = ("#0b5fa5", "#d9730d", "#5aa469", "#8a4f7d", "#8c8c8c", "#c2b280")


def text(x, y, words, size=12, anchor="middle", turn=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}"{turn}>'
            f"{html.escape(str(words))}</text>")


def short(number):
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= limit:
            return f"{number / limit:g}{letter}"
    return f"{number:g}"


def step(most):
    """A round distance of about five lines of the grid."""
    rough = most / 5
    power = 10 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)


class Axes:
    """A value's position in the chart."""

    def __init__(self, chart):
        values = [value for points in chart["series"].values() for value in points
                  if value is not None]
        self.step = step(max(values + [1e-9]))
        self.most = math.ceil(max(values + [1e-9]) / self.step) * self.step
        self.places = [math.log10(value) if chart.get("log_x") else value
                       for value in chart["x_values"]] if chart["kind"] == "lines" else []

    def y(self, value):
        return HEIGHT - BOTTOM - max(value, 0) / self.most * (HEIGHT - TOP - BOTTOM)

    def x(self, index):
        low, high = min(self.places), max(self.places)
        part = (self.places[index] - low) / (high - low) if high > low else 0.5
        return LEFT + 20 + part * (WIDTH - LEFT - RIGHT - 40)


def frame(chart, axes):
    parts = [text(WIDTH / 2, 18, chart["title"], 14)]
    for i in range(round(axes.most / axes.step) + 1):
        y = axes.y(i * axes.step)
        parts.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" '
                     'stroke="#ddd"/>')
        parts.append(text(LEFT - 6, y + 4, short(i * axes.step), anchor="end"))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(text(16, middle, chart["y"], turn=f' transform="rotate(-90 16 {middle:.1f})"'))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, chart.get("x", "")))
    return parts


def legend(chart):
    parts, x = [], LEFT + 8
    for name, colour in zip(chart["series"], COLOURS):
        parts.append(f'<rect x="{x}" y="{TOP - 12}" width="10" height="10" fill="{colour}"/>')
        parts.append(text(x + 14, TOP - 3, name, 11, "start"))
        x += 30 + 7 * len(name)
    return parts


def lines(chart, axes):
    parts = []
    for index, value in enumerate(chart["x_values"]):
        parts.append(text(axes.x(index), HEIGHT - BOTTOM + 16, short(value)))
    for points, colour in zip(chart["series"].values(), COLOURS):
        known = [(axes.x(i), axes.y(value)) for i, value in enumerate(points) if value is not None]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in known)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in known]
    return parts


def bars(chart, axes):
    parts = []
    group = (WIDTH - LEFT - RIGHT) / len(chart["x_values"])
    width = group * 0.8 / len(chart["series"])
    for index, word in enumerate(chart["x_values"]):
        parts.append(text(LEFT + (index + 0.5) * group, HEIGHT - BOTTOM + 16, word))
    for number, (points, colour) in enumerate(zip(chart["series"].values(), COLOURS)):
        for index, value in enumerate(points):
            if value is None:
                continue
            x, y = LEFT + index * group + group * 0.1 + number * width, axes.y(value)
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width * 0.95:.1f}" '
                         f'height="{HEIGHT - BOTTOM - y:.1f}" fill="{colour}">'
                         f"<title>{html.escape(f'{word_of(chart, index)}: {value:.4g}')}</title></rect>")
    return parts


def word_of(chart, index):
    return chart["x_values"][index]


def draw(chart):
    axes = Axes(chart)
    parts = frame(chart, axes) + legend(chart)
    parts += (lines if chart["kind"] == "lines" else bars)(chart, axes)
    body = "\n".join(parts)
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
            f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif">\n'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n')
