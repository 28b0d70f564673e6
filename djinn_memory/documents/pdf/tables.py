"""The tables of a PDF's page, found by the lines that are drawn around their cells."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from djinn_memory.documents.markdown import escape
from djinn_memory.documents.pdf.layout import Table
from djinn_memory.documents.pdf.lines import SOFT_HYPHEN, TextLine, Turn, plain, turned

MOST_OBJECTS = 4000
"""A page of more objects is a drawing."""

MOST_EDGES = 1500
"""What finds the cells compares edges with each other."""

MOST_CROSSINGS = 2500
"""More are graph paper, over which the search for cells would take seconds."""

SHORTEST = 4.0
"""Points: shorter strokes are letters and arrows."""

_SLANT = 1.0
_NEAR = 3.0
"""Points by which edges may miss each other."""

Edge = dict[str, Any]


def page_tables(page: Any, text_page: Any, lines: Sequence[TextLine], turn: Turn) -> list[Table]:
    """The ruled tables of a pdfium page with these lines, whose text stands so turned.

    Only those whose cells have what their lines have, so that nothing is lost or doubled.
    """
    edges = list(_edges(page, turn))
    if len(edges) > MOST_EDGES or sum(edge["orientation"] == "v" for edge in edges) < 2:
        return []
    from pdfplumber import table as finder

    merged = finder.merge_edges(edges, _NEAR, _NEAR, _NEAR, _NEAR)
    crossings = finder.edges_to_intersections(merged, _NEAR, _NEAR)
    if len(crossings) > MOST_CROSSINGS:
        return []
    cells = finder.intersections_to_cells(crossings)
    found: list[Table] = []
    for some in finder.cells_to_tables(cells):
        grid: Any = finder.Table(None, some)  # type: ignore[arg-type]
        rows = [[_cell(text_page, cell, turn) for cell in row.cells] for row in grid.rows]
        left, top, right, bottom = grid.bbox
        table = Table(_markdown(rows), left, right, -bottom, -top)
        held = [line for line in lines if table.holds(line)]
        alone = not any(other.holds(line) for other in found for line in held)
        if alone and _is_table(rows) and _same(rows, held):
            found.append(table)
    return found


def _same(rows: Sequence[Sequence[str]], lines: Sequence[TextLine]) -> bool:
    """Whether both have the same characters, in whatever order."""
    cells = Counter("".join(cell for row in rows for cell in row))
    held = Counter("".join(plain(line.text) for line in lines))
    del cells[" "], held[" "]
    # A hyphen at the end of a line has several characters.
    for hyphen in "-\u00ad":
        del cells[hyphen], held[hyphen]
    return cells == held


def _edges(page: Any, turn: Turn) -> Iterator[Edge]:
    """The upright and level strokes of the page's paths; y grows downward, as pdfplumber counts."""
    import pypdfium2.raw as pdfium

    count = pdfium.FPDFPage_CountObjects(page)
    if count > MOST_OBJECTS:
        return
    matrix = pdfium.FS_MATRIX()
    x, y = ctypes.c_float(), ctypes.c_float()
    for at in range(count):
        shape = pdfium.FPDFPage_GetObject(page, at)
        if pdfium.FPDFPageObj_GetType(shape) != pdfium.FPDF_PAGEOBJ_PATH:
            continue
        pdfium.FPDFPageObj_GetMatrix(shape, ctypes.byref(matrix))
        corners: list[tuple[float, float]] = []
        for number in range(min(pdfium.FPDFPath_CountSegments(shape), MOST_EDGES)):
            segment = pdfium.FPDFPath_GetPathSegment(shape, number)
            pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
            across, up = turned(
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
                turn,
            )
            point = (across, -up)
            kind = pdfium.FPDFPathSegment_GetType(segment)
            if kind == pdfium.FPDF_SEGMENT_MOVETO:
                corners = [point]
                continue
            if kind == pdfium.FPDF_SEGMENT_LINETO and corners:
                yield from _edge(corners[-1], point)
            corners.append(point)
            if pdfium.FPDFPathSegment_GetClose(segment) and kind == pdfium.FPDF_SEGMENT_LINETO:
                yield from _edge(point, corners[0])


def _edge(one: tuple[float, float], other: tuple[float, float]) -> Iterator[Edge]:
    (left, right), (top, bottom) = sorted((one[0], other[0])), sorted((one[1], other[1]))
    level, upright = bottom - top <= _SLANT, right - left <= _SLANT
    if level != upright and max(right - left, bottom - top) >= SHORTEST:
        yield {
            "x0": left, "x1": right, "top": top, "bottom": bottom,
            "width": right - left, "height": bottom - top,
            "orientation": "h" if level else "v", "object_type": "line",
        }  # fmt: skip


def _cell(text_page: Any, box: tuple[float, float, float, float] | None, turn: Turn) -> str:
    if box is None:
        return ""
    left, top, right, bottom = box
    corners = (turned(left, -bottom, -turn), turned(right, -top, -turn))
    (left, right), (bottom, top) = (sorted(ends) for ends in zip(*corners, strict=True))
    text = text_page.get_text_bounded(left, bottom, right, top)
    return plain(text.replace(SOFT_HYPHEN, "-"))


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    full = sum(sum(map(bool, row)) > 1 for row in rows)
    return full > 1 and 2 * sum(map(bool, cells)) >= len(cells)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(escape(cell).replace("|", "\\|") for cell in row) + " |"
             for row in rows]  # fmt: skip
    lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n".join(lines)
