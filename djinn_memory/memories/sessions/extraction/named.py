"""Names that are said again and again, which are proposed as people, places and projects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from djinn_memory.memories.entities.names import named_entities
from djinn_memory.memories.episodes.reading import EPISODES, EpisodeText
from djinn_memory.memories.sessions.extraction.claims import Claim, EntityType, is_plain
from djinn_memory.runtime import Runtime
from djinn_memory.store.index.records import Selection

SESSIONS = 3
"""Sessions in which a name is said before it is proposed. In three long conversations of others
(70 sessions) the names of 3 sessions were all those of people or pets (8 of 8); of those of 2, a
fifth were none."""

MOST = 5
"""Maximum number of names that one session proposes."""

NEAR = 40
"""Characters before and after a name that tell what it names: more than any pattern needs."""

_CONTEXTS: dict[EntityType, tuple[str, str]] = {
    "project": (r"\bproject(?: (?:called|named))?", r" (?:project|app|release|launch|rollout)\b"),
    "place": (
        r"\b(?:in|near|around|visit(?:ed|ing)?|(?:go(?:ing)?|went|fl(?:y|ew)|mov(?:e|ed|ing)|trip|been"
        r"|travel\w*) to)",
        r"(?!)",
    ),
    "person": (
        r"(?:\b(?:with|hey|hi|hello|dear|thanks|thank you|met|told|asked|called|named|friend"
        r"|brother|sister|colleague|manager|boss|wife|husband|partner|son|daughter|tell|ask|and)|,)",
        r"(?:['’]s\b|,? (?:is|was|has|had|said|says|told|thinks|wants|will|asked|does|did|and I)\b"
        r"|[!?,])",
    ),
}
"""The words before and after a name that tell what it names. The first kind that fits counts."""


def often_named(
    runtime: Runtime, agent: str, session: str, turns: Sequence[EpisodeText]
) -> Iterator[tuple[Claim, EpisodeText]]:
    """The names in a session that were said in `SESSIONS` sessions and are of no entity.

    Each comes as a claim, with the last of `turns` that says it. A name is left out if the words
    around it do not tell what it is the name of.
    """
    claims: list[tuple[Claim, EpisodeText]] = []
    with runtime.index(runtime.home.scope(agent)) as index:
        own = replace(EPISODES, where=(("session", session),))
        for entry in index.values("entities", Selection(own)):
            kind, _, name = entry.partition(": ")
            said = replace(EPISODES, where=(("entities", entry),))
            if kind != "name" or not is_plain(name) or named_entities(index, name):
                continue
            if len(index.groups("session", Selection(said))) >= SESSIONS:
                last = next((turn for turn in reversed(turns) if name in turn.message), None)
                if last and (of := kind_of(name, [turn.message for turn in turns])):
                    text = f"{name} is named in several sessions."
                    claims.append((Claim("named", of, name, text), last))
    yield from claims[:MOST]


def kind_of(name: str, texts: Sequence[str]) -> EntityType | None:
    """The kind of entity that a name in texts most likely is; None if they do not tell. Pure."""
    kinds = Counter[EntityType]()
    for text in texts:
        for match in re.finditer(rf"\b{re.escape(name)}\b", text):
            before = text[max(0, match.start() - NEAR) : match.start()].rstrip()
            after = text[match.end() : match.end() + NEAR]
            for kind, (left, right) in _CONTEXTS.items():
                if re.search(f"{left}\\Z", before, re.IGNORECASE) or re.match(right, after):
                    kinds[kind] += 1
                    break
    return kinds.most_common(1)[0][0] if kinds else None
