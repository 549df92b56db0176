"""Draw the packages of manyclass, from the imports of its modules: docs/figures/packages.svg.

    python docs/draw_packages.py

A package is drawn below every package that imports it. An arrow means "imports"; arrows that follow
from others are left out (transitive reduction). Runs at every build of the documentation.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "manyclass"
FIGURE = Path(__file__).with_name("figures") / "packages.svg"
OUTSIDE = ("__init__", "__main__", "version")
WIDTH, ROW, BOX, HEIGHT = 780, 84, 176, 46  # pixels


def imports(path: Path) -> set[str]:
    """Return the packages that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (
            node.module or ""
        ).startswith("manyclass"):
            parts = [
                *(node.module or "").split("."),
                *(name.name for name in node.names),
            ]
            if (PACKAGE / parts[1]).is_dir() or (
                PACKAGE / f"{parts[1]}.py"
            ).exists():
                found.add(parts[1])
    return found


def graph() -> tuple[dict[str, set[str]], dict[str, int]]:
    """Return which packages each package imports, and how many modules it has."""
    edges: dict[str, set[str]] = {}
    sizes: dict[str, int] = {}
    for place in sorted(PACKAGE.iterdir()):
        if place.suffix == ".py" and place.stem not in OUTSIDE:
            modules = [place]
        elif (place / "__init__.py").exists():
            modules = list(place.rglob("*.py"))
        else:
            continue
        edges[place.stem] = set().union(*map(imports, modules)) - {
            place.stem,
            *OUTSIDE,
        }
        sizes[place.stem] = sum(
            module.name != "__init__.py" for module in modules
        )
    return edges, sizes


def reachable(edges: dict[str, set[str]], start: str) -> set[str]:
    """Return the packages that imports lead to, directly or not."""
    found: set[str] = set()
    todo = list(edges[start])
    while todo:
        package = todo.pop()
        if package not in found:
            found.add(package)
            todo += edges[package]
    return found


def reduced(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """Leave out the imports that follow from others."""
    far = {package: reachable(edges, package) for package in edges}
    return {
        package: {
            to
            for to in some
            if not any(to in far[other] for other in some - {to})
        }
        for package, some in edges.items()
    }


def layers(edges: dict[str, set[str]]) -> dict[str, int]:
    """Return the depth of each package: the longest way down to it."""
    above = defaultdict(set)
    for package, some in edges.items():
        for to in some:
            above[to].add(package)

    def depth(package: str) -> int:
        return max(
            (depth(other) + 1 for other in above[package]), default=0
        )

    return {package: depth(package) for package in edges}


def places(edges: dict[str, set[str]]) -> dict[str, tuple[float, float]]:
    """Return the centre of each package's box."""
    rows = defaultdict(list)
    for package, depth in layers(edges).items():
        rows[depth].append(package)
    return {
        package: (
            WIDTH * (i + 1) / (len(packages) + 1),
            ROW * (depth + 0.5),
        )
        for depth, packages in rows.items()
        for i, package in enumerate(sorted(packages))
    }


def svg() -> str:
    """Return the drawing."""
    edges, sizes = graph()
    at = places(edges)
    lines, boxes = [], []
    for package, some in reduced(edges).items():
        x, y = at[package]
        for to in sorted(some):
            u, v = at[to]
            lines.append(
                f'<path d="M{x:.0f} {y + HEIGHT / 2:.0f} C{x:.0f} {y + ROW * 0.6:.0f} {u:.0f} '
                f'{v - ROW * 0.6:.0f} {u:.0f} {v - HEIGHT / 2 - 5:.0f}" marker-end="url(#tip)"/>'
            )
        counted = (
            "1 module"
            if sizes[package] == 1
            else f"{sizes[package]} modules"
        )
        boxes.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y - HEIGHT / 2:.0f}" width="{BOX}" '
            f'height="{HEIGHT}" rx="6"/><text x="{x:.0f}" y="{y + 1:.0f}">{package}</text>'
            f'<text class="n" x="{x:.0f}" y="{y + 18:.0f}">{counted}</text>'
        )
    height = ROW * (max(layers(edges).values()) + 1)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">
<title>Packages of manyclass; an arrow means imports</title>
<style>rect {{fill: #eef3fb; stroke: #33557f}} path {{fill: none; stroke: #7a8aa0}}
text {{font: 19px sans-serif; text-anchor: middle; fill: #111}} .n {{font-size: 12px; fill: #555}}
</style><rect width="{WIDTH}" height="{height}" style="fill: #fff; stroke: none"/>
<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8"
orient="auto"><path d="M0 0 L8 4 L0 8 z" style="fill: #7a8aa0"/></marker></defs>
{chr(10).join(lines)}
{chr(10).join(boxes)}
</svg>
"""


if __name__ == "__main__":
    FIGURE.write_text(svg())
