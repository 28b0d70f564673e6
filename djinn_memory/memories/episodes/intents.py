"""The intents of a message: create, update, complete, delete, question. Pure.

An action counts if a sentence begins with it, if the message asks for it, or if the message reports
it as done or planned. A verb in the middle of a story does not count.
"""

from __future__ import annotations

import re

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
