"""Recall: a search that returns memories, rescored by the agent's uses and ratings."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict, replace

from djinn_memory.errors import DjinnError, UsageError
from djinn_memory.home.home import Home
from djinn_memory.memories.catalog.catalog import text_for_people
from djinn_memory.memories.profiles.reading import find_profile, unusable_defaults
from djinn_memory.memories.profiles.settings import ProfileSettings
from djinn_memory.memories.recall import session_log, wide
from djinn_memory.memories.recall.requests import RecallOptions
from djinn_memory.memories.recall.rescoring import Judgement, Rescorer, ScoreBreakdown, days_since
from djinn_memory.memories.recall.wide import RecalledCommunity
from djinn_memory.models import (
    CLOSEST,
    FLOOR,
    AskedPeriod,
    Hit,
    Known,
    LegScore,
    MemoryRef,
    Mode,
    Problem,
    RankedAnswer,
    SearchStep,
    extended,
)
from djinn_memory.notes import vault as disk
from djinn_memory.notes.dates import moment
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.fact_note import timeline
from djinn_memory.notes.ids import crockford
from djinn_memory.notes.note import parse
from djinn_memory.notes.periods import spoken_period
from djinn_memory.runtime import Runtime
from djinn_memory.scoring import Score
from djinn_memory.search.narrowing import Narrowing
from djinn_memory.search.query import SearchOptions, plain
from djinn_memory.search.search import search
from djinn_memory.search.time.now import is_history, shows_history
from djinn_memory.secrets import mask
from djinn_memory.store.index.records import Selection
from djinn_memory.store.ledger import Event, reading

if TYPE_CHECKING:
    from djinn_memory.home.settings import RecallConfig
    from djinn_memory.search.state import PlaneLimits

LONGEST = 40
"""Maximum characters of text for each token of the budget."""

SCRAP = 48
"""Minimum tokens of a memory that are worth returning. When fewer are left, the budget is spent."""

MARK = "\n[... cut here]"
"""Appended to a text that was cut to fit the budget."""

PASSAGE = 250
"""Maximum tokens of a memory. A longer memory is represented by its passage that answers, since
an answer is rarely longer than a window of the model."""


WHY = 120
"""Maximum characters of the excerpt of a weak match: a line or two that show why it was found."""


class RecallReason(Struct, frozen=True):
    """The reasons for the rank of a memory."""

    words: tuple[str, ...]
    """Words of the question as they occur in the memory."""
    legs: dict[str, LegScore]
    """The score of each leg, by `words` or `meaning`. Empty for a memory that was added by a link
    or as one of the newest."""
    weight: ScoreBreakdown
    """The raw score and all its factors."""
    scored: Score | None
    """The score of the agent's uses and ratings; null if there are none."""


class RecalledMemory(MemoryRef, frozen=True, kw_only=True):
    """A memory in a recall."""

    rank: int
    """Its rank, from 1. `djinn rate` accepts it."""
    type: str | None
    """The type, such as `decision`; null for a plain note."""
    plane: str | None
    """The plane of the type; null for a plain note."""
    title: str
    """The title of the memory."""
    lines: tuple[int, int]
    """The first and the last line of the part that answers best."""
    page_number: int | None
    """The page of the part that answers best; null for a note."""
    tags: tuple[str, ...]
    """The tags, without `#`."""
    created: str | None
    """The time when it was written, as ISO 8601."""
    updated: str | None
    """The time when the memory was last changed, as ISO 8601."""
    date: str
    """The day that it is about, else the time when it was written."""
    valid_from: str | None
    """The day or time when it began to hold, if its note tells it."""
    valid_to: str | None
    """The day or time until which it holds. A day is included."""
    holds: str | None
    """The period in words, such as `until 3 May 2026`; null without a period."""
    as_of: str | None
    """For a fact in a recall as of a time: that time. `text` is the value that held then."""
    age: int | None
    """Days since that date; negative for a date in the future, null without a date."""
    score: float
    """The raw score times all factors in `why`. It may exceed 1."""
    text: str
    """The note without its front matter, as it is on disk now; of a long note or a document, the
    passage that answers. It is an excerpt if the verdict is weak, and empty if it is near."""
    tokens: int
    """The length of the text in tokens."""
    cut: bool
    """Whether the text is only a part of the memory, or left out."""
    why: RecallReason
    """Why the memory was found, and which factors changed its score."""
    domain: str | None = None
    """The domain, such as `work`; several are separated by commas. Null for a memory without one.
    """
    via: tuple[str, ...] = ()
    """For a memory that links raised: the titles of those that lead to it, as in a search."""


class RecallResult(RankedAnswer[RecalledMemory], frozen=True):
    """The answer to one recall."""

    request_id: str | None
    """The id that `djinn rate` accepts; null if nothing was recalled or it could not be logged."""
    query: str
    """The query as given."""
    agent: str
    """The agent whose memory was used."""
    profile: str
    """The profile that was used. For `auto` it is the profile that was chosen."""
    mode: Mode
    """The legs that answered."""
    confident: bool
    """Whether the verdict is sure: a memory is likely to help."""
    memories: tuple[RecalledMemory, ...]
    """The memories, best first. If the verdict is weak or near, only the three closest."""
    more: int
    """The number of memories that did not fit into the budget."""
    tokens: int
    """The length of all texts together in tokens."""
    budget: int
    """The maximum number of tokens for all texts."""
    suggestions: tuple[str, ...]
    """Similar spellings from the index, when there are no results."""
    milliseconds: float
    """The duration of the recall."""
    problems: tuple[Problem, ...]
    """Problems that kept a part of the recall from working."""
    steps: tuple[SearchStep, ...] = ()
    """The steps of expansion and reranking, if the settings enable them."""
    periods: tuple[AskedPeriod, ...] = ()
    """The periods that were read from the question. Memories from them come first."""
    verdict: Known = "nothing"
    """Whether a memory is likely to help (sure), may help (weak), is only near, or none is."""
    communities: tuple[RecalledCommunity, ...] = ()
    """The communities around the best memories, the nearest first, if the recall is wide."""

    def _ranked(self) -> tuple[RecalledMemory, ...]:
        return self.memories


def recall(
    runtime: Runtime,
    request: RecallOptions,
    *,
    source: str = "recall",
    closest: int = CLOSEST,
    planes: PlaneLimits | None = None,
) -> RecallResult:
    """Recall memories; see `Djinn.recall`. `source` is the operation that needs this recall.

    When no memory is likely to help, at most the `closest` memories are named: with an excerpt if
    the verdict is weak, and if it is near without. For `planes` see `search`.
    """
    state, settings = runtime.state, runtime.home.config.recall
    agent = runtime.home.agent(request.agent)
    wanted = request.profile or _defaults_of(runtime, agent).default_recall_profile
    profile = profile_for(wanted or settings.profile, request.query, settings)
    limit = request.limit or (wide.MEMORIES if request.wide else settings.limit)
    budget = request.budget or (wide.BUDGET if request.wide else settings.budget)
    chosen = settings.profiles[profile]
    rescorer = Rescorer(runtime, chosen, agent, request.query)
    fields = {name: getattr(request, name) for name in Narrowing.__struct_fields__}
    # The communities of a wide recall follow links; its search does not.
    hops = None if request.wide else request.hops or chosen.hops or None
    options = SearchOptions(request.query, limit=limit, hops=hops, **fields)
    result = search(runtime, options, rescorer=rescorer, planes=planes)
    judged = [(hit, rescorer.judgements[hit.address]) for hit in result.hits]
    communities = _communities(runtime, request, judged, budget) if request.wide else []
    left = budget - sum(community.tokens for community in communities)
    more = 0
    if result.verdict == "sure":
        memories = _within(runtime, request.query, judged, left)
        more = len(judged) - len(memories)
    else:
        judged = judged[: limit if request.wide and result.verdict == "weak" else closest]
        memories = tuple(_title(runtime, *pair) for pair in judged)
        if result.verdict == "weak":
            memories = _with_snippets(memories, [hit for hit, _ in judged])
    named = session_log.given(state, request.session)
    request_id: str | None = None
    failure, losses = rescorer.failure, ["ratings are not counted"] if rescorer.failure else []
    try:
        session = named or session_log.current(state, agent)
        data = {
            "agent": agent, "session": session,
            "run": reading.last_start(state.ledger, agent, session),
            "query": mask(request.query), "profile": profile, "source": source,
            "memories": [_shown(*pair) for pair in zip(memories, judged, strict=False)],
        }  # fmt: skip
        recalled = Event("memory.retrieved", f"rec_{crockford(50)}", data)
        # Answering matters more than keeping this event if the power fails at this moment.
        state.ledger.append([recalled], durable=False)
        request_id = recalled.subject if memories else None
    except DjinnError as error:
        if memories:
            failure = failure or error
            losses.append("this recall cannot be rated")
    why = f"{failure}; {', and '.join(losses)}"
    problems = [Problem("ledger", why)] if failure else []
    if request.wide and memories and not communities:
        problems.append(wide.NONE_NEAR)
    return extended(
        result,
        RecallResult,
        request_id=request_id,
        agent=agent,
        profile=profile,
        memories=memories,
        more=more,
        tokens=budget - left + sum(memory.tokens for memory in memories),
        budget=budget,
        communities=tuple(communities),
        problems=(*result.problems, *problems),
    )


def _communities(
    runtime: Runtime, request: RecallOptions, judged: Sequence[tuple[Hit, Judgement]], budget: int
) -> list[RecalledCommunity]:
    """The communities around the memories that match well enough to answer."""
    ranks = {hit.address: hit.rank for hit, _ in judged}
    seeds = [hit.address for hit, judgement in judged if judgement.weight.raw >= FLOOR]
    if not seeds:
        return []
    now = runtime.now()
    selection = Selection(request.filters(now), now)
    vaults = runtime.home.scope(runtime.home.agent(request.agent), request.vaults)
    with runtime.index(vaults) as index:
        return wide.communities_near(
            index, selection, plain(request.query), ranks, seeds, request.hops or wide.HOPS, budget
        )


def _defaults_of(runtime: Runtime, agent: str) -> ProfileSettings:
    """The settings of an agent's profile, without defaults that cannot be used here."""
    profile = find_profile(runtime, agent)
    if profile is None:
        return ProfileSettings()
    unusable = unusable_defaults(runtime.home, agent, profile.settings)
    return ProfileSettings(**{
        key: value for key, value in asdict(profile.settings).items() if key not in unusable
    })  # fmt: skip


def profile_for(name: str, query: str, settings: RecallConfig) -> str:
    """The profile to use. `auto` selects the one with most words of the query."""
    if name != "auto":
        if name not in settings.profiles:
            known = ", ".join(["auto", *settings.profiles])
            raise UsageError(f"no profile {name!r}; known: {known}")
        return name

    def spoken(text: str) -> str:
        return f" {plain(text.casefold())} "

    question = spoken(query)

    def hits(name: str) -> int:
        return sum(spoken(words) in question for words in settings.profiles[name].words)

    best = max(settings.profiles, key=hits)
    return best if hits(best) else "default"


def _within(
    runtime: Runtime, query: str, judged: Sequence[tuple[Hit, Judgement]], budget: int
) -> tuple[RecalledMemory, ...]:
    """The memories of these hits that fit the budget. A passage represents a longer memory.

    A memory has at most half of the budget, or all of it if it is the only memory.
    """
    from djinn_memory.chunking.tokens import token_counts, token_starts

    memories: list[RecalledMemory] = []
    left = budget
    most = min(PASSAGE, budget if len(judged) == 1 else max(SCRAP, budget // 2))
    former = [hit.as_of is not None or shows_history(hit, query) for hit, _ in judged]
    judged = [
        (hit if is_former else _with_current_period(runtime, hit), judgement)
        for (hit, judgement), is_former in zip(judged, former, strict=True)
    ]
    texts = [
        hit.excerpt if is_former else _text(runtime.home, hit)
        for (hit, _), is_former in zip(judged, former, strict=True)
    ]
    # Of a very long note, only as much is counted as could ever be given.
    parts = [text[: LONGEST * most] for text in texts]
    parts = [
        _passage(runtime.home, hit, most) if count > most else text
        for (hit, _), text, count in zip(judged, parts, token_counts(parts), strict=True)
    ]
    counts = token_counts(parts)
    for (hit, judgement), whole, text, count in zip(judged, texts, parts, counts, strict=True):
        room = min(left, most)
        cut = count > room or len(whole) > len(text)
        if cut and left < SCRAP and memories:
            break
        if count > room:
            starts = token_starts(text)
            text = text[: starts[room] if room < len(starts) else None].rstrip() + MARK
        title = _title(runtime, hit, judgement)
        memories.append(replace(title, text=text, tokens=min(count, room), cut=cut))
        left -= memories[-1].tokens
    return tuple(memories)


def _with_snippets(
    memories: Sequence[RecalledMemory], hits: Sequence[Hit]
) -> tuple[RecalledMemory, ...]:
    """Memories with short excerpts that show why they were found."""
    from djinn_memory.chunking.tokens import token_counts

    texts = [_around_first_mark(hit) for hit in hits]
    counts = token_counts(texts) if texts else []
    return tuple(
        replace(memory, text=text, tokens=count)
        for memory, text, count in zip(memories, texts, counts, strict=True)
    )


def _around_first_mark(hit: Hit) -> str:
    """The part of a snippet with its first matched words, cut at words."""
    at = hit.marks[0][0] if hit.marks else 0
    start = hit.snippet.rfind(" ", 0, max(0, at - WHY // 3)) + 1
    text = hit.snippet[start : start + WHY]
    if start + WHY < len(hit.snippet):
        text = f"{text.rpartition(' ')[0] or text} …"
    return f"… {text}" if start else text


def _title(runtime: Runtime, hit: Hit, judgement: Judgement) -> RecalledMemory:
    """A memory without its text."""
    words = {hit.snippet[start:end].casefold(): None for start, end in hit.marks}
    return extended(
        hit,
        RecalledMemory,
        age=days_since(hit.date, runtime.now()),
        score=round(judgement.weight.score, 4),
        text="",
        tokens=0,
        cut=True,
        why=RecallReason(tuple(words), hit.legs, judgement.weight, judgement.record),
    )


def _with_current_period(runtime: Runtime, hit: Hit) -> Hit:
    """A hit among the earlier values of a fact with the period of its current value.

    The text of the memory begins with the current value.
    """
    if not is_history(hit):
        return hit
    [vault] = runtime.home.named((hit.vault,))
    with contextlib.suppress(OSError, DjinnError):
        values = timeline(parse(hit.path, disk.read(vault, hit.path), vault.dialect))
        period, now = values.whole_period(values.current), moment(runtime.now())
        holds = spoken_period(period, now)
        return replace(hit, valid_from=period.start, valid_to=period.end, holds=holds)
    return hit


def _text(home: Home, hit: Hit) -> str:
    """The current body of a memory; for a document, the chunk that answers."""
    if hit.plane == "documents":
        return hit.excerpt
    [vault] = home.named((hit.vault,))
    # The note may have been removed since the search.
    with contextlib.suppress(OSError, DjinnError):
        return text_for_people(vault, hit).strip("\n")
    return hit.excerpt


def _passage(home: Home, hit: Hit, most: int) -> str:
    """The chunk that answers, as it is on disk now, if it has at most `most` tokens.

    Of a longer chunk it is the excerpt: plain text, without code and links.
    """
    from djinn_memory.chunking.tokens import token_counts

    first, last = hit.lines
    [vault] = home.named((hit.vault,))
    with contextlib.suppress(OSError, DjinnError):
        lines = decode(disk.read(vault, hit.path))[0].splitlines()
        text = "\n".join(lines[first - 1 : last]).strip("\n")[: LONGEST * most]
        if text and token_counts([text])[0] <= most:
            return text
    return hit.excerpt


def _shown(memory: RecalledMemory, judged: tuple[Hit, Judgement]) -> dict[str, object]:
    """A memory of a recall, in the form that the ledger stores."""
    name, weight = judged[1].name, judged[1].weight
    return {
        "memory": name.memory, "vault": name.place.partition("/")[0], "title": memory.title,
        "hash": name.hash, "rank": memory.rank, "raw": weight.raw, "score": weight.score,
    }  # fmt: skip
