"""The tools that write notes: remember, forget, ingest, record."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from msgspec import NODEFAULT, Meta, Struct, field

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, Remedy, UsageError
from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.mcp.answers import Answer, MemoryPlace, headline
from djinn_memory.mcp.tool import Argument, optional_text, required_text, tool
from djinn_memory.memories.editing.requests import LinksLeft
from djinn_memory.memories.episodes.requests import MAX_TEXT, RecordedEpisode
from djinn_memory.memories.library.requests import IngestOptions
from djinn_memory.memories.writing.remember import RememberResult
from djinn_memory.models import extended
from djinn_memory.operations.caller import Caller
from djinn_memory.system.files import expand


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
    "Remember something",
    "remember",
    without=frozenset({"fields"}),
    hints={
        "tags": "Such as project/myapp.",
        "links": "Titles of notes to link to.",
        "expires": "30d, 12h or 2026-12-31.",
        "domain": "Such as work.",
        "due": "2w, tomorrow or 2026-12-31.",
        "status": "active or done.",
        "supersedes": "The note that it replaces.",
        "existing": "What to do if a note has the title. revise keeps the old version.",
        "force": "Write it even if another note says the same.",
    },
    arguments={
        "type": required_text(
            100,
            "decision, lesson, preference, commitment, pattern, plan, observation, person, "
            "project, concept, skill, or your own.",
        ),
        "title": required_text(500, "The title, on one line; links use it."),
        "text": optional_text(200_000, "Markdown; [[Title]] links to a note."),
    },
)
def remember(answer: RememberResult) -> list[str]:
    """Write a memory, which the next search finds.

    Use it at once when something is settled that will matter in another session: a decision and
    why, a lesson, a preference, a commitment, what a person or project is like. One memory for
    one thing, in words that make sense without this conversation. `recall` or `search` first.
    Not for temporary values (`working`), single values with a name (`fact`), nor for handing over
    (`checkpoint`, `sleep`). If a note has the title or says the same, call again with
    `existing` or `force`.
    Example: {"type": "decision", "title": "MyApp: use PostgreSQL", "text": "We need row locks.
    Considered SQLite (rejected: one writer).", "tags": ["project/myapp"]}
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


@tool(
    "Forget, rename or move a note",
    "memories",
    actions=("delete", "rename", "move"),
    without=frozenset({"digest", "dry_run"}),
    hints={"title": "", "to": "Folder or vault."},
    arguments={"action": Argument(Literal["delete", "rename", "move"], "delete")},
)
def forget(answer: _NoteAnswer) -> list[str]:
    """Move a note to the trash, or rename or move it.

    Use it when the user asks, or for your mistakes. Not for outdated content: `remember` with
    existing=revise. {actions}
    Example: {"name": "shared:old.md"}
    """
    if answer.moved_to:
        return [f"Moved to the trash: {headline(answer.memory)}", str(answer.moved_to)]
    lines = [f"Moved {answer.was} to {answer.memory.vault}/{answer.memory.path}"]
    lines += [f"{answer.links} links changed."] if answer.links else []
    return lines + [f"{left.links} links in {left.vault} stay: {left.why}" for left in answer.left]


_Path = Annotated[str, Meta(min_length=1, max_length=4096)]

_Paths = Annotated[
    Sequence[_Path],
    Meta(min_length=1, max_length=100, description="Absolute paths of files or folders."),
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


def _refuse_hidden(djinn: Djinn, caller: Caller, request: IngestOptions) -> None:
    """Refuse files that nobody would give to an agent: hidden folders contain keys and settings."""
    home = djinn.home
    state, hides = Path(os.path.realpath(home.state)), HiddenPaths(home, caller.agent)
    for path in request.paths:
        refused = path.is_relative_to(state) or _has_hidden_part(path)
        # A file in the vault of another agent is answered as a file that does not exist.
        if refused or (path not in hides and _has_hidden_part(Path(os.path.realpath(path)))):
            remedy = Remedy("", {}, "ask a person to copy it to another folder")
            raise Refused(f"{path} is hidden", remedy)


def _has_hidden_part(path: Path) -> bool:
    return any(part.startswith(".") and part != ".." for part in path.parts)


@tool(
    "Ingest files",
    "documents.ingest",
    prepare=_absolute_paths,
    check=_refuse_hidden,
    without=_FOR_A_PERSON,
    hints={
        "recursive": "Include subfolders.",
        "document_type": "",
        "copy": "Even if another vault has it.",
        "vault": "Default: your own.",
    },
    arguments={
        "paths": Argument(_Paths, NODEFAULT),
        "title": optional_text(500, "For a single file."),
    },
)
def ingest(answer: _IngestAnswer) -> list[str]:
    """Turn files (PDF, text, CSV, office) into documents, which `search` finds and cites by page.

    Use it when a person names files to keep. Not for what you learned: use `remember`.
    Example: {"paths": ["/home/maren/report.pdf"], "document_type": "technical"}
    """
    lines = []
    for file in answer.documents:
        place = f" as {file.vault}:{file.path}" if file.path else ""
        why = f": {file.why}" if file.why else ""
        lines.append(f"- {file.file}: {file.status}{place}{why}")
    return lines or ["There are no files."]


_EPISODE_HINTS = {"channel": "", "context": "A JSON object.", "at": "Default: now."}


class _EpisodeAnswer(Answer):
    """An episode that was recorded."""

    id: str
    vault: str
    path: str
    session: str
    importance: float
    masked: int
    """The number of secrets that were masked."""


def _present_episode(episode: RecordedEpisode, _: object) -> _EpisodeAnswer:
    return extended(episode, _EpisodeAnswer, importance=episode.importance.total)


def _episode_lines(answer: _EpisodeAnswer) -> list[str]:
    masked = f", {answer.masked} masked" if answer.masked else ""
    return [f"Recorded [{answer.id}], importance {answer.importance}{masked}"]


@tool(
    "Record an interaction",
    "episodes.record_interaction",
    present=_present_episode,
    without=frozenset({"domain"}),
    hints={"response": "Your answer.", **_EPISODE_HINTS},
    arguments={"message": required_text(MAX_TEXT, "What the user said.")},
)
def record_interaction(answer: _EpisodeAnswer) -> list[str]:
    """Record a message and your answer as an episode in today's journal. Secrets are masked.

    Use it where conversations are kept and no hook records them. Not for what was learned from
    one: use `remember`.
    Example: {"message": "When do we ship?", "response": "On Friday."}
    """
    return _episode_lines(answer)


@tool(
    "Record an observation",
    "episodes.record_observation",
    present=_present_episode,
    without=frozenset({"domain"}),
    hints=_EPISODE_HINTS,
    arguments={"text": required_text(MAX_TEXT, "What happened.")},
)
def record_observation(answer: _EpisodeAnswer) -> list[str]:
    """Record something that you saw happen as an episode in today's journal. Secrets are masked.

    Use it for events that may matter later. Not for conclusions: use `remember`.
    Example: {"text": "The build turned red after the upgrade."}
    """
    return _episode_lines(answer)
