"""djinn graph neighbours, path, communities, stats, view, export."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, columns, place, say, say_long, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.models import Problem
from djinn_memory.system import programs
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.graph import requests

_NOTE = Field("NOTE", candidates.titles)


@command("graph.neighbours", fields={"name": _NOTE, "relation": Field("TYPE")})
def _neighbours(call: Call, answer: requests.NeighbourList) -> None:
    """Show the notes around a note: what it links to, and what links to it.

    Examples:
        djinn graph neighbours "Harbour lamp"
        djinn graph neighbours "Harbour lamp" --hops 2 --relation depends_on
    """
    columns(
        [
            (memory.distance, _arrow(edge), edge.type, memory.title, place(memory))
            for memory in answer.neighbours
            for edge in memory.edges
        ],
        head="hops way relation note path",
        empty=f"{clean(answer.memory.title)} has no links{_of_type(call.request.relation)}.",
    )
    if more := answer.total - len(answer.neighbours):
        talk(f"{count(more, 'more note')}; -n shows more")


def _arrow(edge: requests.GraphEdge) -> str:
    return "->" if edge.direction == "out" else "<-"


def _of_type(relation: str | None) -> str:
    return f" of the type {clean(relation)}" if relation else ""


@command("graph.path", fields={"name": _NOTE, "to": Field("OTHER", candidates.titles)})
def _path(call: Call, answer: requests.GraphPath) -> None:
    """Show a shortest path of links between two notes.

    Examples:
        djinn graph path "Harbour lamp" "Maren Holt"
    """
    if not answer.memories:
        names = f"{clean(call.request.name)} and {clean(call.request.to)}"
        talk(f"No path of links between {names}.")
        return
    ways = [("", ""), *((_arrow(edge), edge.type) for edge in answer.edges)]
    columns(
        [
            (*way, memory.title, place(memory))
            for way, memory in zip(ways, answer.memories, strict=True)
        ],
        head="way relation note path",
    )


@command("graph.communities")
def _communities(call: Call, answer: requests.CommunityList) -> None:
    """List communities: notes that link to each other more than to others.

    A community has at least three notes. It is described by its most central notes and sentences.

    Examples:
        djinn graph communities
        djinn graph communities -n 5 --json
    """
    from djinn_memory.cli.hits import print_community

    for community in answer.communities:
        print_community(community)
    if not answer.communities:
        talk("No communities: no three notes link to each other.")
    elif more := answer.total - len(answer.communities):
        more_text = "more community" if more == 1 else "more communities"
        talk(f"{more:,} {more_text}; -n shows more")
    if answer.outside:
        talk(f"{count(answer.outside, 'note')} in no community")


@command("graph.stats")
def _stats(call: Call, answer: requests.GraphCounts) -> None:
    """Count the graph of links: hubs, orphans, islands, and how dense each vault is.

    Examples:
        djinn graph stats
        djinn graph stats -n 50 --json
    """
    say(f"{count(answer.memories, 'note')}, {count(answer.links, 'link')}")
    for vault in answer.vaults:
        links = f"{count(vault.links, 'link')} inside, {vault.outside:,} to others"
        sizes = f"{count(vault.memories, 'note')}, {links}, {count(vault.orphans, 'orphan')}"
        say(f"  {clean(vault.vault)}: {sizes}, density {vault.density:.4f}")
    if answer.hubs:
        say("hubs:")
        columns(
            [
                (
                    f"  {hub.incoming + hub.outgoing:,}",
                    f"{hub.incoming:,} in",
                    hub.title,
                    place(hub),
                )
                for hub in answer.hubs
            ]
        )
    say(f"{count(answer.islands, 'island')}")
    columns([(f"  {island.size:,}", f"around {island.hub.title}") for island in answer.island_list])
    say(f"{count(answer.orphans, 'orphan')}")
    columns([(f"  {memory.title}", place(memory)) for memory in answer.orphan_list])


class _ViewOptions(Struct, frozen=True):
    """Options for the page of a view."""

    out: Annotated[
        Path | None, Meta(description="The file of the page. Default: a file in the state folder.")
    ] = None


class _GraphPage(Struct, frozen=True):
    """A page that shows the graph."""

    file: Path
    """The absolute path of the page."""
    note: str | None
    """The note that was named, as `vault:path`; null for the whole graph."""
    notes: int
    """The number of notes in the page."""
    links: int
    """The number of links between them."""
    left_out: int
    """The number of notes that are not in the page, because it would be too large."""
    opened: bool
    """Whether a browser was started."""
    problems: tuple[Problem, ...] = ()
    """Notes whose text cannot be read."""


def _run_view(call: Call) -> _GraphPage:
    from djinn_memory.web.graph_page import graph_page, write_page

    view = call.run(texts=True)
    out: Path | None = call.view.out
    file = out.expanduser().absolute() if out else call.djinn.home.graph_page_path
    write_page(file, graph_page(view))
    return _GraphPage(
        file=file,
        note=view.note,
        notes=len(view.nodes),
        links=len(view.edges),
        left_out=view.total - len(view.nodes),
        opened=not call.json and _opened(file),
        problems=view.problems,
    )


def _opened(file: Path) -> bool:
    """Whether a browser was started. None is without a terminal and a display."""
    opener = programs.opener()
    if opener is None or not sys.stdout.isatty() or not programs.has_display():
        return False
    with suppress(OSError):
        return programs.start(opener(str(file))) == 0
    return False


@command(
    "graph.view",
    without=["texts"],
    fields={"name": _NOTE},
    view=_ViewOptions,
    run=_run_view,
    schemas={"graph.view": _GraphPage},
)
def _view(call: Call, answer: _GraphPage) -> None:
    """Look at the graph in a browser, as a page that needs no network.

    The page has the texts of the notes. A file is overwritten only if this command wrote it.

    Examples:
        djinn graph view
        djinn graph view "Harbour lamp" --hops 2
        djinn graph view --vault shared --out graph.html
    """
    sizes = f"{count(answer.notes, 'note')}, {count(answer.links, 'link')}"
    say(f"{sizes} -> {output.link(clean(str(answer.file)), str(answer.file))}")
    if answer.left_out:
        talk(f"{count(answer.left_out, 'note')} with fewer links left out; narrow it with --vault")
    if answer.note and not answer.notes:
        talk(f"{clean(answer.note)} does not match the filters; leave them out to see it.")
    if not answer.opened:
        talk("Open the page in a browser.")


class _OutFile(Struct, frozen=True):
    """The option for the file of an export."""

    out: Annotated[Path | None, Meta(description="A new file. Default: stdout.")] = None


@command("graph.export", view=_OutFile)
def _export(call: Call, answer: requests.GraphExport) -> None:
    """Export notes and the links between them for Gephi, Graphviz, Mermaid, Obsidian and others.

    `canvas` is a JSON Canvas, for a file in the vault. An existing file is not overwritten.

    Examples:
        djinn graph export --format graphml --out links.graphml
        djinn graph export --format mermaid --tag harbour
        djinn graph export --format canvas --vault shared --out harbour.canvas
    """
    if call.view.out is None:
        say_long(answer.text)
        return
    from djinn_memory.web.graph_page import write_new

    write_new(call.view.out.expanduser().absolute(), answer.text.encode())
    sizes = f"{count(answer.memories, 'note')}, {count(answer.links, 'link')}"
    say(f"{sizes} -> {clean(str(call.view.out))}")
