"""The graph of links as text for other programs."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain, count, groupby
from math import ceil, sqrt
from operator import attrgetter
from xml.sax.saxutils import escape

from msgspec import UNSET, Struct
from msgspec.structs import asdict

from djinn_memory.memories.graph.edges import REFERENCES, EdgeReader
from djinn_memory.memories.graph.link_graph import read_graph
from djinn_memory.memories.graph.requests import GraphEdge, GraphExport, GraphFormat
from djinn_memory.models import Memory
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import Selection

_NODE = ("title", "vault", "path", "type", "tags", "date")
_EDGE = ("type", "weight", "confidence", "text")
"""The values of nodes and edges in GraphML and DOT, whose edges are directed."""

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML 1.0 document may contain."""

_NOT_MERMAID = re.compile(r"[^\w .,:/()-]")
"""Characters that are written by their numbers, as they may have a meaning in Mermaid."""

CARD = (320, 160)
"""Width and height of a note on a canvas, in pixels."""


class _Export(Struct):
    """Memories by their names in an export, and the edges between them by these names."""

    memories: Mapping[str, Memory]
    edges: Iterable[tuple[str, str, GraphEdge]]


def export(index: Index, selection: Selection, form: GraphFormat) -> GraphExport:
    """The memories of a selection and the links between them, in a format."""
    text = StringIO()
    memories, links = _write(text, index, selection, form)
    # The graph is no longer in memory when its text is copied.
    return GraphExport(form, memories, links, text.getvalue())


def _write(
    text: StringIO, index: Index, selection: Selection, form: GraphFormat
) -> tuple[int, int]:
    """Write an export. Returns the number of memories and of links."""
    graph = read_graph(index, selection)
    reader = EdgeReader(index, {memory.memory_id: memory for memory in graph.memories})
    names = {memory.address: f"n{number}" for number, memory in enumerate(graph.memories)}
    number = count()
    # Edges are read as they are written, those with the same ends at once: a large graph has a
    # million.
    pairs = groupby(graph.links, attrgetter("source", "target"))
    read = chain.from_iterable(reader.edges(links) for _, links in pairs)
    edges = (
        (names[edge.source], names[edge.target], edge)
        for edge, _ in zip(read, number, strict=False)
    )
    memories = {names[memory.address]: memory for memory in graph.memories}
    text.writelines(f"{line}\n" for line in _WRITERS[form](_Export(memories, edges)))
    return len(memories), next(number)


def _graphml(graph: _Export) -> Iterator[str]:
    """GraphML 1.0, http://graphml.graphdrawing.org/specification.html."""
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for of, names in (("node", _NODE), ("edge", _EDGE)):
        for name in names:
            kind = "double" if name in ("weight", "confidence") else "string"
            key = f'id="{of}-{name}" for="{of}" attr.name="{name}" attr.type="{kind}"'
            yield f"  <key {key}/>"
    yield '  <graph id="links" edgedefault="directed">'
    for name, memory in graph.memories.items():
        yield f'    <node id="{name}">{_data("node", _values(memory, _NODE))}</node>'
    for source, target, edge in graph.edges:
        data = _data("edge", _values(edge, _EDGE))
        yield f'    <edge source="{source}" target="{target}">{data}</edge>'
    yield "  </graph>"
    yield "</graphml>"


def _data(of: str, values: Mapping[str, str]) -> str:
    return "".join(
        f'<data key="{of}-{name}">{escape(value)}</data>' for name, value in _clean(values).items()
    )


def _clean(values: Mapping[str, str]) -> dict[str, str]:
    """Values without characters that end a text or its document, such as NUL."""
    return {name: _NOT_XML.sub("\ufffd", value) for name, value in values.items()}


def _values(record: object, names: Sequence[str]) -> dict[str, str]:
    """The values that a record has, as text."""
    known = ((name, getattr(record, name)) for name in names)
    texts = (
        (name, " ".join(value) if isinstance(value, tuple) else value) for name, value in known
    )
    return {name: str(value) for name, value in texts if value not in (None, "")}


def _json(graph: _Export) -> Iterator[str]:
    """The node-link format that networkx reads with `edges="edges"`."""
    yield '{"directed": true, "multigraph": true, "graph": {}, "nodes": ['
    yield from _listed(
        {"id": name} | {key: getattr(memory, key) for key in ("address", *_NODE)}
        for name, memory in graph.memories.items()
    )
    yield '], "edges": ['
    yield from _listed(
        asdict(edge) | {"source": source, "target": target} for source, target, edge in graph.edges
    )
    yield "]}"


def _listed(records: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """The items of a JSON array, one on each line."""
    before = ""
    for record in records:
        yield before + json.dumps(record, ensure_ascii=False)
        before = ","


def _dot(graph: _Export) -> Iterator[str]:
    """The DOT language of Graphviz, https://graphviz.org/doc/info/lang.html."""
    yield "digraph links {"
    for name, memory in graph.memories.items():
        yield f"  {name} [{_attributes({'label': memory.title, **_values(memory, _NODE)})}];"
    for source, target, edge in graph.edges:
        label = {} if edge.type == REFERENCES else {"label": edge.type}
        yield f"  {source} -> {target} [{_attributes({**label, **_values(edge, _EDGE)})}];"
    yield "}"


def _attributes(values: Mapping[str, str]) -> str:
    return ", ".join(
        '{}="{}"'.format(name, " ".join(value.split()).replace("\\", "\\\\").replace('"', '\\"'))
        for name, value in _clean(values).items()
    )


def _mermaid(graph: _Export) -> Iterator[str]:
    """A flowchart of Mermaid, https://mermaid.js.org/syntax/flowchart.html."""
    yield "flowchart LR"
    for name, memory in graph.memories.items():
        yield f'  {name}["{_spelled(memory.title)}"]'
    for source, target, edge in graph.edges:
        label = "" if edge.type == REFERENCES else f'|"{_spelled(edge.type)}"|'
        yield f"  {source} -->{label} {target}"


def _spelled(text: str) -> str:
    """A text for a label in quotation marks; it has at least one character."""
    line = " ".join(text.split()) or "-"
    return _NOT_MERMAID.sub(lambda match: f"#{ord(match[0])};", line)


def _canvas(graph: _Export) -> Iterator[str]:
    """JSON Canvas 1.0, https://jsoncanvas.org/spec/1.0, for a file in the vault of most memories.

    Memories of other vaults are cards of text, since a canvas can show only files of its vault.
    """
    yield '{"nodes": ['
    yield from _listed(_cards(graph.memories))
    yield '], "edges": ['
    yield from _listed(
        {"id": f"e{number}", "fromNode": source, "toNode": target}
        | ({} if edge.type == REFERENCES else {"label": edge.type})
        for number, (source, target, edge) in enumerate(graph.edges)
    )
    yield "]}"


def _cards(memories: Mapping[str, Memory]) -> Iterator[dict[str, object]]:
    """The nodes of a canvas, in a square."""
    vaults = Counter(memory.vault for memory in memories.values())
    own = vaults.most_common(1)[0][0] if vaults else ""
    width, height = CARD
    row = ceil(sqrt(len(memories)))
    for number, (name, memory) in enumerate(memories.items()):
        down, right = divmod(number, row)
        card: dict[str, object] = {"id": name, "x": 2 * width * right, "y": 2 * height * down}
        card |= {"width": width, "height": height}
        if memory.vault == own:
            card |= {"type": "file", "file": memory.path}
            card |= {} if memory.block is UNSET else {"subpath": f"#^{memory.block}"}
        else:
            card |= {"type": "text", "text": f"{memory.title}\n\n{memory.address}"}
        yield card


_WRITERS: Mapping[GraphFormat, Callable[[_Export], Iterator[str]]] = {
    "graphml": _graphml,
    "json": _json,
    "dot": _dot,
    "mermaid": _mermaid,
    "canvas": _canvas,
}
