"""The page of the graph: one file that reaches no network, with its data inside."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec
from msgspec.structs import replace

from djinn_memory.memories.graph.requests import GraphView
from djinn_memory.system.files import create, creating, write_atomic

MARK = b'<meta name="generator" content="djinn graph view">'
"""What tells a page that djinn wrote from other files."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{mark}
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>djinn graph</title>
<style>{style}</style>
</head>
<body>
<main data-graph="graph-data"></main>
<noscript>The graph needs JavaScript. djinn list and djinn graph stats need none.</noscript>
<script type="application/json" id="graph-data">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""

_WHOLE_WINDOW = "html,body{height:100%;margin:0}main{height:100vh;height:100dvh}"


def graph_page(view: GraphView) -> bytes:
    """The page that shows a view. Its policy allows its own script and style and nothing else."""
    style = _static("graph.css") + _WHOLE_WINDOW
    script = _static("graph.js")
    policy = (
        f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; "
        "base-uri 'none'; form-action 'none'"
    )
    return _PAGE.format(
        mark=MARK.decode(), policy=policy, style=style, data=_data(view), script=script
    ).encode()


def _data(view: GraphView) -> str:
    """The view as JSON, in which no text can end the element. Paths of this machine stay here."""
    shown = replace(view, nodes=tuple(replace(node, file="") for node in view.nodes))
    # A text may hold half a character, as a file name may.
    text = msgspec.json.encode(shown).decode(errors="replace")
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@cache
def _static(name: str) -> str:
    return (files("djinn_memory.web") / "static" / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def write_page(file: Path, page: bytes) -> None:
    """Write a page for the user alone. It replaces a page of djinn, and no other file.

    Raises what `write_new` raises.
    """
    write_new(file, page, replaced=_is_page, private=True)


def write_new(
    file: Path,
    data: bytes,
    *,
    replaced: Callable[[Path], bool] = lambda _: False,
    private: bool = False,
) -> None:
    """Write a file. Of existing ones only those that may be `replaced` are.

    Raises what `creating` raises.
    """
    with creating(file):
        (write_atomic if replaced(file) else create)(file, data, private=private)


def _is_page(file: Path) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as opened:
        return MARK in opened.read(1000)
