"""Recall: what a search finds, weighed by what the agent used and rated, as whole memories."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from djinn_memory.errors import DjinnError, Unavailable, UsageError
from djinn_memory.memories.recall import session_log
from djinn_memory.memories.recall.rescoring import Rescorer, ScoreBreakdown, pool_of
from djinn_memory.memories.writing.arguments import between
from djinn_memory.models import Filters, Hit, LegScore, Mode, Problem, SearchStep
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.markdown import body
from djinn_memory.notes.vault import files as disk
from djinn_memory.scoring import Score
from djinn_memory.search.ask import SearchOptions, ask
from djinn_memory.secrets import mask
from djinn_memory.store.ledger import Event, Ledger
from djinn_memory.store.state import State

if TYPE_CHECKING:
    from djinn_memory.embedding.registry import ModelRegistry
    from djinn_memory.home.settings import ProfileConfig, RecallConfig

MOST = 1_000
"""Memories of one recall."""

LEAST_BUDGET, MOST_BUDGET = 50, 1_000_000
"""Tokens: less holds no memory, and more no model reads."""

LONGEST = 40
"""Characters of text for each token of the budget, at most."""

SCRAP = 48
"""Tokens of a memory that are worth giving; where fewer are left the budget is spent."""

MARK = "\n[... cut here]"
"""Stands where a text was cut at the budget."""

_ALL = 10_000_000
"""Characters of a document's chunk: all of it."""


class RecallReason(Struct, frozen=True):
    """Why a memory came up where it did."""

    words: tuple[str, ...]
    """Words of the question, as the memory has them."""
    legs: dict[str, LegScore]
    """By `words` or `meaning`: what each said; none for what came by a link or as the newest."""
    weight: ScoreBreakdown
    """The raw score, and all that it was multiplied by."""
    scored: Score | None
    """What the agent's uses and ratings say; null where there are none."""


class RecalledMemory(Struct, frozen=True):
    """A whole memory, as a recall gives it."""

    rank: int
    """Its place, from 1: what `djinn rate` takes."""
    id: str | None
    """`mem_` and 16 characters; null for a note that has none."""
    type: str | None
    """Such as `decision`; null for a plain note."""
    title: str
    """The title of the memory."""
    vault: str
    """The name of the vault it is in."""
    path: str
    """Its file, relative to the folder of the vault."""
    lines: tuple[int, int]
    """The first and the last line of what answers best."""
    page_number: int | None
    """The page of what answers best; null for a note."""
    tags: tuple[str, ...]
    """Without `#`."""
    created: str | None
    """When it was written, as ISO 8601."""
    updated: str | None
    """When it was changed last, as ISO 8601."""
    date: str
    """What it is about, else when it was written."""
    age: int
    """Days since that date; negative for what is to come."""
    score: float
    """The raw score times all of `why`; not bounded by 1."""
    text: str
    """The note without its front matter, as it is on the disk now; of a document the chunk."""
    tokens: int
    """How long the text is."""
    cut: bool
    """Whether it was cut at the budget."""
    why: RecallReason
    """Why it came up, and what moved it."""


class RecallResult(Struct, frozen=True):
    """The answer to one recall."""

    request_id: str | None
    """What `djinn rate` takes; null where the recall could not be logged."""
    query: str
    """As it was given."""
    agent: str
    """Whose memory it was."""
    profile: str
    """The profile that was used; `auto` has become one of the others."""
    mode: Mode
    """The legs that answered."""
    confident: bool
    """False when nothing found is likely to be what was asked for."""
    memories: tuple[RecalledMemory, ...]
    """The best first."""
    more: int
    """Memories that were found and did not fit into the budget."""
    tokens: int
    """The length of all texts together."""
    budget: int
    """What they were to fit into."""
    suggestions: tuple[str, ...]
    """Near spellings from the index, when nothing was found."""
    milliseconds: float
    """How long the recall took."""
    problems: tuple[Problem, ...]
    """What kept a part of it from working."""
    steps: tuple[SearchStep, ...] = ()
    """What expansion and rerank did, where the settings ask for them."""


class RecallOptions(Struct, frozen=True):
    """How to recall where it is otherwise than the settings say; None is as they say."""

    profile: str | None = None
    limit: int | None = None
    budget: int | None = None
    session: str | None = None
    run: str | None = None
    source: str = "recall"
    """The verb on whose behalf this is."""


def recall(
    state: State,
    models: ModelRegistry,
    query: str,
    filters: Filters,
    agent: str,
    wish: RecallOptions,
) -> RecallResult:
    """See `Djinn.recall`."""
    between("--limit", wish.limit, 1, MOST)
    between("--budget", wish.budget, LEAST_BUDGET, MOST_BUDGET)
    settings = state.home.config.recall
    name = chosen(wish.profile or settings.profile, query, settings)
    budget = settings.budget if wish.budget is None else wish.budget
    problems: list[Problem] = []
    weighing = Rescorer(
        settings.profiles[name],
        state.home.config.scoring,
        agent,
        pool_of(state.home),
        _ledger(state, problems),
        query,
        datetime.now(UTC),
    )
    how = SearchOptions(limit=settings.limit if wish.limit is None else wish.limit, excerpt=_ALL)
    found = ask(state, models, query, filters, agent, how, weighing)
    memories = _within(state, found.hits, weighing, budget)
    request = f"rec_{crockford(50)}"
    logged = bool(memories) and _log(
        state, request, query, agent, name, wish, memories, weighing, problems
    )
    return RecallResult(
        request_id=request if logged else None,
        query=query,
        agent=agent,
        profile=name,
        mode=found.mode,
        confident=found.confident,
        memories=memories,
        more=len(found.hits) - len(memories),
        tokens=sum(one.tokens for one in memories),
        budget=budget,
        suggestions=found.suggestions,
        milliseconds=found.milliseconds,
        problems=(*found.problems, *problems),
        steps=found.steps,
    )


def chosen(name: str, query: str, settings: RecallConfig) -> str:
    """The profile that is meant; `auto` is that of which the query has most words."""
    if name != "auto":
        if name not in settings.profiles:
            known = ", ".join(["auto", *settings.profiles])
            raise UsageError(f"no profile {name!r}; there are: {known}")
        return name
    words = " ".join(re.findall(r"\w+", query.casefold()))
    text = f" {words} "

    def said(profile: ProfileConfig) -> int:
        return sum(f" {word.casefold()} " in text for word in profile.words)

    best = max(settings.profiles, key=lambda one: said(settings.profiles[one]))
    return best if said(settings.profiles[best]) else "default"


def _ledger(state: State, problems: list[Problem]) -> Ledger | None:
    try:
        return state.ledger_if_any
    except DjinnError as error:
        problems.append(Problem("ledger", f"{error}; ratings do not count here"))
        return None


def _within(
    state: State, hits: Sequence[Hit], weighing: Rescorer, budget: int
) -> tuple[RecalledMemory, ...]:
    """The memories of these hits, whole, as far as the budget goes.

    One that is longer than half of it is cut there, where there are others.
    """
    from djinn_memory.chunking.tokens import token_counts, token_starts

    made: list[RecalledMemory] = []
    left = budget
    texts = [_text(state, hit) for hit in hits]
    # Of a very long note only as much is counted as could ever be given.
    parts = [text[: LONGEST * budget] for text in texts]
    for hit, whole, text, count in zip(hits, texts, parts, token_counts(parts), strict=True):
        room = left if len(hits) == 1 else min(left, max(SCRAP, budget // 2))
        cut = count > room or len(whole) > len(text)
        if cut:
            if left < SCRAP and made:
                break
            starts = token_starts(text)
            text = text[: starts[room] if room < len(starts) else None].rstrip() + MARK
        left -= min(count, room)
        made.append(_recollection(hit, text, min(count, room), cut, weighing))
    return tuple(made)


def _text(state: State, hit: Hit) -> str:
    """A note's body as it is now; of a document the chunk that answers."""
    if hit.plane == "documents":
        return hit.excerpt
    [vault] = state.home.named((hit.vault,))
    # It may be gone since it was looked for.
    with contextlib.suppress(OSError, DjinnError):
        return body.text_of(disk.read(vault, hit.path)).strip("\n")
    return hit.excerpt


def _recollection(
    hit: Hit, text: str, tokens: int, cut: bool, weighing: Rescorer
) -> RecalledMemory:
    place = (hit.vault, hit.path)
    weight = weighing.weights[place]
    words = {hit.snippet[start:end].casefold(): None for start, end in hit.marks}
    return RecalledMemory(
        rank=hit.rank,
        id=hit.id,
        type=hit.type,
        title=hit.title,
        vault=hit.vault,
        path=hit.path,
        lines=hit.lines,
        page_number=hit.page_number,
        tags=hit.tags,
        created=hit.created,
        updated=hit.updated,
        date=hit.date,
        age=_days(hit.date, weighing.now),
        score=round(weight.score, 4),
        text=text,
        tokens=tokens,
        cut=cut,
        why=RecallReason(tuple(words), hit.legs, weight, weighing.scores.get(place)),
    )


def _session(state: State, agent: str) -> str | None:
    # A ledger that cannot be read is told of where it is written.
    with contextlib.suppress(Unavailable):
        return session_log.current(state, agent)
    return None


def _days(day: str, now: datetime) -> int:
    try:
        return (now.date() - date.fromisoformat(day[:10])).days
    except ValueError:
        return 0


def _log(
    state: State,
    request: str,
    query: str,
    agent: str,
    profile: str,
    wish: RecallOptions,
    memories: Sequence[RecalledMemory],
    weighing: Rescorer,
    problems: list[Problem],
) -> bool:
    """Write down what was recalled; whether it could be."""
    shown = []
    session = wish.session or _session(state, agent)
    for one in memories:
        known = weighing.references[one.vault, one.path]
        shown.append(
            {
                "memory": known.memory, "title": one.title, "hash": known.hash, "rank": one.rank,
                "raw": one.why.weight.raw, "score": one.why.weight.score,
            }
        )  # fmt: skip
    data = {
        "agent": agent, "session": session, "run": wish.run, "query": mask(query),
        "profile": profile, "source": wish.source, "memories": shown,
    }  # fmt: skip
    try:
        # To answer is more than to remember the question if the power goes in this moment.
        state.ledger.append([Event("memory.retrieved", request, data)], durable=False)
    except DjinnError as error:
        problems.append(Problem("ledger", f"{error}; this recall cannot be rated"))
        return False
    return True
