"""djinn import, and djinn episode record, list, show, mark, stats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, columns, place, print_page, say, say_verbatim, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import NotFound, UsageError
from djinn_memory.memories.episodes import requests
from djinn_memory.memories.episodes.requests import Importance
from djinn_memory.notes.dates import local_minute
from djinn_memory.system.plural import count

if TYPE_CHECKING:
    from djinn_memory.memories.imports.requests import ImportReport


class _NewEpisode(requests.RecordInteraction, frozen=True):
    """An interaction that is recorded from the command line."""

    channel: Annotated[requests.Channel, Meta(description="Where it was said or seen.")] = "cli"


class _EpisodeOptions(Struct, frozen=True):
    """Options of `djinn episode record` in addition to those of an interaction."""

    kind: Annotated[
        requests.EpisodeKind,
        Meta(description="An interaction, or an observation, which has no response."),
    ] = "interaction"
    context: Annotated[
        Path | None,
        Meta(description="A file with a JSON object that is kept with it. `-` reads stdin."),
    ] = None
    explain: Annotated[bool, Meta(description="Show the parts of the importance.")] = False


def _run_record(call: Call) -> Any:
    given = call.values
    if call.view.context is not None:
        given["context"] = _context(call.view.context)
    if call.view.kind == "interaction":
        return call.run()
    if given["response"]:
        raise UsageError("--response: an observation has no response; leave it out")
    return call.run("episodes.record_observation", text=given["message"])


def _context(path: Path) -> dict[str, Any]:
    """The JSON object in a file; `-` means stdin."""
    import sys

    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        value = json.loads(data)
    except FileNotFoundError:
        raise NotFound(f"--context-file {path}: no such file; check the path") from None
    except (ValueError, RecursionError) as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise UsageError(f"--context-file {path}: not valid JSON{where}") from None
    if not isinstance(value, dict):
        raise UsageError(f"--context-file {path}: give a JSON object, such as {{}}")
    return value


@command(
    "episodes.record_interaction",
    _NewEpisode,
    without=["context"],
    fields={
        "message": Field(stdin="text", help="What was said, or seen."),
        "response": Field(help="What the agent answered."),
        "context": Field("FILE", name="--context-file"),
        "at": Field("TIME"),
    },
    view=_EpisodeOptions,
    run=_run_record,
    schemas={"episode.record": "episodes.record_interaction"},
    words="episode record",
    also={"episodes.record_observation": ""},
)
def _record(call: Call, answer: requests.RecordedEpisode) -> None:
    """Record a message and its response, or an observation.

    An episode is a section of the journal of its day, in the vault of the agent. Secrets are
    masked. The importance is computed from the length of the text, the entities that it names, and
    the intents of the message.

    Examples:
        djinn episode record --message "When do we ship?" --response "On Friday."
        djinn episode record --kind observation --message "The build is red." --channel api
        djinn episode record --message - --context-file state.json --explain < said.txt
    """
    say(clean(f"{answer.id}  {place(answer)}  importance {answer.importance.total}"))
    if answer.masked:
        talk(f"{count(answer.masked, 'secret')} masked.")
    if call.view.explain:
        _explain(answer.importance)
        for entity in answer.entities:
            value = f" ({entity.value})" if entity.value else ""
            say(clean(f"  {entity.kind}: {entity.text}{value}"))
        _print_intents(answer)


@command(
    "episodes.list",
    fields={"session": Field("NAME", candidates.sessions, help="Only episodes of this session.")},
)
def _list(call: Call, answer: requests.EpisodePage) -> None:
    """List episodes, newest first.

    Examples:
        djinn episode list
        djinn episode list --since yesterday --channel slack -n 50
        djinn episode list --session s20261120-093000-000000 --json
    """
    rows = [
        (
            local_minute(episode.created or episode.date),
            episode.type or "",
            f"{episode.importance:.2f}" if episode.importance is not None else "-",
            episode.title,
            episode.id or episode.address,
        )
        for episode in answer.episodes
    ]
    columns(rows, head="time kind importance title id", empty="No episodes.")
    print_page(call.request.skip, len(answer.episodes), answer.total, "episode")


@command("episodes.show", fields={"name": Field("EPISODE", candidates.titles)})
def _show(call: Call, answer: requests.EpisodeDetail) -> None:
    """Show an episode: its words, its context and its importance.

    Examples:
        djinn episode show mem_7k2m9q4dxw30hv5t
        djinn episode show "me:journal/2026-11-20.laptop.md#^mem-7k2m9q4dxw30hv5t" --json
    """
    say(clean(f"{local_minute(answer.created or answer.date)}  {answer.type}  {place(answer)}"))
    say(clean(f"session {answer.session or '-'}, channel {answer.channel or '-'}"))
    say()
    say_verbatim(answer.message)
    if answer.response is not None:
        say("---")
        say_verbatim(answer.response)
    say()
    if answer.context is not None:
        say_verbatim(clean(f"context {json.dumps(answer.context, ensure_ascii=False)}"))
    _explain(answer.parts)
    for entity in answer.entities:
        say(clean(f"  {entity}"))
    _print_intents(answer)


@command("episodes.mark", fields={"names": Field("NAME")})
def _mark(call: Call, answer: requests.MarkedEpisodes) -> None:
    """Let the next `djinn pattern find` read episodes at any age.

    Examples:
        djinn episode mark mem_7k2m9q4dxw30hv5t
    """
    say(f"marked {count(len(answer.marked), 'episode')}")


@command("episodes.stats")
def _stats(call: Call, answer: requests.EpisodeStats) -> None:
    """Count episodes by kind, channel, session and day, and those that `djinn pattern find` read.

    Examples:
        djinn episode stats
        djinn episode stats --since 7d --json
    """
    mean = f", mean importance {answer.importance}" if answer.importance is not None else ""
    say(f"{count(answer.total, 'episode')} in {count(answer.sessions, 'session')}{mean}")
    for label, counts in (("kind", answer.kinds), ("channel", answer.channels)):
        for name, number in counts.items():
            say(clean(f"{label}  {name}  {number:,}"))
    for date, number in [*answer.days.items()][:14]:
        say(f"day  {date}  {number:,}")
    read, waiting, ready = answer.consolidated, answer.waiting, answer.ready
    say(f"pattern find  {read:,} read, {waiting:,} waiting, {ready:,} of them old enough")


def _explain(parts: Importance) -> None:
    """Print how an importance adds up, on one line."""
    named = ((name, getattr(parts, name)) for name in parts.__struct_fields__ if name != "total")
    added = " + ".join(f"{name} {part}" for name, part in named if part)
    say(f"importance {parts.total} = {added}")


def _print_intents(episode: requests.RecordedEpisode | requests.EpisodeDetail) -> None:
    if episode.intents:
        say(clean(f"  intents: {', '.join(episode.intents)}"))
    if episode.similar_intents:
        say(clean(f"  intents by similar sentences: {', '.join(episode.similar_intents)}"))


@command(
    "import_history",
    fields={
        "paths": Field("PATH...", help="Files, zip archives and folders."),
        "person": Field("NAME"),
    },
    progress=True,
    failed=lambda report: bool(report.problems),
    words="import",
)
def _import(call: Call, answer: ImportReport) -> None:
    """Record conversations and calendars of other programs as episodes.

    Reads the exports of Claude, ChatGPT and Slack, also as zip archives, chat logs as JSON Lines,
    transcripts of Claude Code and Codex, and calendar files. The format is detected from the
    content. Secrets are masked. Messages that were imported before are skipped, so that an
    interrupted import can be repeated, and a newer export adds only its new messages.

    Examples:
        djinn import conversations.json
        djinn import slack-export.zip --person anna
        djinn import ~/.claude/projects --dry-run
    """
    for file in answer.files:
        new = "would be recorded" if answer.dry_run else "recorded"
        parts = [f"{count(file.episodes, 'episode')} in {count(file.sessions, 'session')}"]
        parts.append(f"{file.recorded:,} {new}")
        if file.known:
            parts.append(f"{file.known:,} known")
        say(clean(f"{file.file}: {file.format}, {', '.join(parts)}"))
        for reason, number in file.left_out.items():
            say(clean(f"  left out: {reason} ({number:,})"))
    for note in answer.calendars:
        events = count(note.events, "event")
        say(clean(f"{place(note)}: lists {events} of the calendar {note.calendar}"))
    if answer.masked:
        talk(f"{count(answer.masked, 'secret')} masked.")
