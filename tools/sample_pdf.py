"""docs/samples/tide-gauge-manual.pdf: what the demo and the transcripts ingest.

Run: `python tools/sample_pdf.py`
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

TARGET = Path(__file__).resolve().parent.parent / "docs" / "samples" / "tide-gauge-manual.pdf"
MADE = datetime(2026, 11, 20, tzinfo=UTC)

PAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("1 What the gauge does", (
        "The gauge measures the height of the water in the harbour every six minutes and sends it "
        "to the harbour office by radio. It stands at the end of the north mole, in a steel pipe "
        "that keeps the waves out, so that what it sees is the tide and not the swell.",
        "This manual is for whoever looks after it: the harbour master, and in summer students.",
    )),
    ("2 Mounting", (
        "Bolt the pipe to the mole with its lower end at least a metre below the lowest low water. "
        "The float must hang free. Check with a plumb line that the pipe is upright: a lean of two "
        "degrees already costs four millimetres at spring tide.",
    )),
    ("3 Thermal limits", (
        "The electronics work from -20 to +55 degrees Celsius. Above 60 degrees the unit switches "
        "itself off and says E7 on the display; it comes back by itself below 50. In the summer of "
        "2025 this happened twice, because the lid had been painted black. Paint it white.",
        "The battery must not be charged below freezing. The charger knows that and waits.",
    )),
    ("4 Maintenance", (
        "Every month rinse the pipe with fresh water and scrape off the mussels. Every year change "
        "the battery and the gasket of the lid, and level the zero mark against the brass bolt at "
        "the office door.",
    )),
    ("5 Error codes", ()),
)  # fmt: skip

CODES = (
    ("Code", "Meaning", "What to do"),
    ("E1", "No radio", "Look whether the aerial is still there"),
    ("E3", "Float stuck", "Rinse the pipe"),
    ("E7", "Too hot", "Shade the unit, paint the lid white"),
    ("E9", "Battery low", "Change the battery within a week"),
)


class Manual(FPDF):
    """With a header and a footer on every page."""

    def header(self) -> None:
        """The same line on top of each page."""
        self.set_font("Helvetica", size=8)
        self.cell(0, 8, "Tide gauge TG-40: manual", new_x="LMARGIN", new_y="NEXT")
        self.ln(8)

    def footer(self) -> None:
        """The number of the page."""
        self.set_y(-15)
        self.set_font("Helvetica", size=8)
        self.cell(0, 8, f"Harbour office - {self.page_no()}", align="C")


def main() -> None:
    """Write the file; the same bytes every time."""
    manual = Manual()
    manual.set_creation_date(MADE)
    manual.set_title("Tide gauge TG-40: manual")
    manual.set_author("Harbour office")
    manual.set_subject("How to mount, keep and mend the tide gauge")
    for heading, paragraphs in PAGES:
        manual.add_page()
        manual.set_font("Helvetica", "B", 18)
        manual.cell(0, 12, heading, new_x="LMARGIN", new_y="NEXT")
        manual.set_font("Helvetica", size=11)
        for paragraph in paragraphs:
            manual.multi_cell(0, 6, paragraph, new_x="LMARGIN", new_y="NEXT")
            manual.ln(4)
    with manual.table() as table:
        for codes in CODES:
            row = table.row()
            for cell in codes:
                row.cell(cell)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    manual.output(str(TARGET))


if __name__ == "__main__":
    main()
