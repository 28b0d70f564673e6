"""The page of the graph at 5,000 notes and 10,000 links, drawn in software, beside 3d-force-graph.

Needs node, npm, playwright and Chromium; npm installs 3d-force-graph into a temporary folder.
Both graphs turn, in the same browser, one after the other, as fast as frames come.

Run: `python benchmarks/graph_view.py`
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from common import ROOT, machine, table

from djinn_memory.graph.layout import layout
from djinn_memory.memories.graph.requests import GraphEdge, GraphNode, GraphView
from djinn_memory.web.graph_page import graph_page
from tests.graph.networks import network_from

NOTES, LINKS, GROUPS = 5000, 10_000, 60
SECONDS = 15
OTHER = "3d-force-graph@1.80.0"
ARGUMENTS = ["--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
             "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"]  # fmt: skip

TURNED = """([seconds]) => new Promise((done) => {
  const start = performance.now();
  let frames = 0;
  const step = (now) => {
    if (now - start > seconds * 1000) return done(frames / seconds);
    frames += 1;
    window.turnGraph(frames);
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})"""
"""Frames a second while the graph turns."""

OURS = """() => {
  const view = document.querySelector("[data-graph]").djinn;
  window.turnGraph = () => view.turn(3, 0);
}"""

THEIRS = """() => {
  const far = 2400;
  window.turnGraph = (frame) => window.graph.cameraPosition(
    { x: far * Math.sin(frame / 60), z: far * Math.cos(frame / 60) });
}"""


def pairs() -> Iterator[tuple[int, int]]:
    """Links, most of them within groups."""
    chance = random.Random(17)
    for _ in range(LINKS):
        source = chance.randrange(NOTES)
        near = source % GROUPS + GROUPS * int(NOTES // GROUPS * chance.random() ** 3)
        yield source, near if chance.random() < 0.85 else chance.randrange(NOTES)


def views(links: list[tuple[int, int]]) -> tuple[GraphView, float]:
    """The view of the graph, and the seconds that its places took."""
    network = network_from(range(NOTES), links)
    start = time.perf_counter()
    deep = layout(network, 3)
    flat = layout(network, 2, start=deep)
    seconds = time.perf_counter() - start
    nodes = [
        GraphNode(
            id=None, vault="v", path=f"{number}.md", type=f"type {number % 9}", plane=None,
            title=f"Note {number}", tags=(), created=None, updated=None, agent=None,
            date=f"2026-01-{number % 28 + 1:02}", degree=int(network.degrees[number]),
            community=number % GROUPS + 1, text="A text.",
            spot=tuple(deep[number].tolist()), flat=tuple(flat[number].tolist()),
        )
        for number in range(NOTES)
    ]  # fmt: skip
    edges = [
        GraphEdge(source=f"v:{a}.md", target=f"v:{b}.md", type="references", text="")
        for a, b in links
    ]
    return GraphView(None, tuple(nodes), tuple(edges), NOTES, len(edges)), seconds


def other_page(folder: Path, view: GraphView) -> Path:
    """A page of 3d-force-graph with the same nodes at the same places."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed")
    subprocess.run(
        [npm, "install", "--silent", "--no-audit", "--no-fund", OTHER], cwd=folder, check=True
    )
    nodes = [
        {"id": node.path, "name": node.title, "group": node.type,
         **{axis: 700 * at for axis, at in zip(("fx", "fy", "fz"), node.spot, strict=True)}}
        for node in view.nodes
    ]  # fmt: skip
    links = [{"source": edge.source[2:], "target": edge.target[2:]} for edge in view.edges]
    page = folder / "other.html"
    page.write_text(
        "<!doctype html><style>body{margin:0}</style><div id=graph></div>"
        "<script src='node_modules/3d-force-graph/dist/3d-force-graph.min.js'></script>"
        f"<script>window.graph = new ForceGraph3D(document.getElementById('graph'))"
        f".cooldownTicks(0).nodeAutoColorBy('group')"
        f".graphData({json.dumps({'nodes': nodes, 'links': links})});</script>",
        encoding="utf-8",
    )
    return page


def measured(browser: Any, page: Path, prepare: str, calls: str) -> tuple[float, int]:
    """Frames a second, and the draw calls of a frame."""
    opened = browser.new_page(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened.set_default_timeout(600_000)
    opened.goto(page.as_uri())
    opened.wait_for_timeout(8000)
    opened.evaluate(prepare)
    frames = opened.evaluate(TURNED, [SECONDS])
    drawn = int(opened.evaluate(calls))
    opened.close()
    return frames, drawn


def main() -> None:
    """Print the section."""
    from playwright.sync_api import sync_playwright

    view, seconds = views([*pairs()])
    print("## The page of the graph\n\nCommand: `python benchmarks/graph_view.py`\n")
    print(
        f"{machine()}\n\n{NOTES:,} notes and {LINKS:,} links in Chromium without a graphics card."
    )
    print(f"djinn computes the places in 3D and 2D in {seconds:.1f} s, once for each graph.\n")
    with tempfile.TemporaryDirectory() as made, sync_playwright() as playwright:
        folder = Path(made)
        ours = folder / "graph.html"
        ours.write_bytes(graph_page(view))
        theirs = other_page(folder, view)
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        own = measured(
            browser, ours, OURS, "document.querySelector('[data-graph]').djinn.stats().calls"
        )
        other = measured(browser, theirs, THEIRS, "window.graph.renderer().info.render.calls")
        browser.close()
    script = (ROOT / "djinn_memory" / "web" / "static" / "graph.js").stat().st_size
    table(
        ("", "djinn", "3d-force-graph"),
        [
            ("frames a second", f"{own[0]:.1f}", f"{other[0]:.2f}"),
            ("draw calls a frame", own[1], f"{other[1]:,}"),
        ],
    )
    print(f"\ndjinn draws {own[0] / other[0]:.1f} times as many frames.")
    print(f"Its script has {script:,} bytes.")


if __name__ == "__main__":
    main()
