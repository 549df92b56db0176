"""Take the pictures of the page on reading a report; needs Playwright and Chromium.

python -m docs.draw_report

The report is of the model of docs/quickstart.md, calibrated on half of the test part.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from manyclass import write_report
from tests.helpers.browser import new_page

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# First and last section of each picture.
PICTURES = {
    "report-training": (None, "convergence"),
    "report-classes": ("classes", "confusions"),
    "report-confidence": ("confidence", "calibration"),
    "report-features": ("features", "features"),
}
WIDTH = 760


def write_example(path: Path) -> None:
    """Write a report on the first two blocks of the quickstart: texts, and training."""
    names: dict[str, Any] = {}
    for block in BLOCK.findall((DOCS / "quickstart.md").read_text())[:2]:
        exec(block, names)
    svc, model, texts, labels = (
        names[n] for n in ("svc", "model", "test_texts", "y_test")
    )
    half = len(texts) // 2
    svc.calibrate(model[:-1].transform(texts[:half]), labels[:half])
    write_report(path, model, texts[half:], labels[half:])


def take(report: Path, folder: Path) -> None:
    """Take one picture for each group of sections."""
    with new_page(width=WIDTH) as page:
        page.goto(report.as_uri())
        for name, (first, last) in PICTURES.items():
            top = (
                0
                if first is None
                else page.locator(f"section#{first}").bounding_box()["y"]
            )
            box = page.locator(f"section#{last}").bounding_box()
            clip = {
                "x": 0,
                "y": top,
                "width": WIDTH,
                "height": box["y"] + box["height"] - top + 8,
            }
            page.screenshot(
                path=folder / f"{name}.png", full_page=True, clip=clip
            )


def main() -> None:
    """Write the report, and take its pictures."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.html"
        write_example(report)
        take(report, DOCS / "figures")


if __name__ == "__main__":
    main()
