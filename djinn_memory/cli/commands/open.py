"""djinn memory open."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import UNSET, Meta, Struct

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, command
from djinn_memory.cli.output import clean, say, talk
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import NotFound, Remedy, Unavailable
from djinn_memory.memories.catalog.requests import ShowMemory
from djinn_memory.system import programs

if TYPE_CHECKING:
    from djinn_memory.memories.verbs import MemoryWithOrigin

Program = Literal["editor", "obsidian", "system"]


class _OpenView(Struct, frozen=True):
    """Options for opening a note."""

    program: Annotated[
        Program | None,
        Meta(
            description="Open it in $VISUAL or $EDITOR, in Obsidian, or in the system's default "
            "program. Default: the first that is available."
        ),
    ] = None
    print: Annotated[bool, Meta(description="Print the path only; open nothing.")] = False


class _OpenedMemory(Struct, frozen=True):
    """A note that was opened."""

    file: Path
    """The absolute path of the note."""
    line: int
    """The line at which the note was opened, from 1."""
    program: Program | None
    """The program that opened the note; null when only the path was requested."""


def _run_open(call: Call) -> _OpenedMemory:
    detail, line = _target(call)
    [vault] = call.djinn.home.named((detail.vault,))
    file = vault.root.resolve() / detail.path
    if call.view.print:
        return _OpenedMemory(file, line, None)
    program: Program = call.view.program or _usual(file)
    _start(_arguments(program, file, line), file)
    return _OpenedMemory(file, line, program)


def start_editor(file: Path) -> None:
    """Open a note in the user's editor, and wait until that ends.

    Raises `Unavailable` without an editor, or if it fails.
    """
    _start(_arguments("editor", file, 1), file)


def _start(arguments: list[str], file: Path) -> None:
    try:
        status = programs.start(arguments)
    except OSError as error:
        why = f"{arguments[0]} could not be started: {error.strerror or error}"
        raise Unavailable(why, _by_hand(file)) from None
    if status:
        raise Unavailable(f"{arguments[0]} exited with status {status}", _by_hand(file))


def _by_hand(file: Path) -> Remedy:
    return Remedy(purpose=f"open {file} yourself")


def _usual(file: Path) -> Program:
    """The program to use if the user named none."""
    if programs.editor():
        return "editor"
    obsidian = any((folder / ".obsidian").is_dir() for folder in file.parents)
    return "obsidian" if obsidian and programs.has_display() else "system"


def _arguments(program: Program, file: Path, line: int) -> list[str]:
    if program == "editor":
        editor = programs.editor()
        if editor is None:
            raise Unavailable("no editor is set", Remedy(purpose="set EDITOR"), _by_hand(file))
        return programs.editor_command(editor, file, line)
    opener = programs.opener()
    if opener is None or not programs.has_display():
        raise Unavailable(
            "no display is available to open the note", Remedy(purpose="set EDITOR"), _by_hand(file)
        )
    return opener(programs.obsidian_address(file) if program == "obsidian" else str(file))


def _target(call: Call) -> tuple[MemoryWithOrigin, int]:
    """The memory and the line that a location, a heading or a section means."""
    name, agent = call.request.name, call.request.agent
    memories = call.djinn.memories
    try:
        detail = memories.show(name, agent=agent)
    except NotFound:
        note, mark, heading = name.partition("#")
        if not mark or not note or heading.startswith("^"):
            raise
        detail = memories.show(note, agent=agent)
        return detail, _heading_line(detail, heading)
    place = re.search(r":(\d+)(?:-\d+)?$", name)
    if place:
        return detail, int(place[1])
    return detail, _section_line(call, detail)


def _heading_line(detail: MemoryWithOrigin, heading: str) -> int:
    from djinn_memory.notes.markdown import headings, inline, mask
    from djinn_memory.notes.slugs import fold
    from djinn_memory.search.suggest import alike

    wanted = heading.rpartition("#")[2].strip()
    lines: dict[str, int] = {}
    for entry in headings(mask(detail.text)):
        title = inline(detail.text[slice(*entry.title)])
        lines.setdefault(fold(title), detail.text.count("\n", 0, entry.opens) + 1)
    if fold(wanted) in lines:
        return lines[fold(wanted)]
    near = alike(wanted, lines) or [title for title in lines if fold(wanted) in title]
    meant = [Remedy(purpose=f"did you mean {near[0]!r}?")] if near else []
    raise NotFound(f"no heading {wanted!r} in {detail.vault}/{detail.path}", *meant)


def _section_line(call: Call, detail: MemoryWithOrigin) -> int:
    """The line of a section of a journal; 1 for a whole note."""
    if detail.block is UNSET:
        return 1
    [vault] = call.djinn.home.named((detail.vault,))
    text = (vault.root / detail.path).read_text(encoding="utf-8", errors="replace")
    at = text.find(detail.text.strip("\n"))
    return text.count("\n", 0, at) + 1 if at > 0 else 1


@command(
    "memories.open",
    ShowMemory,
    arguments=["name"],
    fields={
        "name": Field(
            complete=candidates.titles,
            words=True,
            help="The memory: an id, a path or a title, optionally followed by #Heading or :LINE.",
        ),
        "program": Field(name="--with"),
    },
    view=_OpenView,
    run=_run_open,
    schemas={"memory.open": _OpenedMemory},
    warns=True,
    short="open",
)
def _open(call: Call, answer: _OpenedMemory) -> None:
    """Open a note in your editor, in Obsidian or in the system's program.

    It opens at the line of a heading, or at the line of a hit as `djinn search` prints it. An
    editor is taken from $VISUAL or $EDITOR.

    Examples:
        djinn open "Chart datum"
        djinn open "Harbourlight: Architecture#The almanac" --with editor
        djinn open shared/concepts/chart-datum.md:11
        cat "$(djinn open "Chart datum" --print)"
    """
    if answer.program is None:
        say(clean(str(answer.file)))
    else:
        talk(f"opened {clean(str(answer.file))}")
