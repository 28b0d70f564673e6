"""Writes new links to a note, each in the dialect of the vault that gets it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from msgspec import UNSET

from djinn_memory.errors import Refused
from djinn_memory.memories.editing.relinking import Place, Relinking
from djinn_memory.models import Vault
from djinn_memory.notes.dialects.rules import RULES
from djinn_memory.notes.link_resolution import new_link
from djinn_memory.notes.links import Kind
from djinn_memory.notes.note import parse
from djinn_memory.notes.slugs import fold
from djinn_memory.store.index.records import IndexedMemory

_BRACKETS = re.compile(r"[\[\]]+")
"""Signs that may end the text of a link early."""

LONGEST_TITLE = 200
"""Maximum characters of a title in a link. Of a note with a longer one, the file is named."""


class LinksTo:
    """Composes and checks links to a memory."""

    def __init__(self, relinking: Relinking, target: IndexedMemory) -> None:
        self._relinking = relinking
        self._target = target
        self._place: Place = target.vault, target.path
        self._title = target.title if len(target.title) <= LONGEST_TITLE else ""
        self.words = _BRACKETS.sub("", self._title) or PurePosixPath(target.path).stem
        """The words of a link that need not show others."""
        self._anchor = "" if target.block is UNSET else f"#^{target.block}"

    def compose(self, source: Place, words: str, *, table: bool = False) -> str:
        """A link in the note at `source` that shows words and leads to the memory alone.

        Raises `Refused` if none can.
        """
        vault = self._relinking.vaults[source[0]]
        kind: Kind = "markdown" if vault.dialect == "markdown" else "wiki"
        names = [] if kind == "markdown" else self._names(words)
        target = self._relinking.address(source, self._place, kind, names)
        if target is None:
            place = "/".join(self._place)
            raise Refused(f"no link from a note of {vault.name} can lead to {place}")
        return new_link(words, target, self._anchor, vault.dialect, table=table)

    def _names(self, words: str) -> list[str]:
        """The texts of a wikilink to the memory, the best first.

        Other programs find a note by its file, or by the name that its dialect gives it. The file
        of a note that djinn wrote is called by a slug, and links to it name its title.
        """
        stem = self._target.path.removesuffix(".md")
        parts = stem.split("/")
        dialect = self._relinking.vaults[self._target.vault].dialect
        names = [*RULES[dialect].names(self._target.path, "")]
        names += [self._title] if self._title and self._target.id else []
        names += ["/".join(parts[-length:]) for length in range(1, len(parts) + 1)]
        # Links are compared without case, so that one with the same words needs no label.
        return [words if fold(words) == fold(names[0]) else names[0], *names]

    def check(self, source: Place, vault: Vault, before: bytes, after: bytes, count: int) -> None:
        """Raise `Refused` unless a change adds `count` links to the memory and no other link."""
        old, new = (parse(source[1], data, vault.dialect) for data in (before, after))
        left = [(link.target, link.kind, link.field) for link in new.links]
        for link in old.links:
            written = link.target, link.kind, link.field
            if written in left:
                left.remove(written)
        leads = [self._relinking.leads_to(source, text, kind) for text, kind, _ in left]
        if leads != [self._place] * count or old.problem != new.problem:
            place = PurePosixPath(source[0], source[1])
            raise Refused(f"a link in {place} would not lead to {'/'.join(self._place)}")
