"""The intents of a message, and how important they make its episode.

The intents are create, update, complete, delete and question. An action counts if a sentence begins
with it, if the message asks for it, or if the message reports it as done or planned. A verb in the
middle of a story does not count. Where the patterns find no action, the nearest prototype sentence
may tell one. That needs the packaged embedding model in memory, so it never runs in a process that
has not loaded it for a search. Recording thus stays fast.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING

from djinn_memory.memories.episodes.requests import Importance
from djinn_memory.models import Vectors

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder

READ = 5_000
"""Characters of a message in which intents are looked for."""

_VERBS = {
    "create": (
        "create creates created add added make made write wrote written build built draft drafted "
        "schedule scheduled book booked generate generated open opened start started "
        "record recorded|set up|note down|sign up"
    ),
    "update": (
        "update updates updated change changed edit edited modify modified rename renamed move "
        "moved fix fixed correct corrected adjust adjusted replace replaced reschedule rescheduled "
        "postpone postponed revise revised refactor refactored upgrade upgraded extend extended"
    ),
    "complete": (
        "complete completed finish finished close closed resolve resolved ship shipped submit "
        "submitted deliver delivered merge merged release released|wrap up|wrapped up|tick off"
    ),
    "delete": (
        "delete deletes deleted remove removed cancel cancelled canceled drop dropped erase erased "
        "discard discarded purge purged revoke revoked|throw away|get rid of|take out"
    ),
}

_LEAD = (
    r"(?:(?:^|[.!?:;\n])\s*(?:[-*]\s+)?|,\s*(?:and\s+)?)\s*"
    r"(?:(?:ok|okay|hi|hey|hello|so|now|then|also|and|just|great|thanks|(?-i:[A-Z])\w+(?=,)),?\s+){0,2}"
    r"(?:(?:please|kindly|let's|let\s+us|"
    r"(?:can|could|would|will)\s+(?:you|we|someone)(?:\s+please)?|"
    r"(?:i|we|you)(?:'ve|'ll|'d)?(?:\s+(?:have|had|just|already|will|should|must|shall|did|finally|"
    r"need\s+to|want\s+to|want\s+you\s+to|would\s+like\s+(?:you\s+)?to|have\s+to|am\s+going\s+to|"
    r"are\s+going\s+to|forgot\s+to|remember\s+to))*|"
    r"(?:remember|remind\s+(?:me|us)|don't\s+forget)\s+to|todo:?|to-do:?|action:?)\s+){0,2}"
)
_PASSIVE = r"\b(?:is|are|was|were|been|be|gets?|got)\s+(?:now\s+|finally\s+|already\s+)?"


def _pattern(verbs: str) -> re.Pattern[str]:
    words, *phrases = verbs.split("|")
    listed = "|".join([*words.split(), *(phrase.replace(" ", r"\s+") for phrase in phrases)])
    done = "|".join(word for word in words.split() if word.endswith(("ed", "made", "built", "ten")))
    return re.compile(rf"{_LEAD}(?:{listed})\b(?!\s*:)|{_PASSIVE}(?:{done})\b", re.IGNORECASE)


_ACTIONS = {intent: _pattern(verbs) for intent, verbs in _VERBS.items()}

_DONE = re.compile(
    r"\b(?:mark\w*|is|are|was|set)\s+(?:\w+\s+){0,4}?(?:as\s+)?done\b", re.IGNORECASE
)

_QUESTION = re.compile(
    r"\?(?:[\s\"')\]]|$)"
    r"|(?:^|[.!?\n]\s*)(?:who|what|when|where|why|which|whose|how)\s+(?:is|are|was|were|do|does|did|"
    r"can|could|should|would|will|has|have|many|much|long|often|far|old)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|https?://\S+", re.DOTALL)


def find_intents(message: str) -> tuple[str, ...]:
    """The intents of a message without repetitions, actions first."""
    text = _CODE.sub(" ", message[:READ])
    intents = [intent for intent, pattern in _ACTIONS.items() if pattern.search(text)]
    if "complete" not in intents and _DONE.search(text):
        intents.append("complete")
    if _QUESTION.search(text):
        intents.append("question")
    return tuple(intents)


NEAR = 0.5
"""Minimum cosine with a prototype. Of 40 paraphrases that are not among them, this and `LEAD` find
14, of which 13 have the right intent; of 60 other sentences none is taken for an action, and of 348
turns of small talk 3. With 0.45 it finds 16, and takes 10 of those turns for an action."""

LEAD = 0.05
"""Minimum lead over the nearest sentence without an intent."""

SENTENCES = 5
"""Number of sentences of a message that are compared. More are a text and not a request."""

LONGEST = 150
"""Maximum characters of such a sentence."""

OTHER = ""
"""The key of the prototypes without an intent."""

PROTOTYPES = {
    "create": (
        "Set up a new page for this.", "Put together a short report.",
        "Come up with a list of names.", "Put a new entry in the calendar.",
        "Get a new project going.", "Jot this down.", "Prepare a first version of it.",
        "Whip up a draft.", "I need a new one of these.", "We want a fresh one.",
        "Throw together a quick summary.", "Spin up a new machine.",
        "I have put a new note there.", "Pencil it in.",
    ),
    "update": (
        "Make it shorter.", "Make it bigger.", "Swap this one for that one.",
        "Bring it up to date.", "Shift it to another day.", "Push it back by a week.",
        "Switch it to the new one.", "Turn it up a bit.", "Rework this part.",
        "Set it to seven instead of six.", "Put her in charge instead of him.",
        "Bump it to the next version.", "Tweak it a little.", "Raise it to twenty.",
    ),
    "complete": (
        "That one is off the list now.", "We are through with it.", "It is out of the door.",
        "I have got it done.", "All the work on it is over.", "It has been dealt with.",
        "It went live for everybody.", "It is all wrapped up.",
        "We made it over the finish line.", "All boxes are ticked.",
        "That is behind us at last.", "It has gone out to them.",
    ),
    "delete": (
        "Get rid of it.", "Throw it out.", "Clear all of it out.",
        "Take it away, we no longer need it.", "Wipe it.", "Call it off.",
        "Strip it from there.", "Scrap it.", "Kill it.", "Bin it.", "Take me off the list.",
        "Lose that one.",
    ),
    OTHER: (
        "The weather was fine all day.", "I think that this is a good idea.",
        "How does this work?", "My sister lives near the sea.",
        "We talked about the news at lunch.", "The server was slow this morning.",
        "Thank you very much for your help.", "I like tea better than coffee.",
        "What is the capital of Norway?", "The meeting was long and boring.",
        "She moved to Oslo years ago.", "He told me a story about a finished bridge.",
        "I do not know what to think about it.", "The old house was torn down long ago.",
        "Good morning, how are you today?", "They are planning a party next month.",
        "The report says that sales went up.", "That looks wrong to me.",
        "Our new neighbour is friendly.", "The team has five people.",
        "It is a list of names.", "The page is new.", "The report is short.",
        "The calendar hangs on the wall.", "The machine is slow.", "The day was long.",
        "The work is hard.", "The new version is good.", "It costs seven.",
        "This one is nicer than that one.", "The door is open.", "He told me about it.",
        "It happened last year.", "I like it.", "There are twenty of them.",
        "The list is long.", "I read it twice.", "It runs at midnight.",
        "People use it every day.", "We went there by car.",
    ),
}  # fmt: skip

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
_REQUEST = re.compile(r"(?:can|could|would|will)\s", re.IGNORECASE)
_TELLS = re.compile(
    r"(?:the|an?|this|that|these|those|my|our|your|his|her|its|their|he|she|it|they|there|people"
    r"|nobody|who|what|when|where|why|how|is|are|do|does|did|was|were|you"
    r"|i\s+(?:think|like|love|feel|wonder|prefer|had|was|am|read|moved|do)|we\s+(?:were|had|went)"
    r")\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that tells something. It may tell that work is complete, but it asks
for nothing."""


_KNOWN: dict[str, dict[str, Vectors]] = {}
"""The vectors of the prototypes, by the identity of their model."""


def nearest_intents(message: str, embedder: Embedder) -> tuple[str, ...]:
    """The action intent whose prototype is nearest to a sentence of the message, if any is near."""
    sentences = [text for match in _SENTENCE.finditer(message) if (text := match[0].strip())]
    asked = [
        text
        for text in sentences[:SENTENCES]
        if len(text) <= LONGEST and not (text.endswith("?") and not _REQUEST.match(text))
    ]
    if not asked:
        return ()
    vectors, best = _vectors(embedder), (NEAR, "")
    for text, vector in zip(asked, embedder.embed(asked), strict=True):
        cosines = {name: float((rows @ vector).max()) for name, rows in vectors.items()}
        least = cosines.pop(OTHER) + LEAD
        names = ("complete",) if _TELLS.match(text) else tuple(cosines)
        near = max((cosines[name], name) for name in names)
        if near[0] >= least:
            best = max(best, near)
    return (best[1],) if best[1] else ()


def _vectors(embedder: Embedder) -> dict[str, Vectors]:
    """The vectors of the prototypes by intent. A process embeds them once."""
    if embedder.identity not in _KNOWN:
        _KNOWN[embedder.identity] = {
            name: embedder.embed(sentences) for name, sentences in PROTOTYPES.items()
        }
    return _KNOWN[embedder.identity]


BASE = 0.5
LONG = 500, 1_000
"""Lengths in characters above which an episode is long or very long. Each adds `LENGTH`."""

LENGTH = 0.1
ENTITY, MOST_ENTITIES = 0.05, 0.2
ACTION = 0.1
QUESTION = 0.05

ACTIONS = frozenset({"create", "update", "complete", "delete"})
"""The intents that are actions."""


def importance(characters: int, entities: int, intents: Collection[str]) -> Importance:
    """The importance of an episode with this number of characters and of entities."""
    length = LENGTH * sum(characters > limit for limit in LONG)
    named = min(MOST_ENTITIES, ENTITY * entities)
    action = ACTION if ACTIONS.intersection(intents) else 0.0
    question = QUESTION if "question" in intents else 0.0
    total = BASE + length + named + action + question
    return Importance(
        base=BASE,
        length=round(length, 2),
        entities=round(named, 2),
        action=action,
        question=question,
        total=min(1.0, round(total, 2)),
    )
