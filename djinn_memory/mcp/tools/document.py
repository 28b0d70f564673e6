"""The tool that turns files into documents."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import NODEFAULT, Meta, Struct

from djinn_memory.djinn import Djinn
from djinn_memory.errors import Refused, Remedy, UsageError
from djinn_memory.home.hidden_paths import HiddenPaths
from djinn_memory.mcp.answers import Answer, project
from djinn_memory.mcp.tool import Argument, optional_text, tool
from djinn_memory.memories.library.requests import IngestOptions, IngestReport
from djinn_memory.operations.caller import Caller
from djinn_memory.system.files import expand

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


class IngestedFile(Struct):
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


class IngestAnswer(Answer):
    """The outcome of each file."""

    files: Sequence[IngestedFile]


def _present(report: IngestReport, _: object) -> IngestAnswer:
    files = [project(outcome, IngestedFile) for outcome in report.documents]
    return IngestAnswer(files, problems=report.problems)


def _prepare(fields: dict[str, Any]) -> None:
    for path in fields["paths"]:
        if not expand(path).is_absolute():
            raise UsageError(f"{path}: give an absolute path", argument="paths")
    fields["paths"] = tuple(map(expand, fields["paths"]))


def _check(djinn: Djinn, caller: Caller, request: IngestOptions) -> None:
    """Refuse files that nobody would give to an agent: hidden folders contain keys and settings."""
    home = djinn.home
    state, hides = Path(os.path.realpath(home.state)), HiddenPaths(home, caller.agent)
    for path in request.paths:
        refused = path.is_relative_to(state) or _has_hidden_part(path)
        # What lies in the vault of another agent is answered as a file that does not exist.
        if refused or (path not in hides and _has_hidden_part(Path(os.path.realpath(path)))):
            remedy = Remedy("", {}, "ask a person to copy it to another folder")
            raise Refused(f"{path} is hidden", remedy)


def _has_hidden_part(path: Path) -> bool:
    return any(part.startswith(".") and part != ".." for part in path.parts)


@tool(
    "Ingest files",
    "documents.ingest",
    present=_present,
    prepare=_prepare,
    check=_check,
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
def ingest(answer: IngestAnswer) -> list[str]:
    """Turn files (PDF, text, CSV, office) into documents, which `search` finds and cites by page.

    Use it when a person names files to keep. Not for what you learned: use `remember`.
    Example: {"paths": ["/home/maren/report.pdf"], "document_type": "technical"}
    """
    lines = []
    for file in answer.files:
        place = f" as {file.vault}:{file.path}" if file.path else ""
        why = f": {file.why}" if file.why else ""
        lines.append(f"- {file.file}: {file.status}{place}{why}")
    return lines or ["There are no files."]
