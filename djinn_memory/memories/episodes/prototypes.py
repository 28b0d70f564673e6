"""Finds an action intent by the nearest prototype sentence, where the patterns find none.

It needs the packaged embedding model in memory, so it never runs in a process that has not loaded
it for a search. Recording thus stays fast.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from djinn_memory.embedding.embedder import Embedder
    from djinn_memory.models import Vectors

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
