"""Turns mentions of a note into links, in one change."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.catalog.catalog import find
from djinn_memory.memories.editing.relinking import Relinking
from djinn_memory.memories.linking.mentions import MentionFinder, MentioningNote, Place
from djinn_memory.memories.linking.new_links import LinksTo
from djinn_memory.memories.linking.requests import ALL, LinkedMentions, LinkMentions
from djinn_memory.memories.writing.change_set import ChangeSet, attempts, change_set, check_writable
from djinn_memory.models import Memory, Problem, extended
from djinn_memory.notes.dialects.plain_text import is_table_row
from djinn_memory.notes.link_resolution import with_changes
from djinn_memory.runtime import Runtime
from djinn_memory.system.plural import count

COMMAND = "memory mentions --link"


def link_mentions(runtime: Runtime, request: LinkMentions) -> LinkedMentions:
    """Turn mentions of a note into links; see `Memories.link_mentions`."""
    return attempts(lambda: _link_mentions(runtime, request))


def _link_mentions(runtime: Runtime, request: LinkMentions) -> LinkedMentions:
    scope = runtime.fresh_scope(request.agent)
    # A note that is not indexed yet may have the name, too.
    read(runtime.state, scope)
    with (
        change_set(runtime, COMMAND, "", request.agent, dry_run=request.dry_run) as changes,
        # The snapshot is released before the files change, because the index follows them then.
        runtime.index(scope) as index,
    ):
        finder = MentionFinder(index, find(index, request.name))
        run = _Run(changes, Relinking(index), LinksTo(Relinking(index), finder.memory))
        for note in finder.notes():
            run.link(note, request.mentions)
        changes.what = f"Linked {count(run.links, 'mention')} of {finder.memory.title}"
        if missing := {*request.mentions} - {ALL} - run.seen:
            again = Remedy("memories.mentions", {"name": request.name}, "list the mentions again")
            many = f"{count(len(missing), 'mention')} changed since they were listed"
            raise NotFound(f"{many}; nothing was changed", again)
        diff = changes.diff()
    return LinkedMentions(
        extended(finder.memory, Memory),
        run.links,
        tuple(run.notes),
        run.left,
        diff,
        changes.result.id,
        (*run.problems, *changes.result.problems),
    )


class _Run(Struct):
    """Collects the changes of notes."""

    changes: ChangeSet
    relinking: Relinking
    new: LinksTo
    links: int = 0
    left: int = 0
    notes: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """The keys of all mentions that were met."""
    problems: list[Problem] = field(default_factory=list)

    def link(self, note: MentioningNote, wanted: Sequence[str]) -> None:
        """Turn the wanted mentions of a note into links."""
        source = note.memory.vault, note.memory.path
        self.seen.update(place.key for place in note.places)
        chosen = [place for place in note.places if place.key in wanted]
        if ALL in wanted:
            chosen = [place for place in note.places if not place.also or place in chosen]
            self.left += len(note.places) - len(chosen)
        if not chosen:
            return
        vault = self.relinking.vaults[note.memory.vault]
        try:
            check_writable(vault)
            after = with_changes(note.data, [self._change(note, place) for place in chosen])
            self.new.check(source, vault, note.data, after, len(chosen))
            self.changes.rewrite(vault, note.memory.path, note.data, after)
        except DjinnError as error:
            what = vault.name if vault.read_only else "/".join(source)
            problem = Problem(what, f"was not changed: {error}")
            self.problems += [problem] if problem not in self.problems else []
            return
        self.links += len(chosen)
        self.notes.append("/".join(source))

    def _change(self, note: MentioningNote, place: Place) -> tuple[int, int, str]:
        source = note.memory.vault, note.memory.path
        table = is_table_row(note.text, place.start)
        return place.start, place.end, self.new.compose(source, place.words, table=table)
