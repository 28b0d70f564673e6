"""What extraction keeps of plain statements, and of long conversations between two people.

Each text goes through the user's door: it is imported as a chat log, and the extraction reads it.
Of a conversation each speaker is the user once. A turn that a reader would keep counts as found
if a memory or a proposal has it as evidence. With `--sample` it prints memories to be judged, and
`--verdicts` counts the judged ones of `extracted.tsv`.

Run: `python benchmarks/extraction.py [--sample 100 --seed 1] [--verdicts] [CONVERSATION ...]`
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from common import home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.memories.sessions.requests import ExtractedMemory
from djinn_memory.memories.writing.provenance import evidence_link

HERE = Path(__file__).parent
STATEMENTS = HERE / "statements.tsv"
WORK_CHAT = HERE / "work_chat.tsv"
"""The types of the memory, separated by commas; the words that it must have; the sentence. The
first two are empty for a sentence that states nothing. Written before the rules."""
VERDICTS = HERE / "extracted.tsv"
"""Conversation, turn, `memory` or `proposal`, 1 if a reader would keep it, its title and text."""
CONVERSATIONS = ("26", "30", "41")
SAID = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)
"""A Wednesday: the time of the plain statements."""


class Said(NamedTuple):
    """A message, by whom and when."""

    id: str
    session: str
    speaker: str
    text: str
    at: str


class Kept(NamedTuple):
    """A memory or a proposal, and the message that it came from."""

    turn: str
    memory: ExtractedMemory
    note: str
    """The whole note of a memory; empty for a proposal."""

    @property
    def sure(self) -> bool:
        """Whether it is a memory, and no proposal."""
        return self.memory.status is None


def extracted(messages: Sequence[Said], user: str) -> list[Kept]:
    """What the extraction makes of a chat log, as `djinn import` and `session extract` do it."""
    with home_with() as home, Djinn(home) as djinn:
        log = home.root / "log.jsonl"
        log.write_text("".join(f"{json.dumps(_record(message))}\n" for message in messages))
        djinn.import_history([log], person=user)
        turns = {}
        for session in dict.fromkeys(message.session for message in messages):
            own = (each for each in messages if (each.session, each.speaker) == (session, user))
            told = {each.text.strip(): each.id for each in own}
            for turn in djinn.sessions.history(session, last=10_000).turns:
                turns[evidence_link(turn)] = told.get(turn.message, "")
        vault = home.root / "vaults" / home.config.agents[0]
        return [
            Kept(
                turns[memory.evidence[0]],
                memory,
                (vault / memory.path).read_text("utf-8") if memory.path else "",
            )
            for memory in djinn.sessions.extract().written
        ]


def _record(message: Said) -> dict[str, str]:
    return {
        "session_id": message.session, "id": message.id, "speaker": message.speaker,
        "text": message.text, "timestamp": message.at,
    }  # fmt: skip


def plain_statements(file: Path) -> None:
    """Print how many statements of a file are kept right, and what is kept of other messages."""
    rows = [line.split("\t") for line in file.read_text("utf-8").splitlines()]
    messages = [
        Said(str(number), f"s{number}", "user", text, SAID.isoformat())
        for number, (_, _, text) in enumerate(rows)
    ]
    found: dict[int, list[Kept]] = {number: [] for number in range(len(rows))}
    for kept in extracted(messages, "user"):
        found[int(kept.turn)].append(kept)
    right: Counter[str] = Counter()
    for number, (types, words, text) in enumerate(rows):
        memories = [kept for kept in found[number] if is_right(kept, types, words)]
        if types and memories:
            right["kept"] += any(kept.sure for kept in memories)
            right["kept or proposed"] += 1
        elif not types and found[number]:
            right["false"] += any(kept.sure for kept in found[number])
            right["false or proposed"] += 1
        if bool(memories) != bool(types) or (not types and found[number]):
            shown = [(kept.memory.type, kept.memory.text, kept.sure) for kept in found[number]]
            print(f"- {'missed' if types else 'false'}: {text} {shown or ''}")
    print()
    stating = sum(bool(types) for types, _, _ in rows)
    print(f"{file.stem}: {stating} statements, {len(rows) - stating} other messages\n")
    table(["result", "messages"], [[key, right[key]] for key in
          ("kept", "kept or proposed", "false", "false or proposed")])  # fmt: skip


def is_right(kept: Kept, types: str, words: str) -> bool:
    """Whether a memory has one of these types and all of these words."""
    text = f"{kept.memory.title} {kept.memory.text} {kept.note}".casefold()
    return kept.memory.type in types.split(", ") and all(
        word.casefold() in text for word in words.split(", ") if word
    )


def conversation(data: Path, name: str) -> Iterator[Said]:
    """The messages of a conversation, a second after each other in their sessions."""
    for number, line in enumerate((data / f"{name}.turns.jsonl").read_text("utf-8").splitlines()):
        turn = json.loads(line)
        at = datetime.strptime(turn["session_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        stamp = at.timestamp() + number
        session = f"{name}-{turn['session']}"
        when = datetime.fromtimestamp(stamp, UTC).isoformat()
        yield Said(turn["id"], session, turn["speaker"], turn["text"], when)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("conversations", nargs="*", default=CONVERSATIONS)
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verdicts", action="store_true")
    options = parser.parse_args()
    if options.verdicts:
        verdicts()
        return
    data = need_data() / "conversations"
    print(f"## Extraction\n\n`python benchmarks/extraction.py` on {machine()}\n")
    for file in (STATEMENTS, WORK_CHAT):
        plain_statements(file)
    rows: list[list[object]] = []
    sample: list[list[str]] = []
    for name in options.conversations:
        messages = [*conversation(data, name)]
        listed = {
            turn
            for line in (data / f"{name}.statements.jsonl").read_text("utf-8").splitlines()
            for turn in json.loads(line)["evidence"]
        }
        kept = [
            each
            for user in dict.fromkeys(message.speaker for message in messages)
            for each in extracted(messages, user)
        ]
        sure, either = ({each.turn for each in kept if each.sure}, {each.turn for each in kept})
        memories = sum(each.sure for each in kept)
        rows.append([
            name, len(messages), len(listed), f"{len(listed & sure) / len(listed):.2f}",
            f"{len(listed & either) / len(listed):.2f}", memories, len(kept) - memories,
            f"{memories / len(messages):.2f}",
        ])  # fmt: skip
        sample += ([name, each.turn, "memory" if each.sure else "proposal",
                    each.memory.title, each.memory.text] for each in kept)  # fmt: skip
    print()
    table(["conversation", "turns", "listed turns", "with a memory", "or a proposal", "memories",
           "proposals", "memories a turn"], rows)  # fmt: skip
    dice = random.Random(options.seed)
    for kind in ("memory", "proposal") if options.sample else ():
        of_kind = [each for each in sample if each[2] == kind]
        print(f"\n{kind}, seed {options.seed}:")
        for line in sorted(dice.sample(of_kind, min(options.sample, len(of_kind)))):
            print("\t".join(line))


def verdicts() -> None:
    """Print the share of judged memories and proposals that a reader would keep."""
    lines = [line.split("\t") for line in VERDICTS.read_text("utf-8").splitlines()]
    for kind in ("memory", "proposal"):
        judged = [line[3] == "1" for line in lines if line[2] == kind]
        print(f"{kind}: {sum(judged)} of {len(judged)}")


if __name__ == "__main__":
    main()
