"""djinn memory search, list, show, delete, restore, purge, stats, values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from djinn_memory.cli import candidates, output
from djinn_memory.cli.command import Call, Confirm, Paged, command
from djinn_memory.cli.hits import print_hits
from djinn_memory.cli.output import clean, dim, place, print_page, say, shortened, sizes, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.notes.dates import local_day
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories import verbs
    from djinn_memory.memories.recall.scores import MemoryScore
    from djinn_memory.memories.removal.purge import PurgeReport
    from djinn_memory.memories.removal.restore import RestoreReport
    from djinn_memory.memories.writing.why import MemoryOrigin
    from djinn_memory.models import SearchResult
    from djinn_memory.store.index.records import CatalogStats

NAME = Field(complete=candidates.titles, words=True)

LONGEST_EVIDENCE = 160
"""Maximum characters of the text of a piece of evidence."""


class _SearchView(Struct, frozen=True):
    """Options for printing hits."""

    explain: Annotated[
        bool,
        Meta(
            description="Show the scores of each search leg and step. `--json` always "
            "includes them."
        ),
    ] = False
    format: Annotated[
        Literal["table", "md", "paths", "csv"], Meta(description="The output format of the hits.")
    ] = "table"


@command(
    "search",
    without=["paths"],
    fields={"query": Field(words=True, stdin="value")},
    view=_SearchView,
    warns=False,
    schemas={"search": "search"},
    words="memory search",
    short="search",
)
def _search(call: Call, answer: SearchResult) -> None:
    """Search by words and by meaning in all vaults that the agent sees.

    No data leaves this machine unless the settings name a model on a server. Notes that changed
    since the last `djinn index` are indexed first.

    Examples:
        djinn search "how do I link to a heading"
        djinn search '"exact words" -draft tag:project/x'
        djinn search pricing --type decision --since 90d --json
        djinn search - < question.txt
    """
    print_hits(answer, call.view.format, explain=call.view.explain)


@command(
    "memories.list", without=["paths"], fields={"limit": Field(short="-n", most=1000)}, short="list"
)
def _list(call: Call, answer: verbs.MemoryPage) -> None:
    """List memories, newest first.

    Examples:
        djinn list --type decision
        djinn list --tag project/x --since 30d
        djinn list --limit 100 --offset 100
    """
    output.columns(
        (
            (local_day(memory.date) or "-", memory.type or "-", memory.title, place(memory))
            for memory in answer.memories
        ),
        head="date type title path",
        empty="" if answer.total else "nothing found",
        files=[memory.file for memory in answer.memories],
    )
    skip, total = call.request.skip, answer.total
    if total and not answer.memories:
        talk(f"No memories after offset {skip}; there are {count(total, 'memory')}.")
    print_page(skip, len(answer.memories), total, "memory")


@command(
    "memories.show", fields={"name": NAME}, view=Paged, short="show", also={"memories.links": ""}
)
def _show(call: Call, answer: verbs.MemoryWithOrigin) -> None:
    """Show a note, its links and its backlinks.

    With `--why`: where it comes from, what happened to it, and how usage and ratings affect its
    rank.

    Examples:
        djinn show "Project: Harbourlight"
        djinn memory show anna/city --why
    """
    if answer.why:
        _print_origin(answer, answer.why)
    else:
        _print_memory(call, answer)


def _run_delete(call: Call) -> Any:
    memory = call.run("memories.find")
    about = f"{memory.title}  ({place(memory)})"
    dry_run = call.declined("Move the note to the trash?", about)
    return call.run(name=memory.address, digest=memory.digest, dry_run=dry_run)


@command(
    "memories.delete", without=["digest"], fields={"name": NAME}, view=Confirm, run=_run_delete
)
def _delete(call: Call, answer: verbs.MemoryDeletion) -> None:
    """Move a note to the `.trash/` of its vault.

    Examples:
        djinn memory delete inbox/old-idea.md --yes
    """
    if call.request.dry_run:
        say(f"would move {place(answer.memory)} to the trash")
    elif answer.moved_to is None:
        talk("Aborted; nothing was moved.")
    else:
        say(f"moved {place(answer.memory)} to {clean(str(answer.moved_to))}")


@command("memories.restore")
def _restore(call: Call, answer: RestoreReport) -> None:
    """Restore a note from the trash, or list the trash.

    A note returns to its original path, with its earlier versions. No existing file is overwritten.

    Examples:
        djinn memory restore
        djinn memory restore inbox/old-idea.md
    """
    if call.request.name is None:
        rows = [(note.title, place(note), note.id or "-") for note in answer.notes]
        output.columns(rows, head="title path id", empty="The trash is empty.")
    verb = "restored" if answer.restored else "would restore"
    for path in answer.files:
        say(clean(f"{verb} {answer.notes[0].vault}/{path}"))


def _run_purge(call: Call) -> Any:
    preview = call.run(dry_run=True)
    about = f"{preview.title}: {', '.join(preview.files)} in {preview.vault}"
    if call.declined("Remove the memory permanently?", about):
        return preview
    return call.run(files=preview.files)


@command("memories.purge", without=["files"], fields={"name": NAME}, view=Confirm, run=_run_purge)
def _purge(call: Call, answer: PurgeReport) -> None:
    """Remove a memory permanently, with its versions and its copies in the trash.

    Its text is removed from the index, its vectors from the cache, and its quotations from the
    ledger (the log of uses and ratings). Copies elsewhere, such as in git or in a backup, are not
    touched.

    Examples:
        djinn memory purge inbox/old-idea.md
        djinn memory purge mem_7k2m9q4dxw30hv5t --dry-run
    """
    if not (answer.purged or call.request.dry_run):
        talk("Aborted; nothing was removed.")
        return
    for path in answer.files:
        verb = "purged" if answer.purged else "would purge"
        say(f"{verb} {clean(f'{answer.vault}/{path}')}")
    if answer.purged:
        removed = {"vector": answer.vectors, "event": answer.events, "value": answer.values}
        say(f"  with {', '.join(count(number, noun) for noun, number in removed.items())}")


@command(
    "memories.stats",
    without=["types", "tags", "planes", "domains", "paths", "since", "until", "where"],
)
def _stats(call: Call, answer: CatalogStats) -> None:
    """Count notes and memories by type, plane, tag and vault.

    Examples:
        djinn memory stats --vault notes --json
    """
    links = f"{count(answer.links, 'link')} ({answer.unresolved:,} unresolved)"
    say(f"{sizes(answer)}, {links}")
    groups = {
        "vaults": answer.vaults,
        "types": answer.types,
        "planes": answer.planes,
        "tags": dict(list(answer.tags.items())[:20]),
    }
    for name, number in answer.documents.items():
        say(clean(f"documents {name} {number.documents:,}, {count(number.chunks, 'chunk')}"))
    for label, counts in groups.items():
        if counts:
            listed = ", ".join(f"{name} {number:,}" for name, number in counts.items())
            say(f"{label:7} {clean(listed)}")


@command("memories.values", fields={"field": Field("FIELD")})
def _values(call: Call, answer: verbs.FieldValues) -> None:
    """List the values of a field, such as all tags.

    The values are those of the index, which `djinn index` updates.

    Examples:
        djinn memory values tag
        djinn memory values entity --agent finn --json
    """
    for value in answer.values:
        say(clean(value))
    if not answer.values:
        talk(f"No note has a {call.request.field}.")


def _print_memory(call: Call, detail: verbs.MemoryWithOrigin) -> None:
    """Print the text of a note, and its links in both directions."""
    from djinn_memory.cli.markdown import say_markdown
    from djinn_memory.notes.frontmatter import block_end

    talk(dim(output.link(place(detail), detail.file, sys.stderr)))
    text = detail.text.rstrip("\n")
    body = block_end(text)
    if body:
        say(dim(output.clean_lines(text[:body].removesuffix("\n"))))
    if text[body:] or not body:
        say_markdown(call, text[body:], detail)
    for label, links in (("links to", detail.links), ("linked from", detail.backlinks)):
        # Plain links first, then those of each field.
        for field in sorted({link.field or "" for link in links}):
            same = [link for link in links if (link.field or "") == field]
            say()
            say(dim(clean(f"{label}{f' ({field})' if field else ''}:")))
            for line in dict.fromkeys(_link(link, label == "links to") for link in same):
                say(f"  {line}")


def _link(link: verbs.LinkEnd, forward: bool) -> str:
    if not forward:
        where = place(link) if link.path else ""
        return clean(f"{link.title}  ({where}{f':{link.line}' if link.line else ''})")
    if link.path:
        name = f"{link.target} -> " if link.target != link.title else ""
        return clean(f"{name}{link.title}  ({place(link)}){'  ambiguous' * link.ambiguous}")
    return clean(f"{link.target}  ({'attachment' if link.how else 'unresolved'})")


def _print_origin(memory: verbs.MemoryWithOrigin, why: MemoryOrigin) -> None:
    """Print the origin of a memory."""
    say(f"{clean(memory.title)}  {dim(clean(memory.address))}")
    fields = {
        "rule": why.rule,
        "author": " via ".join(filter(None, (why.author, why.client))),
        "session": why.session,
        "source": ", ".join(filter(None, (why.source, *why.source_context))),
    }
    for name, value in fields.items():
        if value:
            say(f"{name + ':':<9}{clean(value)}")
    say("evidence:" if why.evidence else "evidence: none is recorded")
    for source in why.evidence:
        if source.exists:
            day, title = local_day(source.date or ""), clean(source.title or "")
            say(f"  {day}  {title}  {dim(clean(source.link))}")
            say(f"    {shortened(source.text or '', LONGEST_EVIDENCE)}")
        else:
            say(f"  {clean(source.link)}  not found")
    say("history:")
    for event in why.history:
        say(f"  {local_day(event.at)}  {clean(event.what)}")
    if memory.score:
        _print_score(memory.score)


def _print_score(memory: MemoryScore) -> None:
    record, score = memory.record, memory.score
    say("ranking:")
    stated = {"importance": memory.importance, "confidence": memory.confidence}
    any_stated = any(value is not None for value in stated.values())
    numbers = {
        "score": f"{score.adaptive:.4f} = 0.5 + 0.5 x {score.signal:.4f}, from the floor to 1",
        "factor": f"{score.multiplier:.4f} (recall multiplies the search score by it)",
        "usefulness": f"{score.usefulness:.4f} ({score.usefulness_raw:.4f} from ratings; "
        f"bad ratings still count {score.rehabilitation:.0%})",
        "recency": f"{score.recency:.4f}",
        "frequency": f"{score.frequency:.4f}",
        "rated": f"{count(record.valuations, 'time')}, useful {record.useful}"
        + _last_time(record.last_valued),
        "used": count(record.uses, "time") + _last_time(record.last_used),
        **{key: "not set" if value is None else f"{value}" for key, value in stated.items()},
        **({"weight": f"{memory.own:.4f} (from importance and confidence)"} if any_stated else {}),
        "agents": ", ".join(memory.agents),
    }
    for label, text in numbers.items():
        say(f"  {label:<11} {clean(text)}")


def _last_time(time: str | None) -> str:
    return f", last {time[:19]}Z" if time else ""
