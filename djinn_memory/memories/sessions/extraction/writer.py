"""Writes claims as memories, each once, with a link to the turn that it came from."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from djinn_memory.errors import Busy, Changed, DjinnError, Refused, UsageError
from djinn_memory.languages.word_lists import meaning_of
from djinn_memory.memories.catalog.catalog import domains_in
from djinn_memory.memories.entities.names import same_name
from djinn_memory.memories.episodes.reading import EpisodeText
from djinn_memory.memories.facts.queries import Fact, indexed_facts, read_fact
from djinn_memory.memories.facts.requests import SetFact
from djinn_memory.memories.facts.writer import set_fact
from djinn_memory.memories.sessions.extraction.claims import Claim, claim_digest, title_of
from djinn_memory.memories.sessions.extraction.turns import ExtractionLog
from djinn_memory.memories.sessions.requests import ExtractedMemory, SkippedStatement
from djinn_memory.memories.writing.drafts import draft_of
from djinn_memory.memories.writing.duplicates import SAME_WORDS, DuplicateFinder, likeness, numbers
from djinn_memory.memories.writing.provenance import PROPOSED, STATEMENT, Provenance, evidence_link
from djinn_memory.memories.writing.remember import remember
from djinn_memory.memories.writing.requests import NewMemory
from djinn_memory.models import Filters, extended
from djinn_memory.notes import vault as disk
from djinn_memory.notes.slugs import flat, fold
from djinn_memory.runtime import Runtime
from djinn_memory.secrets import mask, masked
from djinn_memory.store.index.records import Selection

COMMAND = "session extract"


class ClaimWriter:
    """Writes the claims of one agent. With `dry_run` it only tells what it would write."""

    def __init__(self, runtime: Runtime, agent: str, log: ExtractionLog, *, dry_run: bool) -> None:
        self._runtime = runtime
        self._agent = agent
        self._log = log
        self._dry_run = dry_run
        self._planned: list[Claim] = []
        """The claims that a dry run would have written."""

    def take(
        self, claim: Claim, turn: EpisodeText, session: str, *, proposed: bool
    ) -> ExtractedMemory | SkippedStatement:
        """Write the memory of a claim, unless it was taken before, is known or looks secret.

        Raises `Changed`, `Unavailable` and `OSError` if it cannot be written now.
        """
        claim = self._of_entity(claim)
        try:
            return self._take(claim, turn, session, proposed=proposed)
        except Changed:
            # The note may be free the next time.
            raise
        except (Refused, UsageError) as error:
            # Without the remedies, which are for those who write a memory themselves.
            return self._skipped(claim, turn, session, error.message)

    def _take(
        self, claim: Claim, turn: EpisodeText, session: str, *, proposed: bool
    ) -> ExtractedMemory | SkippedStatement:
        proposed = proposed or not claim.sure
        said = turn.memory.created or turn.memory.date
        link = evidence_link(turn.memory)
        reason = self._taken(claim, said, link)
        if not reason and (place := self._known(claim, proposed=proposed)):
            reason = f"known already: {place}"
            self._log.take(claim, session, said, "known", None)
        if reason:
            return self._skipped(claim, turn, session, reason)
        if self._dry_run:
            self._planned.append(claim)
            self._log.take(claim, session, said, "written", None)
            return self._planned_memory(claim, turn, session, proposed=proposed)
        if not self._log.was_begun(claim):
            self._log.begin(claim, session, said)
        written = self._write(claim, turn, session, said, proposed=proposed)
        self._log.take(claim, session, said, "written", written.id)
        return written

    def _of_entity(self, claim: Claim) -> Claim:
        """A fact about somebody or something, under the name of the entity if only one is meant."""
        if not claim.is_keyed:
            return claim
        with self._runtime.index(self._runtime.home.scope(self._agent)) as index:
            names = [entity.title for entity in same_name(index, claim.category)]
        if len(names) != 1:
            return claim
        return replace(claim, category=names[0], title=f"{names[0]}/{claim.key}")

    def _taken(self, claim: Claim, said: str, link: str) -> str:
        """The reason why a claim may not be written again; empty if it may.

        After a crash, the note of a fact is known by its `link` to the turn: the value may have
        been edited since.
        """
        digest = claim_digest(self._agent, claim)
        if self._log.was_taken(claim, said):
            return "extracted before"
        if self._log.returns(claim) and self._value(claim) is None:
            return "extracted before, and the fact was removed since"
        if not self._log.was_begun(claim):
            return ""
        if self._has_note(digest) or (claim.is_keyed and self._names(claim, link)):
            return "extracted before, by a run that was interrupted"
        if self._in_trash(claim, link if claim.is_keyed else digest):
            return "extracted before, by a run that was interrupted, and removed since"
        return ""

    def _known(self, claim: Claim, *, proposed: bool) -> str | None:
        """The place of a memory that says the same already, or that proposes the same."""
        if claim.is_keyed:
            value = self._value(claim)
            if value is not None and flat(value) == flat(claim.text):
                fact = self._fact(claim)
                return f"{fact.vault}/{fact.path}" if fact else claim.title
            if not claim.whole:
                return None
        runtime, home = self._runtime, self._runtime.home
        draft = draft_of(self._memory(claim, ()), runtime.now(), home.config.secrets)
        with suppress(Busy):
            scope = home.scope(self._agent)
            finder = DuplicateFinder(
                runtime, draft, scope, notes=True, proposed=proposed, meaning=True
            )
            if duplicate := finder.find():
                return f"{duplicate.memory.vault}/{duplicate.memory.path}"
        return next((each.title for each in self._planned if _says_the_same(each, claim)), None)

    def _value(self, claim: Claim) -> str | None:
        """The value of the fact of a claim; in a dry run, the one that it would have."""
        for planned in reversed(self._planned):
            if planned.is_keyed and _meaning(planned) == _meaning(claim):
                return planned.text
        fact = self._fact(claim)
        return fact.value if fact else None

    def _fact(self, claim: Claim) -> Fact | None:
        """The fact with the name of a claim, in the vaults that the agent sees."""
        if not claim.is_keyed:
            return None
        runtime = self._runtime
        vaults = runtime.home.scope(self._agent)
        name = fold(claim.category), fold(claim.key)
        facts = indexed_facts(runtime.state, vaults, runtime.now())
        same = [entry for entry in facts if entry.meaning == _meaning(claim)]
        for entry in sorted(same, key=lambda entry: entry.name != name):
            with suppress(OSError, DjinnError):
                return read_fact(entry.vault, entry.path, runtime.now())
        return None

    def _has_note(self, digest: str) -> bool:
        vault = self._runtime.home.personal(self._agent)
        with self._runtime.index([vault]) as index:
            return index.count(Selection(Filters(where=((STATEMENT, digest),)))) > 0

    def _names(self, claim: Claim, link: str) -> bool:
        """Whether the note of the fact of a claim has a link."""
        fact = self._fact(claim)
        with suppress(OSError):
            return fact is not None and link in Path(fact.file).read_text("utf-8", "replace")
        return False

    def _in_trash(self, claim: Claim, mark: str) -> bool:
        """Whether the trash has the note of a claim, which has a mark. Only read after a crash."""
        vault, title = self._runtime.home.personal(self._agent), fold(claim.title)
        for file in (vault.root / disk.TRASH).rglob("*.md"):
            with suppress(OSError):
                text = file.read_text("utf-8", "replace")
                if mark in text and (not claim.is_keyed or title in fold(text)):
                    return True
        return False

    def _write(
        self, claim: Claim, turn: EpisodeText, session: str, said: str, *, proposed: bool
    ) -> ExtractedMemory:
        runtime, link = self._runtime, evidence_link(turn.memory)
        origin = Provenance(
            f"extract.{claim.rule}",
            (link,),
            self._agent,
            turn.memory.field("client"),
            session,
            tuple(domains_in([turn.memory])),
        )
        source = "conversation" if turn.memory.type == "interaction" else "tool_call"
        if claim.is_keyed and not proposed:
            request = SetFact(
                claim.category, claim.key, claim.text,
                source=source, valid_from=_begins(claim, said), agent=self._agent,
            )  # fmt: skip
            fact = set_fact(runtime, request, origin, command=COMMAND).fact
            title = f"{fact.category}/{fact.key}"
            return extended(
                fact, ExtractedMemory,
                type="fact", title=title, text=claim.text, rule=origin.rule, evidence=(link,),
                session=session, status=None,
            )  # fmt: skip
        # A statement holds from its turn on, which may be years before today.
        period = {"date": said, "valid_from": _begins(claim, said)}
        fields = {**period, **origin.fields(), STATEMENT: claim_digest(self._agent, claim)}
        request_memory = replace(
            self._memory(claim, tuple(fields.items())),
            # The key alone says nothing to those who are to accept it.
            title=_told(claim),
            source="model" if claim.rule == "model" else source,
            status=PROPOSED if proposed else None,
        )
        written = remember(runtime, request_memory, command=COMMAND)
        return extended(
            written, ExtractedMemory,
            text=claim.text, rule=origin.rule, evidence=(link,), session=session,
            status=request_memory.status,
        )  # fmt: skip

    def _memory(self, claim: Claim, fields: tuple[tuple[str, object], ...]) -> NewMemory:
        """The request for the memory of a claim."""
        named = {"category": claim.category, "key": claim.key} if claim.is_keyed else {}
        return NewMemory(
            claim.type, claim.title, claim.text,
            tags=claim.tags, due=claim.due, existing="new", force=True,
            fields={**named, **dict(fields)}, agent=self._agent,
        )  # fmt: skip

    def _planned_memory(
        self, claim: Claim, turn: EpisodeText, session: str, *, proposed: bool
    ) -> ExtractedMemory:
        vault = self._runtime.home.personal(self._agent)
        return ExtractedMemory(
            id=None, vault=vault.name, path="", type=claim.type, title=claim.title,
            text=claim.text, rule=f"extract.{claim.rule}", evidence=(evidence_link(turn.memory),),
            session=session, status=PROPOSED if proposed else None,
        )  # fmt: skip

    def _skipped(
        self, claim: Claim, turn: EpisodeText, session: str, reason: str
    ) -> SkippedStatement:
        link = evidence_link(turn.memory)
        text = masked(claim.text, f"{claim.title}: ")[0]
        return SkippedStatement(claim.type, mask(claim.title), text, reason, (link,), session)


def _begins(claim: Claim, said: str) -> str:
    """When a statement begins to hold: on the day that it names, if that is past."""
    return claim.day if claim.day and claim.day < said[:10] else said


def _told(claim: Claim) -> str:
    """The title of a claim that is proposed, which says what would be known."""
    if not claim.is_keyed:
        return claim.title
    return title_of(claim.text if claim.whole else f"{claim.title}: {claim.text}")


def _meaning(claim: Claim) -> tuple[str, str]:
    """The meaning of the fact of a claim, as `IndexedFact.meaning`."""
    return fold(claim.category), meaning_of(claim.key)


def _says_the_same(planned: Claim, claim: Claim) -> bool:
    """Whether a note of `planned` would be a duplicate of a claim, by its words."""
    alike = likeness(planned.text, claim.text) >= SAME_WORDS
    return alike and not planned.is_keyed and numbers(claim.text) <= numbers(planned.text)
