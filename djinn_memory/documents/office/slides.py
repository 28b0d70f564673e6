"""Converts the slides of a presentation to Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from djinn_memory.documents.markdown import escape, table


def slides(data: bytes) -> list[str]:
    """The title, text, tables, charts and notes of each slide, from top to bottom."""
    from pptx import Presentation

    return [_slide(slide) for slide in Presentation(io.BytesIO(data)).slides]


def _slide(slide: Any) -> str:
    title = slide.shapes.title
    blocks = []
    if title is not None and (words := _line(title.text_frame.text)):
        blocks.append(f"# {escape(words)}")
    for shape in _in_order(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            blocks += _shape(shape)
    if slide.has_notes_slide and (frame := slide.notes_slide.notes_text_frame) is not None:
        notes = _paragraphs(frame, listed=False)
        blocks += ["### Notes", notes] if notes else []
    return "\n\n".join(block for block in blocks if block.strip())


def _in_order(shapes: Any) -> Iterator[Any]:
    for shape in sorted(shapes, key=lambda shape: (shape.top or 0, shape.left or 0)):
        if hasattr(shape, "shapes"):
            yield from _in_order(shape.shapes)
        else:
            yield shape


def _shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        yield table([[_line(cell.text) for cell in row.cells] for row in shape.table.rows])
    elif getattr(shape, "has_chart", False):
        yield _chart(shape.chart)
    elif shape.has_text_frame:
        yield _paragraphs(shape.text_frame, listed=shape.is_placeholder)
    else:
        # The alternative text of a picture.
        descriptions = shape._element.xpath(".//p:cNvPr/@descr")
        yield escape(_line(" ".join(descriptions)))


def _paragraphs(frame: Any, *, listed: bool) -> str:
    lines = [(part.level, _line(part.text)) for part in frame.paragraphs]
    lines = [(level, line) for level, line in lines if line]
    if listed and len(lines) > 1:
        return "\n".join(f"{'  ' * level}- {escape(line)}" for level, line in lines)
    return "\n\n".join(escape(line) for _, line in lines)


def _chart(chart: Any) -> str:
    try:
        plot = chart.plots[0]
        rows = [["", *(_line(str(series.name)) for series in plot.series)]]
        values = [list(series.values) for series in plot.series]
        for number, category in enumerate(plot.categories):
            cells = [column[number] if number < len(column) else "" for column in values]
            rows.append([_line(str(category)), *map(str, cells)])
        return table(rows)
    except (ValueError, KeyError, IndexError, AttributeError, NotImplementedError):
        return ""  # a kind of chart that python-pptx does not know


def _line(text: str) -> str:
    return " ".join(text.split())
