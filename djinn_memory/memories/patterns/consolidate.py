"""Consolidation: reads the episodes of an agent, and writes the patterns that it finds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from datetime import date, timedelta
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.home.settings import PatternsConfig
from djinn_memory.indexing.refresh import read
from djinn_memory.memories.episodes.occasions import EpisodeScope, Occasion
from djinn_memory.memories.patterns import notes, requests
from djinn_memory.memories.patterns.notes import (
    ConsolidationLog,
    KnownPattern,
    digest,
    key_of,
    similar,
)
from djinn_memory.memories.patterns.outcomes import Outcome, read_outcomes
from djinn_memory.memories.writing.change_set import change_set
from djinn_memory.memories.writing.existing import dated
from djinn_memory.memories.writing.remember import remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Filters, Problem, Vault, extended
from djinn_memory.notes import frontmatter
from djinn_memory.notes import vault as disk
from djinn_memory.notes.encoding import decode
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import IndexedMemory, Selection
from djinn_memory.system.locks import lock
from djinn_memory.system.plural import count, duration


class _Edit(Struct, frozen=True):
    """A change of the note of a known pattern."""

    known: KnownPattern
    note: IndexedMemory
    pattern: requests.LearnedPattern
    digests: Mapping[str, str]
    before: bytes
    after: bytes


class _PatternWriter:
    """Writes the patterns of one agent. With `dry_run` it only reports the planned patterns."""

    def __init__(
        self, runtime: Runtime, agent: str, log: ConsolidationLog, *, dry_run: bool
    ) -> None:
        self._runtime, self._agent, self._log, self._dry_run = runtime, agent, log, dry_run
        self._edits: list[_Edit] = []
        self._vault: Vault = runtime.home.personal(agent)
        of_type = Selection(Filters(types=(notes.TYPE,)))
        with runtime.index([self._vault]) as index:
            self._notes = {memory.id: memory for memory in index.memories(of_type)}
        self._hidden: set[str | None] = set()
        if self._vault.reader:
            with runtime.index([replace(self._vault, reader=None)]) as index:
                ids = {memory.id for memory in index.titles(of_type)}
            self._hidden = ids - self._notes.keys()

    def take(
        self, patterns: Sequence[requests.LearnedPattern]
    ) -> tuple[list[requests.PatternChange], list[requests.SkippedPattern]]:
        """Write new patterns and reinforce known ones, each known one at most once."""
        changes: list[requests.PatternChange] = []
        skipped: list[requests.SkippedPattern] = []
        for pattern, known in self._matched(patterns):
            note = known and self._note(known)
            if known and note:
                changes += self._reinforce(known, note, pattern)
            elif known and not self._is_lost(known):
                skipped.append(requests.SkippedPattern(pattern.name, "its note was deleted before"))
            else:
                changes.append(self._write(pattern))
        return changes, skipped

    def deprecate(
        self, today: date, config: PatternsConfig, taken: Set[str | None]
    ) -> list[requests.PatternChange]:
        """Mark the patterns that were not reinforced for a long time, but for the `taken` ones."""
        changes = []
        for known in [*self._log.patterns.values()]:
            note = self._note(known)
            last = note and note.field("last_seen")
            if note is None or note.id in taken or not last or note.field("status") == "deprecated":
                continue
            with suppress(ValueError):
                if (today - date.fromisoformat(last)).days >= config.deprecated_days:
                    pattern = notes.pattern_in(note)
                    changed = self._plan(known, note, {"status": "deprecated"}, pattern)
                    if changed:
                        changes.append(self._change(pattern, "deprecated", note, changed))
        return changes

    def _matched(
        self, patterns: Sequence[requests.LearnedPattern]
    ) -> list[tuple[requests.LearnedPattern, KnownPattern | None]]:
        """Each pattern with the known one that it reinforces, the most similar pairs first."""
        # A pattern that is hidden from the agent now counts as one that was never found.
        known = {
            key: known
            for key, known in self._log.patterns.items()
            if known.memory is None or known.memory not in self._hidden
        }
        pairs = sorted(
            (
                (-likeness, number, key)
                for number, pattern in enumerate(patterns)
                for key, each in known.items()
                if (likeness := similar(each, pattern))
            )
        )
        chosen: dict[int, str] = {}
        for _, number, key in pairs:
            if number not in chosen and key not in chosen.values():
                chosen[number] = key
        return [
            (pattern, known[chosen[number]] if number in chosen else None)
            for number, pattern in enumerate(patterns)
        ]

    def _note(self, known: KnownPattern) -> IndexedMemory | None:
        if known.memory in self._notes and known.memory:
            return self._notes[known.memory]
        by_key = (note for note in self._notes.values() if note.field(notes.KEY) == known.key)
        return next(by_key, None)

    def _is_lost(self, known: KnownPattern) -> bool:
        """Whether a crash kept a note from being written. A note in the trash was written."""
        if known.memory is not None:
            return False
        for file in (self._vault.root / disk.TRASH).rglob("*.md"):
            with suppress(OSError):
                if known.key.encode() in file.read_bytes():
                    return False
        return True

    def _write(self, pattern: requests.LearnedPattern) -> requests.PatternChange:
        key = key_of(self._agent, pattern)
        if self._dry_run:
            return extended(
                pattern, requests.PatternChange, change="written", vault=self._vault.name
            )
        self._log.begin(pattern)
        fields = notes.fields_of(pattern, self._agent)
        own = {"confidence", "status"}
        request = NewMemory(
            notes.TYPE, pattern.name, _text_of(pattern),
            confidence=pattern.confidence, source=notes.SOURCE, status=pattern.status,
            existing="new", force=True, agent=self._agent,
            fields={
                notes.KEY: key,
                **{name: value for name, value in fields.items() if name not in own},
            },
        )  # fmt: skip
        written = remember(self._runtime, request)
        digests = {name: digest(_plain(value)) for name, value in notes.changing(fields).items()}
        self._log.write(key, pattern, written.id, digests)
        return extended(
            pattern, requests.PatternChange,
            change="written", id=written.id, vault=written.vault, path=written.path,
        )  # fmt: skip

    def _reinforce(
        self, known: KnownPattern, note: IndexedMemory, pattern: requests.LearnedPattern
    ) -> list[requests.PatternChange]:
        fields = notes.changing(notes.fields_of(pattern, self._agent))
        changed = self._plan(known, note, fields, pattern)
        if not changed:
            return []
        was = note.field("status")
        deprecated = "status" in changed and pattern.status == "deprecated" != was
        change: requests.PatternAction = "deprecated" if deprecated else "reinforced"
        return [self._change(pattern, change, note, changed)]

    def _plan(
        self,
        known: KnownPattern,
        note: IndexedMemory,
        fields: Mapping[str, Any],
        pattern: requests.LearnedPattern,
    ) -> dict[str, Any]:
        """Plan to write the fields that differ, except those that a person edited."""
        before = disk.read(self._vault, note.path)
        current = frontmatter.read(decode(before)[0]).fields
        nothing = frozenset({digest(None)})
        changed = {
            name: value
            for name, value in fields.items()
            if digest(_plain(value)) != digest(_plain(current.get(name)))
            and digest(_plain(current.get(name))) in known.fields.get(name, nothing)
        }
        if changed:
            after = dated(before, changed, self._runtime.now())
            digests = {name: digest(_plain(value)) for name, value in changed.items()}
            self._edits.append(_Edit(known, note, pattern, digests, before, after))
        return changed

    def apply(self) -> list[Problem]:
        """Change the notes of known patterns in one change set, which `djinn undo` takes back.

        Raises `Changed` if one of them was edited a moment ago; then none is changed.
        """
        edits, self._edits = self._edits, []
        if not edits or self._dry_run:
            return []
        for edit in edits:
            # Before the note, so that after a crash its values are not taken for a person's.
            self._log.write(edit.known.key, edit.pattern, edit.note.id, edit.digests)
        what = f"Updated {count(len(edits), 'pattern')}"
        with change_set(self._runtime, "consolidate", what, agent=self._agent) as changes:
            for edit in edits:
                changes.rewrite(self._vault, edit.note.path, edit.before, edit.after)
        return [*changes.result.problems]

    def _change(
        self,
        pattern: requests.LearnedPattern,
        change: requests.PatternAction,
        note: IndexedMemory,
        changed: Mapping[str, Any],
    ) -> requests.PatternChange:
        status = changed.get("status", note.field("status"))
        return extended(
            pattern, requests.PatternChange,
            name=note.title, status=status, change=change, id=note.id, vault=self._vault.name,
            path=note.path,
        )  # fmt: skip


def _plain(value: Any) -> Any:
    """A value as front matter reads it: numbers and booleans as text."""
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


PATIENCE = 30.0
"""Seconds to wait for another consolidation for the same agent."""


def consolidate(runtime: Runtime, request: requests.Consolidate) -> requests.ConsolidationReport:
    """Find and write patterns; see `Patterns.consolidate`."""
    agent = runtime.home.agent(request.agent)
    age = _age(request.min_age or runtime.home.config.patterns.min_age)
    runtime.take_in(agent)
    problems = read(runtime.state, [runtime.home.personal(agent)])
    if request.dry_run:
        return _run(runtime, agent, age, problems, dry_run=True)
    # Two runs at once would write the same patterns.
    with lock(runtime.home.state / f"consolidate-{agent}.lock", timeout=PATIENCE):
        return _run(runtime, agent, age, problems, dry_run=False)


def _run(
    runtime: Runtime, agent: str, age: timedelta, problems: list[Problem], *, dry_run: bool
) -> requests.ConsolidationReport:
    config, now = runtime.home.config.patterns, runtime.now()
    log = ConsolidationLog(runtime.state, agent, keep=not dry_run)
    scope = EpisodeScope(runtime.home.personal(agent), now - age, tuple(log.marked))
    writer = _PatternWriter(runtime, agent, log, dry_run=dry_run)
    today = now.astimezone().date()
    with runtime.index([scope.vault]) as index:
        total = scope.count(index)
        new = max(0, total - log.read[0])
        is_new = log.read != (total, frozenset(log.marked))
        occasions = scope.occasions(index, config.history_days) if is_new and total else []
    outcomes = read_outcomes(runtime, (scope.vault,)) if is_new and total else []
    changes: list[requests.PatternChange] = []
    skipped: list[requests.SkippedPattern] = []
    try:
        if occasions or outcomes:
            patterns = _patterns(runtime, occasions, outcomes, today, problems)
            changes, skipped = writer.take(patterns)
        changes += writer.deprecate(today, config, {change.id for change in changes})
        problems += writer.apply()
        if is_new:
            log.consolidated(total, scope.cutoff)
    except (OSError, DjinnError) as error:
        # The ledger records the patterns that were written. The next run continues.
        why = getattr(error, "strerror", None) or str(error)
        problems.append(Problem("patterns", f"{why}; run it again"))
    return requests.ConsolidationReport(
        len(occasions), new, tuple(changes), tuple(skipped), dry_run, tuple(problems)
    )


def _patterns(
    runtime: Runtime,
    occasions: Sequence[Occasion],
    outcomes: Sequence[Outcome],
    today: date,
    problems: list[Problem],
) -> list[requests.LearnedPattern]:
    """The patterns in episodes and outcomes. Without a model, wordings are joined by words only."""
    # numpy takes longer to load than a run that finds nothing new.
    from djinn_memory.memories.patterns.correlations import find_causes
    from djinn_memory.memories.patterns.detection.history import History
    from djinn_memory.memories.patterns.detection.learn import learn

    config, embedder = runtime.home.config.patterns, runtime.models.embedder
    try:
        history = History(occasions, embedder.embed if embedder and embedder.local else None)
    except DjinnError as error:
        problems.append(Problem("embedding", f"{error}; habits are found by words only"))
        history = History(occasions)
    return [*learn(history, today, config), *find_causes(outcomes, today, config)]


def _age(text: str) -> timedelta:
    try:
        return duration(text)
    except ValueError:
        why = f"{text}: not an age; write 7d or 2w"
        raise UsageError(why, argument="min_age") from None


def _text_of(pattern: requests.LearnedPattern) -> str:
    """The text of the note of a pattern."""
    if not pattern.habit:
        return f"{pattern.name}. This is the rhythm of the episodes, not a habit in it."
    wordings = "\n".join(f"- {wording}" for wording in pattern.wordings)
    words = f"In the words of the episodes:\n\n{wordings}" if wordings else ""
    return "\n\n".join(filter(None, (f"{pattern.name}.", words)))
