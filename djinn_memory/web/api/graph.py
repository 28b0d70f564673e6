"""`GET /v1/graph`: the answer of `graph.view` as arrays that a program uses as they are.

The body is the length of a header as a little-endian uint32, the header as JSON, and the arrays,
whose offsets count from the end of the header.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from djinn_memory.memories.graph.requests import GraphView
from djinn_memory.operations import OPERATIONS
from djinn_memory.web.api.operations import AGENT, Runner, given_in
from djinn_memory.web.api.problems import encoded
from djinn_memory.web.api.resources import Resource

BINARY = "application/octet-stream"

VIEW = OPERATIONS["graph.view"]


def graph_routes(runner: Runner) -> list[Resource]:
    """The route of the graph."""

    async def show(request: Request) -> Response:
        given = await given_in(request, VIEW, AGENT)
        body = await runner.packed(request.scope["caller"], VIEW.name, given, packed)
        return Response(body, media_type=BINARY)

    told = "Show the graph of links as binary arrays."
    return [Resource("GET", "/v1/graph", show, told, asks=VIEW.request, answer=BINARY)]


def packed(view: GraphView) -> bytes:
    """A view as a header and arrays."""
    places = {node.address: number for number, node in enumerate(view.nodes)}
    kinds, types, texts = (
        {name: number for number, name in enumerate(sorted(names))}
        for names in (
            {node.type or "" for node in view.nodes},
            {edge.type for edge in view.edges},
            {edge.text for edge in view.edges},
        )
    )
    arrays = {
        "spots": np.array([node.spot for node in view.nodes], "<f4").reshape(-1, 3),
        "flat": np.array([node.flat for node in view.nodes], "<f4").reshape(-1, 2),
        "edges": np.array(
            [(places[edge.source], places[edge.target]) for edge in view.edges], "<u4"
        ).reshape(-1, 2),
        "texts": np.array([texts[edge.text] for edge in view.edges], "<u4"),
        "weights": np.array([edge.weight for edge in view.edges], "<f4"),
        "confidences": np.array([edge.confidence for edge in view.edges], "<f4"),
        "degrees": np.array([node.degree for node in view.nodes], "<u4"),
        "communities": np.array([node.community or 0 for node in view.nodes], "<u4"),
        "kinds": np.array([kinds[node.type or ""] for node in view.nodes], "<u2"),
        "types": np.array([types[edge.type] for edge in view.edges], "<u2"),
    }
    header: dict[str, Any] = {
        "ids": [*places],
        "titles": [node.title for node in view.nodes],
        "dates": [node.date for node in view.nodes],
        "agents": [node.agent for node in view.nodes],
        "tags": [node.tags for node in view.nodes],
        "kinds": [*kinds],
        "types": [*types],
        "texts": [*texts],
        "note": view.note,
        "problems": view.problems,
        "total": view.total,
        "total_links": view.total_links,
        "arrays": {},
    }
    offset = 0
    for name, array in arrays.items():
        dtype, shape = array.dtype.str, array.shape
        header["arrays"][name] = {"dtype": dtype, "shape": shape, "offset": offset}
        offset += array.nbytes
    text = encoded(header)
    # Arrays of numbers of four bytes begin at a multiple of four.
    text += b" " * (-len(text) % 4)
    return b"".join([struct.pack("<I", len(text)), text, *(a.tobytes() for a in arrays.values())])
