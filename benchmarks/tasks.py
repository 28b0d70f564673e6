"""The verdicts of recall, context and wake on 50 tasks over three conversations, and their tokens.

Each conversation is imported into a home of its own, as a chat log. Of the tasks, 32 are about what
was said, and 18 are about nothing that was.

Run: `python benchmarks/tasks.py [CONVERSATION ...]`
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

from common import home_with, machine, need_data, table

from djinn_memory.chunking.tokens import token_counts
from djinn_memory.djinn import Djinn
from djinn_memory.memories.briefing.markdown import markdown

TASKS = Path(__file__).with_name("tasks.tsv")


def chat_log(turns: Path) -> str:
    """The turns of a conversation as JSON Lines that `djinn import` reads."""
    lines = []
    for number, line in enumerate(turns.read_text(encoding="utf-8").splitlines()):
        turn = json.loads(line)
        began = datetime.strptime(turn["session_time"], "%I:%M %p on %d %B, %Y")
        message = {
            "author": turn["speaker"], "text": turn["text"], "id": turn["id"],
            "date": (began + timedelta(seconds=10 * number)).isoformat(),
            "session": f"s{turn['session']}",
        }  # fmt: skip
        lines.append(json.dumps(message))
    return "\n".join(lines) + "\n"


def answers(djinn: Djinn, task: str) -> Iterator[tuple[str, str, int]]:
    """The command, its verdict, and the tokens of all that it says."""
    recalled = djinn.recall(task)
    said = [f"{memory.title} {memory.address}" for memory in recalled.memories]
    yield "recall", recalled.verdict, recalled.tokens + sum(token_counts(said) if said else ())
    for command, briefing in (("context", djinn.context(task)), ("wake", djinn.wake(task=task))):
        yield command, str(briefing.verdict), token_counts([markdown(briefing)])[0]


def main() -> None:
    """Import the conversations, ask the tasks and print the table."""
    data = need_data() / "conversations"
    rows = [line.split("\t") for line in TASKS.read_text(encoding="utf-8").splitlines()[1:]]
    wanted = sys.argv[1:] or sorted({row[0] for row in rows})
    print(f"## Tasks\n\n`python benchmarks/tasks.py` on {machine()}\n")
    result: list[list[object]] = []
    for name in wanted:
        with home_with() as home, Djinn(home, resident=True) as djinn:
            log = home.root / f"{name}.jsonl"
            log.write_text(chat_log(data / f"{name}.turns.jsonl"), encoding="utf-8")
            djinn.import_history(paths=[log])
            asked = [
                (known, [*answers(djinn, task)]) for group, known, task in rows if group == name
            ]
        for known in ("known", "nothing"):
            given = [answer for kind, answer in asked if kind == known]
            verdicts = [answer[0][1] for answer in given]
            counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
            same = sum(len({verdict for _, verdict, _ in answer}) == 1 for answer in given)
            unsure = [size for answer in given for _, verdict, size in answer if verdict != "sure"]
            sure = [size for answer in given for _, verdict, size in answer if verdict == "sure"]
            result.append([
                name, known, f"{same} of {len(given)}",
                ", ".join(f"{verdict} {count}" for verdict, count in counts.items()),
                max(unsure, default="-"), statistics.median(sure) if sure else "-",
            ])  # fmt: skip
    table(["conversation", "tasks about", "same verdict", "verdicts of recall",
           "most tokens unless sure", "median tokens if sure"], result)  # fmt: skip
    print("`context` and `wake` count all that they print.")


if __name__ == "__main__":
    main()
