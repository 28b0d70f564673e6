"""A simulated agent: what ratings bring to later recalls, of questions it asked before and others.

200 tasks over CACM, and over Cranfield: each recalls for a question and rates all that it is shown
by the set's own judgements, one rating in ten wrong. Half of the questions are never asked in a
task. Whether those others gain or lose a little depends on which they are, so there are several
splits, each by an agent of its own.

Run: `python benchmarks/agent.py`
"""

from __future__ import annotations

import json
import random
import re
import tempfile
from pathlib import Path

import numpy as np
from common import home_with, machine, need_data, table
from quality import Judged, bootstrap, judgements, ndcg, write_notes

from djinn_memory.djinn import Djinn
from djinn_memory.home.setup import add_agent
from djinn_memory.memories.recall.recall import RecallResult

SPLITS = 10
TASKS = 200
WRONG = 0.1
EVERYTHING = 1_000_000
"""Tokens: the budget must not cut what is measured."""

Texts = dict[str, str]


class Simulated:
    """An agent with a home, and the questions that it is asked."""

    def __init__(self, djinn: Djinn, name: str, wanted: Judged) -> None:
        self.djinn = djinn
        self.name = name
        self.wanted = wanted

    def recall(self, text: str, limit: int | None = None) -> RecallResult:
        """A recall of a question, none of whose words is an operator."""
        plain = " ".join(re.findall(r"\w+", text))
        return self.djinn.recall(plain, limit=limit, budget=EVERYTHING, agent=self.name)

    def scores(self, questions: Texts) -> list[float]:
        """NDCG@10 of each question."""
        return [
            ndcg(ranked(self.recall(text, 10)), self.wanted[key]) for key, text in questions.items()
        ]

    def work(self, questions: Texts, dice: random.Random) -> None:
        """The tasks: every question about as often as any other."""
        keys = list(questions)
        for number in range(TASKS):
            if number % len(keys) == 0:
                dice.shuffle(keys)
            key = keys[number % len(keys)]
            found = self.recall(questions[key])
            said: dict[bool, list[int]] = {True: [], False: []}
            for one in found.memories:
                useful = Path(one.path).stem in self.wanted[key]
                said[useful != (dice.random() < WRONG)].append(one.rank)
            self.djinn.rate(
                found.request_id, useful=said[True], not_useful=said[False], agent=self.name
            )

    def condemned(self, text: str, document: str) -> list[int]:
        """Its rank before, after three wrong ratings, and after five right ones."""
        name = [f"docs:{document}.md"]
        places = [ranked(self.recall(text, 100)).index(document) + 1]
        for useful, times in ((False, 3), (True, 5)):
            for _ in range(times):
                self.djinn.rate(
                    useful=name if useful else (), not_useful=() if useful else name,
                    agent=self.name,
                )  # fmt: skip
            places.append(ranked(self.recall(text, 100)).index(document) + 1)
        return places


def ranked(found: RecallResult) -> list[str]:
    """The documents of a recall, best first."""
    return [Path(one.path).stem for one in found.memories]


def split(texts: Texts, dice: random.Random) -> dict[str, Texts]:
    """Half of the questions for the tasks, half never asked in one."""
    keys = sorted(texts)
    dice.shuffle(keys)
    middle = len(keys) // 2
    return {
        "seen": {key: texts[key] for key in keys[:middle]},
        "unseen": {key: texts[key] for key in keys[middle:]},
    }


def simulate(djinn: Djinn, texts: Texts, wanted: Judged) -> None:
    """Print the tables."""
    before: dict[str, list[float]] = {"seen": [], "unseen": []}
    after: dict[str, list[float]] = {"seen": [], "unseen": []}
    gains: dict[str, list[float]] = {"seen": [], "unseen": []}
    facts: list[list[object]] = []
    for number in range(1, SPLITS + 1):
        dice = random.Random(number)
        agent = Simulated(djinn, f"agent{number}", wanted)
        parts = split(texts, dice)
        asked = list(texts.values())[:10]
        deep = [ranked(agent.recall(text, 100)) for text in asked]
        old = {name: agent.scores(part) for name, part in parts.items()}
        agent.work(parts["seen"], dice)
        for name, part in parts.items():
            new = agent.scores(part)
            before[name] += old[name]
            after[name] += new
            gains[name].append(float(np.mean(new) - np.mean(old[name])))
        whole = [ranked(agent.recall(text, 1000)) for text in asked]
        gone = sum(len(set(one) - set(other)) for one, other in zip(deep, whole, strict=True))
        key, document = second(agent, parts["unseen"])
        facts.append([number, gone, *agent.condemned(texts[key], document)])
    table(
        ["questions", "before", "after", "gain", "least and most of a split", "p of no gain"],
        [
            [name, f"{np.mean(before[name]):.4f}", f"{np.mean(after[name]):.4f}",
             f"{np.mean(gains[name]):+.4f}", f"{min(gains[name]):+.4f} to {max(gains[name]):+.4f}",
             f"{bootstrap(after[name], before[name]):.3f}"]
            for name in before
        ],
    )  # fmt: skip
    print("Documents found before and no more, and the rank of a right one after wrong ratings:\n")
    table(["split", "vanished", "rank", "condemned by 3", "then rated right by 5"], facts)


def second(agent: Simulated, questions: Texts) -> tuple[str, str]:
    """A question, and a right document that is not its first: one that can fall and rise."""
    for key, text in questions.items():
        for document in ranked(agent.recall(text, 10))[1:]:
            if document in agent.wanted[key]:
                return key, document
    raise LookupError("no question has a second right document")


def main() -> None:
    """Make a home of each set, and let the agents work in it."""
    print(f"## A simulated agent\n\n`python benchmarks/agent.py` on {machine()}\n")
    for name in ("cacm", "cranfield"):
        print(f"### {name}\n")
        simulated(need_data() / "retrieval" / name)


def simulated(data: Path) -> None:
    """The tables of one set."""
    wanted = judgements(data / "qrels.tsv")
    queries = [json.loads(line) for line in (data / "queries.jsonl").read_text().splitlines()]
    texts = {one["_id"]: one["text"] for one in queries if one["_id"] in wanted}
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder), data / "corpus.jsonl")
        with home_with(docs=Path(folder)) as home:
            home.edit((("search", "sweep_ms"), 0))
            for number in range(1, SPLITS + 1):
                add_agent(home, f"agent{number}")
            djinn = Djinn(home)
            djinn.index()
            simulate(djinn, texts, wanted)
            djinn.close()


if __name__ == "__main__":
    main()
