"""The tools that write notes: remember, memory, ingest, episode."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import NODEFAULT, Meta, Struct, convert, field

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, Remedy, UsageError
from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.mcp.answers import Answer, MemoryPlace, headline
from djinn_memory.mcp.tool import Argument, optional_text, required_text, tool
from djinn_memory.memories.changes.requests import UndoReport
from djinn_memory.memories.editing.requests import LinksLeft, MemoryEdit
from djinn_memory.memories.episodes.requests import MAX_TEXT, RecordedEpisode
from djinn_memory.memories.library.requests import IngestOptions
from djinn_memory.memories.removal.restore import RestoreReport
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.models import extended
from djinn_memory.notes.dates import local_day
from djinn_memory.operations.caller import Caller
from djinn_memory.system.files import expand
from djinn_memory.system.plural import count


def saved_lines(result: RememberResult) -> list[str]:
    """Lines that describe the written memory and its location."""
    lines = [f"{result.action.capitalize()} {result.type} {result.title!r} [{result.id}]"]
    lines.append(f"{result.vault}/{result.path}")
    if result.previous:
        lines.append(f"The previous version is {result.vault}/{result.previous}.")
    if result.searchable != "words and meaning":
        lines.append(f"Searchable by {result.searchable} so far.")
    return lines


@tool(
    "remember",
    without=frozenset({"fields"}),
    hints={
        "tags": "Such as project/myapp.",
        "links": "Titles of notes.",
        "expires": "30d or 2026-12-31.",
        "due": "2w or 2026-12-31.",
        "status": "active or done.",
        "existing": "If a note has the title.",
        "force": "Even if another note says the same.",
    },
    arguments={
        "type": required_text(
            100,
            "decision, lesson, preference, commitment, plan, person, project, concept, skill, or "
            "your own.",
        ),
        "title": required_text(500, "One line; links use it."),
        "text": optional_text(200_000, "Markdown; [[Title]] links."),
    },
)
def remember(answer: RememberResult) -> list[str]:
    """Write a memory, which the next search finds.

    Use it at once when something is settled that will matter in another session: a decision and
    why, a lesson, a preference, a commitment. One thing each, in words that make sense without this
    conversation; `recall` first. Not for temporary values (`working`), named values (`fact`) or
    handing over (`sleep`). If a note has the title or says the same, call again with `existing` or
    `force`.
    Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks."}
    """
    return saved_lines(answer)


class _NoteAnswer(Answer):
    """A note that was changed, and what became of links to it."""

    memory: MemoryPlace
    moved_to: Path | None = None
    """The path of the file in the trash."""
    was: str | None = None
    """Its place before a rename or a move."""
    links: int = 0
    """The number of links that were changed."""
    left: Sequence[LinksLeft] = ()
    """Links that stay, and why."""


def _present_change(result: Any, arguments: Any) -> Any:
    if arguments.action in ("delete", "rename", "move"):
        return convert(result, _NoteAnswer, from_attributes=True)
    return result


@tool(
    "memories",
    actions=("delete", "restore", "rename", "move", "edit"),
    others={"undo": "changes.undo", "changes": "changes.list"},
    present=_present_change,
    without=frozenset({"digest", "dry_run", "json_value", "status"}),
    hints={
        "to": "Folder, vault or vault:folder.",
        "fields": "KEY=VALUE.",
        "change": "Default: your last one.",
    },
)
def memory(answer: Any) -> list[str]:
    """Delete, restore, rename or move a note (links follow), edit its front matter, or undo.

    Use it when the user asks, or after a mistake. delete moves to the trash; restore without a name
    lists the trash; undo takes back what `changes` lists of yours. Not for outdated content:
    `remember` with existing=revise.
    {required}
    Example: {"action": "rename", "name": "shared:old.md", "title": "A better idea"}
    """
    match answer:
        case _NoteAnswer():
            return _note_lines(answer)
        case RestoreReport():
            state = "Restored" if answer.restored else "In the trash"
            notes = [f"{state}: {note.title} [{note.vault}:{note.path}]" for note in answer.notes]
            return notes or ["The trash is empty."]
        case UndoReport():
            files = [f"- {file.action} {file.vault}/{file.path}" for file in answer.files]
            return [f"Taken back: {answer.change.what}", *files]
        case MemoryEdit():
            return [
                f"Edited {answer.vault}/{answer.path}" if answer.changed else "Nothing to change."
            ]
    lines = [
        f"- {entry.id}, {local_day(entry.at)}, {entry.command}: {entry.what} ({entry.status})"
        for entry in answer.changes
    ]
    return lines or ["No changes."]


def _note_lines(answer: _NoteAnswer) -> list[str]:
    if answer.moved_to:
        return [f"Moved to the trash: {headline(answer.memory)}", str(answer.moved_to)]
    lines = [f"Moved {answer.was} to {answer.memory.vault}/{answer.memory.path}"]
    lines += [f"Changed {count(answer.links, 'link')}."] if answer.links else []
    left = (f"{count(each.links, 'link')} in {each.vault}: {each.why}" for each in answer.left)
    return lines + [f"Left as they are: {part}" for part in left]


_Path = Annotated[str, Meta(min_length=1, max_length=4096)]

_Paths = Annotated[
    Sequence[_Path], Meta(min_length=1, max_length=100, description="Absolute; files or folders.")
]

_FOR_A_PERSON = frozenset(
    {
        "strategy",
        "chunk_size",
        "chunk_overlap",
        "model_context",
        "domain",
        "password",
        "ocr",
        "retry",
    }
)


class _IngestedFile(Struct):
    """The outcome of one file."""

    file: str
    status: str
    """ingested, skipped or failed."""
    why: str | None
    """The reason why it was skipped or failed."""
    document_id: str | None
    title: str | None
    vault: str | None
    path: str | None
    """The path of its note, relative to the folder of the vault."""
    total_pages: int | None


class _IngestAnswer(Answer):
    """The outcome of each file."""

    documents: Sequence[_IngestedFile] = field(name="files")


def _absolute_paths(fields: dict[str, Any]) -> None:
    for path in fields["paths"]:
        if not expand(path).is_absolute():
            raise UsageError(f"{path}: give an absolute path", argument="paths")
    fields["paths"] = tuple(map(expand, fields["paths"]))


def _refuse_hidden(djinn: Djinn, caller: Caller, request: IngestOptions) -> IngestOptions:
    """Refuse files that nobody would give to an agent: hidden folders contain keys and settings."""
    home = djinn.home
    state, hides = Path(os.path.realpath(home.state)), HiddenPaths(home, caller.agent)
    for path in request.paths:
        refused = path.is_relative_to(state) or _has_hidden_part(path)
        # A file in the vault of another agent is answered as a file that does not exist.
        if refused or (path not in hides and _has_hidden_part(Path(os.path.realpath(path)))):
            remedy = Remedy("", {}, "ask a person to copy it to another folder")
            raise Refused(f"{path} is hidden", remedy)
    return request


def _has_hidden_part(path: Path) -> bool:
    return any(part.startswith(".") and part != ".." for part in path.parts)


@tool(
    "documents.ingest",
    prepare=_absolute_paths,
    check=_refuse_hidden,
    without=_FOR_A_PERSON,
    hints={"recursive": "Include subfolders.", "copy": "Even if another vault has it."},
    arguments={
        "paths": Argument(_Paths, NODEFAULT),
        "title": optional_text(500, "For a single file."),
    },
)
def ingest(answer: _IngestAnswer) -> list[str]:
    """Turn files (PDF, text, CSV, office) into documents, which `search` finds and cites by page.

    Use it when a person names files to keep. Not for what you learned: use `remember`.
    """
    lines = []
    for file in answer.documents:
        place = f" as {file.vault}:{file.path}" if file.path else ""
        why = f": {file.why}" if file.why else ""
        lines.append(f"- {file.file}: {file.status}{place}{why}")
    return lines or ["There are no files."]


class _EpisodeAnswer(Answer):
    """An episode that was recorded."""

    id: str
    vault: str
    path: str
    session: str
    importance: float
    masked: int
    """The number of secrets that were masked."""


def _present_episode(result: Any, _: object) -> Any:
    if isinstance(result, RecordedEpisode):
        return extended(result, _EpisodeAnswer, importance=result.importance.total)
    return result


@tool(
    "episodes",
    actions=("record_interaction", "record_observation"),
    others={"record_outcome": "outcomes.record", "list_outcomes": "outcomes.list"},
    present=_present_episode,
    without=frozenset({"domain"}),
    names={"action": "what"},
    hints={"response": "Your answer.", "context": "A JSON object; of an outcome, where."},
    arguments={
        "message": optional_text(MAX_TEXT, "What the user said.", least=1),
        "text": optional_text(MAX_TEXT, "What happened.", least=1),
        "what": optional_text(200, "What was done, in a few words.", least=1),
        "context": Argument(dict[str, Any] | str | None),
    },
)
def episode(answer: Any) -> list[str]:
    """Record what happened in today's journal. Secrets are masked.

    Use it where no hook records messages and answers, for observations, and for how an action
    ended; list_outcomes says how often actions succeeded. Not for conclusions: use `remember`.
    {required}
    Example: {"action": "record_outcome", "what": "restart the router", "result": "success"}
    """
    if isinstance(answer, _EpisodeAnswer):
        masked = f", {answer.masked} masked" if answer.masked else ""
        return [f"Recorded [{answer.id}], importance {answer.importance}{masked}"]
    lines = [
        f"- {row.action}{f' ({row.context})' if row.context else ''}: {row.effectiveness:.0%} of "
        f"{row.successes + row.partial + row.failures}, last on {row.last}"
        for row in answer.actions
    ]
    return lines or ["No outcomes were recorded."]
