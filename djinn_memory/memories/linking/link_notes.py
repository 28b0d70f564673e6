"""Links one note to another, in its front matter or in a line at its end."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from djinn_memory.errors import Refused, UsageError
from djinn_memory.memories.catalog.catalog import find, require_note
from djinn_memory.memories.editing.relinking import Relinking
from djinn_memory.memories.entities.properties import RESERVED
from djinn_memory.memories.linking.new_links import LinksTo
from djinn_memory.memories.linking.requests import LinkNotes, NoteLink
from djinn_memory.memories.writing.change_set import ChangeSet, check_writable, writing
from djinn_memory.models import Memory, Problem, Vault, extended
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.encoding import decode, writable
from djinn_memory.notes.slugs import fold
from djinn_memory.runtime import Runtime
from djinn_memory.search.backend import Index
from djinn_memory.store.index.records import IndexedMemory
from djinn_memory.system.yaml_edit import line_end

_LINE_END = re.compile(r"\r\n?|\n")

RELATED = "related"
"""The field for a link whose relation nobody named."""

_FOR_LINKS = frozenset({"supersedes", "superseded_by", "source", "evidence"})
"""Fields with a meaning that hold links."""

_SEE_ALSO = re.compile(r"(?:\A|\n)(?:- )?See also [^\n]*[\])](?P<end>\.?)\Z")
"""A last line with links, as `remember` and `memory link` write it."""


def link_notes(runtime: Runtime, request: LinkNotes) -> NoteLink:
    """Link a note to another; see `Memories.link`."""
    relation = _checked(request.relation)
    scope = runtime.fresh_scope(request.agent)
    with runtime.index(scope) as index:
        memory, target = find(index, request.name), find(index, request.to)
        require_note(runtime.state, memory, "linked")
        if memory.place == target.place:
            raise UsageError(f"{memory.title!r} is the same note; give another", argument="to")
        vault = next(vault for vault in scope if vault.name == memory.vault)
        check_writable(vault)
        known, fields = _links_there(index, memory, target)
        # The text of a fact is its value, which holds no further link.
        field = relation or (RELATED if fields or memory.type == "fact" else None)
        there = [each for each in known if not relation or fold(each or "") == fold(relation)]
        new = LinksTo(Relinking(index), target)
        source = memory.vault, memory.path
        link = new.compose(source, new.words)
    done = bool(there)
    field = there[0] if done else field
    states: list[bytes] = []

    def change(data: bytes) -> bytes:
        nonlocal field
        after = data if done else _linked(data, vault, field, link)
        if not done:
            try:
                new.check(source, vault, data, after, 1)
            except Refused:
                if field is not None:
                    raise
                # The text may end in code or a comment that nothing closes.
                field = RELATED
                after = _linked(data, vault, field, link)
                new.check(source, vault, data, after, 1)
        states[:] = data, after
        return after

    changes, problems = ChangeSet(), list[Problem]()
    if done or request.dry_run:
        change(disk.read(vault, memory.path))
    else:
        with writing(runtime, vault, "memory link", request.agent) as writer:
            writer.changes.what = f"Linked {memory.title} to {target.title}"
            writer.rewrite(memory.path, change)
        problems = writer.problems
    changes.rewrite(vault, memory.path, *states)
    ends = extended(memory, Memory), extended(target, Memory)
    return NoteLink(*ends, field, not done, changes.diff(), tuple(problems))


def _checked(relation: str | None) -> str | None:
    """The name of a field for a relation. Raises `UsageError` for one that cannot hold links."""
    if relation is None:
        return None
    name = writable(relation).strip()
    if not re.fullmatch(r"[^\W\d_][\w-]*", name) or fold(name) in RESERVED - _FOR_LINKS:
        why = f"{relation!r}: give the name of a field for links, such as depends_on"
        raise UsageError(why, argument="relation")
    return name


def _links_there(
    index: Index, memory: IndexedMemory, target: IndexedMemory
) -> tuple[list[str | None], set[str]]:
    """The fields with a link to the target, None for the text, and all fields with links."""
    links = [link for link in index.links([memory.memory_id]) if link.source == memory.memory_id]
    known = [link.field for link in links if link.target == target.memory_id]
    return known, {link.field for link in links if link.field is not None}


def _linked(data: bytes, vault: Vault, field: str | None, link: str) -> bytes:
    """The bytes of a note with a link."""
    if field is None:
        return _with_line(data, vault, link)
    fields: Mapping[str, Any] = frontmatter.read(decode(data)[0]).fields
    key = next((key for key in fields if fold(key) == fold(field)), field)
    value = fields.get(key)
    old = value if isinstance(value, list) else [value] if value not in (None, "") else []
    return frontmatter.edit(data, (key,), [*old, link] if old else link)


def _with_line(data: bytes, vault: Vault, link: str) -> bytes:
    """The bytes of a note with a link in a line at the end of its text. No other byte changes.

    Definitions of links that a program writes stay below it.
    """
    bom, encoding, text = frontmatter.opened(data)
    newline, rules = line_end(text), RULES[vault.dialect]
    flat = _LINE_END.sub("\n", text)
    tails = (start for start, end in rules.hidden(flat) if not flat[end:].strip())
    end = len(flat[: next(tails, None)].rstrip())
    if match := _SEE_ALSO.search(flat, 0, end):
        end, new = match.start("end"), f", {link}"
    else:
        gap = newline * (1 if rules.outline else 2) if end else ""
        new = f"{gap}{'- ' * rules.outline}See also {link}"
    # Its place in the text with its own line ends.
    ends = [0, *(match.end() for match in _LINE_END.finditer(text))]
    at = ends[flat.count("\n", 0, end)] + end - (flat.rfind("\n", 0, end) + 1)
    return bom + f"{text[:at]}{new}{text[at:]}".encode(encoding)
