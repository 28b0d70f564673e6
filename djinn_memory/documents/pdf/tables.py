"""Finds the tables of a PDF page by the ruling lines around their cells."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from djinn_memory.documents.markdown import table as markdown_table
from djinn_memory.documents.pdf.layout import Table
from djinn_memory.documents.pdf.lines import SOFT_HYPHEN, TextLine, Turn, plain, rotate

MOST_OBJECTS = 4000
"""Maximum number of objects: a page with more is a drawing."""

MOST_EDGES = 1500
"""Maximum number of edges: the search for cells compares them with each other."""

MOST_CROSSINGS = 2500
"""Maximum number of crossings: a page with more is graph paper and would take seconds."""

SHORTEST = 4.0
"""Minimum length of an edge in points: shorter strokes are letters and arrows."""

_SLANT = 1.0
_NEAR = 3.0
"""Maximum distance in points between the ends of two connected edges."""

Edge = dict[str, Any]


def page_tables(page: Any, text_page: Any, lines: Sequence[TextLine], turn: Turn) -> list[Table]:
    """The ruled tables of a pdfium page whose text runs in direction `turn`.

    Includes only tables whose cells hold exactly the text of their lines, so that none is lost or
    doubled.
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
    tables: list[Table] = []
    for table_cells in finder.cells_to_tables(cells):
        grid: Any = finder.Table(None, table_cells)  # type: ignore[arg-type]
        rows = [[_cell(text_page, cell, turn) for cell in row.cells] for row in grid.rows]
        left, top, right, bottom = grid.bbox
        table = Table(markdown_table(rows), left, right, -bottom, -top)
        inner = [line for line in lines if table.holds(line)]
        alone = not any(other.holds(line) for other in tables for line in inner)
        if alone and _is_table(rows) and _same_text(rows, inner):
            tables.append(table)
    return tables


def _same_text(rows: Sequence[Sequence[str]], lines: Sequence[TextLine]) -> bool:
    """Whether both have the same characters in any order."""
    cells = Counter("".join(cell for row in rows for cell in row))
    inner = Counter("".join(plain(line.text) for line in lines))
    # A hyphen at the end of a line has several characters.
    for char in " -\u00ad":
        del cells[char], inner[char]
    return cells == inner


def _edges(page: Any, turn: Turn) -> Iterator[Edge]:
    """The vertical and horizontal strokes of the page; y grows downward, as in pdfplumber."""
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
            across, up = rotate(
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


def _edge(start: tuple[float, float], end: tuple[float, float]) -> Iterator[Edge]:
    (left, right), (top, bottom) = sorted((start[0], end[0])), sorted((start[1], end[1]))
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
    corners = (rotate(left, -bottom, -turn), rotate(right, -top, -turn))
    (left, right), (bottom, top) = (sorted(ends) for ends in zip(*corners, strict=True))
    text = text_page.get_text_bounded(left, bottom, right, top)
    return plain(text.replace(SOFT_HYPHEN, "-"))


def _is_table(rows: Sequence[Sequence[str]]) -> bool:
    cells = [cell for row in rows for cell in row]
    full = sum(sum(map(bool, row)) > 1 for row in rows)
    return full > 1 and 2 * sum(map(bool, cells)) >= len(cells)
