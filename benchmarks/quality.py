"""nDCG@10 and recall on the retrieval sets, through the real pipeline: a document is a note.

Questions are asked as they stand. Run: `python benchmarks/quality.py [cranfield cacm]`
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from common import home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.cross_encoder import CrossEncoder
from djinn_memory.embedding.torch_model import packaged_original
from djinn_memory.home.home import Home
from djinn_memory.models import Expand, Mode
from djinn_memory.system.yaml_edit import scalar

DEPTH = 200
Rows = list[list[object]]
Question = dict[str, Any]
Gains = dict[str, int]
"""By document that answers: how well."""
Judged = dict[str, Gains]


def ndcg(ranked: list[str], gains: Gains, depth: int = 10) -> float:
    """Graded gains, against the best order of all judged documents."""
    got = sum(gains.get(name, 0) / math.log2(at + 2) for at, name in enumerate(ranked[:depth]))
    best = sorted(gains.values(), reverse=True)[:depth]
    return got / sum(gain / math.log2(at + 2) for at, gain in enumerate(best))


def recall(ranked: list[str], gains: Gains, depth: int) -> float:
    """The share of the documents that answer which stand among the first."""
    return len(gains.keys() & set(ranked[:depth])) / len(gains)


MEASURES: dict[str, Callable[[list[str], Gains], float]] = {
    "nDCG@10": ndcg,
    "recall@5": lambda ranked, gains: recall(ranked, gains, 5),
    "recall@10": lambda ranked, gains: recall(ranked, gains, 10),
}

SETS = {
    "cranfield": ("nDCG@10",),
    "cacm": ("nDCG@10",),
    "cisi": ("nDCG@10",),
    "conversations_by_session": ("recall@5", "recall@10"),
    "conversations_by_turn": ("recall@5", "recall@10"),
}
"""By set: what is measured."""

LEFT_OUT = """\
Tried and left out. MaxSim of tokens against hybrid without it; turns are measured by recall@10,
sessions by recall@5, the others by nDCG@10:

| what | cranfield | cacm | cisi | sessions | turns |
|---|---|---|---|---|---|
| as it ships: weight .4 (long windows) to 1 (short) | -.001 | +.010 | +.009 | +.016 | +.062 |
| weight .5 for all windows | -.003 | +.010 | +.014 | +.013 | +.053 |
| the same, square root of the rarity | +.001 | +.005 | +.015 | +.012 | +.048 |
| the same, questions of any length | -.006 | +.011 | +.022 | +.014 | +.053 |
| weight .8 for all windows | -.005 | +.010 | +.016 | +.007 | +.057 |
| `expand: prf` beside weight .5 | +.004 | +.021 | +.002 | +.002 | +.048 |
| no feedback (without MaxSim) | -.007 | -.004 | +.004 | -.001 | +.013 |
| half the feedback (without MaxSim) | -.002 | +.007 | +.002 | .000 | +.003 |

Turns near a turn that matches (`search/stages/neighbours.py`): the share of the difference by which
a turn is raised, by distance; recall@10 of turns. The first two conversations were for tuning:

| shares | all | conv-26 | conv-30 | conv-41 |
|---|---|---|---|---|
| none | .718 | .702 | .711 | .737 |
| .5 | .786 | .811 | .770 | .770 |
| .4, .3, .2 | .802 | .811 | .756 | .817 |
| .5, .4, .3 (as it ships) | .816 | .834 | .770 | .822 |
| .6, .5, .4, .3 | .815 | .824 | .756 | .837 |
| added before MaxSim, .5 | .762 | | | |
| names of speakers in the question: .05 for their turns, after .5 | .797 | .798 | .770 | .811 |

Names of speakers cost questions that ask the wrong speaker .045, and gain nothing on the first two
conversations. Added to the best chunk of a session, its second best loses .002 of recall@5.

Of each token one sign a dimension is kept, 48 bytes, which costs nothing against whole vectors
(sessions +.011, turns +.062 with either). Stop words and punctuation are left out: half of all
tokens (-.002, -.000, +.003, -.003, -.003). A window of 150 words takes 4 kB.

With quotes, minus signs and colons taken out of the questions, against hybrid (.4555 and .5868),
one-sided p by paired bootstrap:

| what | cranfield | cacm |
|---|---|---|
| `expand: prf`, but the best 8 notes instead of 10 | +.007, p .07 | -.002, p .56 |
| the same, but 15 terms instead of 20 | +.006, p .09 | -.001, p .53 |
| the same, but 15 terms of the best 20 | +.005, p .16 | -.006, p .68 |
| the same, but added as BM25: 20 terms of the best 10, weight 0.2 | +.009, p .03 | -.004, p .63 |
| the same, words alone: 20 terms of the best 5, share 0.1 | +.023, p .00 | +.009, p .09 |
| the same, but only what was found anyway is scored again | +.008, p .03 | +.005, p .33 |
| best cosine of several texts, instead of their mean | +.015, p .02 | -.016, p .86 |
| parts of meaning without the plain text | +.012, p .16 | -.060, p .99 |
| parts of words that count as much as the plain text | +.029, p .01 | -.063, p .97 |

Feedback is an option and off by default: as it ships it gains in the mean on both sets and in both
modes, but on CACM within what chance gives, and hybrid with the settings next to it loses a little
there. Of 131 settings tried before none has p < .05 on both sets, in either mode; the rows of the
best 20, of BM25 and of words alone are from then. Asking the index for what was added changes no
nDCG@10, as the scored-again row shows; it is done because words alone find more by it.

The last three are measured with the title of a note that answers, the first two of them in the
meaning alone; the mean with the plain text brings +.014 (p .02) and +.018 (p .12) there.
"""


def write_notes(folder: Path, corpus: Path) -> dict[str, Path]:
    """A note for each document, named by its id, in the vault of its group; returns the vaults.

    The title is in the front matter. A question is asked of its own group only.
    """
    vaults: dict[str, Path] = {}
    for line in corpus.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        group, _, name = document["_id"].rpartition("/")
        vault = vaults.setdefault(group or "docs", folder / (group or "docs"))
        vault.mkdir(exist_ok=True)
        title = " ".join(document["title"].split())
        head = f"---\ntitle: {scalar(title)}\n---\n" if title else ""
        (vault / file_name(name)).write_text(head + document["text"], encoding="utf-8")
    return vaults


def file_name(document: str) -> str:
    """The note of a document."""
    return document.rpartition("/")[2].replace(":", "_") + ".md"


def judgements(path: Path) -> Judged:
    """By question: the gain of each judged document, named as its note."""
    judged: Judged = {}
    for line in path.read_text().splitlines()[1:]:
        question, document, gain = line.split("\t")
        if int(gain) > 0:
            judged.setdefault(question, {})[file_name(document)] = int(gain)
    return judged


def fused(first: list[str], second: list[str], k: int = 60) -> list[str]:
    """Reciprocal rank fusion of two rankings."""
    scores: dict[str, float] = {}
    for ranking in (first, second):
        for place, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (k + place)
    return sorted(scores, key=lambda name: (-scores[name], name))


def bootstrap(ours: list[float], theirs: list[float], rounds: int = 10_000) -> float:
    """One-sided paired bootstrap: how often a resample shows no gain over `theirs`."""
    gain = np.array(ours) - np.array(theirs)
    draws = np.random.default_rng(7).integers(0, len(gain), (rounds, len(gain)))
    return float((gain[draws].mean(axis=1) <= 0).mean())


class Set:
    """A retrieval set, indexed as a user would index it."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self.data = need_data() / "retrieval" / name
        self.judged = judgements(self.data / "qrels.tsv")
        lines = (self.data / "queries.jsonl").read_text(encoding="utf-8").splitlines()
        asked = [json.loads(line) for line in lines]
        self.questions: list[Question] = [one for one in asked if one["_id"] in self.judged]
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        vaults = write_notes(self.folder, self.data / "corpus.jsonl")
        self.home = stack.enter_context(home_with(**vaults))
        self.home.edit((("search", "per_note"), 1), (("search", "sweep_ms"), 0))
        self.djinn = Djinn(self.home)
        self.djinn.index()

    def ask(self, question: Question, text: str | None = None, **options: Any) -> list[str]:
        """The notes that answer, best first."""
        group = question.get("metadata", {}).get("group", "docs")
        text = question["text"] if text is None else text
        result = self.djinn.search(text, vaults=(group,), **options)
        return [Path(hit.path).name for hit in result.hits]

    def scores(self, rankings: list[list[str]], measure: str) -> list[float]:
        """By question."""
        return [
            MEASURES[measure](ranked, self.judged[question["_id"]])
            for ranked, question in zip(rankings, self.questions, strict=True)
        ]


def measure_rankings(asked: Set) -> Rows:
    """By measure and ranking a row."""
    modes: tuple[Mode, ...] = ("words", "meaning", "hybrid")
    runs: dict[str, list[list[str]]] = {
        mode: [asked.ask(question, mode=mode, limit=DEPTH) for question in asked.questions]
        for mode in modes
    }
    runs["RRF k=60"] = [fused(*pair) for pair in zip(runs["words"], runs["meaning"], strict=True)]
    rows: Rows = []
    for measure in SETS[asked.name]:
        ours = asked.scores(runs["hybrid"], measure)
        for ranking in ("words", "meaning", "RRF k=60", "hybrid"):
            scores = asked.scores(runs[ranking], measure)
            chance = "" if ranking == "hybrid" else f"{bootstrap(ours, scores):.4f}"
            rows.append([asked.name, measure, ranking, f"{np.mean(scores):.4f}", chance])
    return rows


def measure_feedback(asked: Set) -> Rows:
    """By mode a row: what pseudo-relevance feedback brings and costs."""
    rows: Rows = []
    modes: tuple[Mode, ...] = ("hybrid", "words")
    ways: tuple[Expand, ...] = ("none", "prf")
    measure = SETS[asked.name][-1]
    for mode in modes:
        rankings: dict[Expand, list[list[str]]] = {way: [] for way in ways}
        times: dict[Expand, list[float]] = {way: [] for way in ways}
        for question in asked.questions:
            for way in ways:
                began = time.perf_counter()
                rankings[way].append(asked.ask(question, mode=mode, expand=way))
                times[way].append((time.perf_counter() - began) * 1000)
        scores = {way: asked.scores(rankings[way], measure) for way in ways}
        added = np.median(np.array(times["prf"]) - np.array(times["none"]))
        rows.append([
            asked.name, measure, f"{mode} + prf", f"{np.mean(scores['none']):.4f}",
            f"{np.mean(scores['prf']):.4f}", f"{bootstrap(scores['prf'], scores['none']):.4f}",
            f"{added:.0f} ms",
        ])  # fmt: skip
    return rows


def measure_parts(asked: Set) -> list[object]:
    """One row: what it brings that the caller names the title of a note that answers.

    That note is left out of both rankings and of the judgements: what is measured is how its title
    helps to find the others, as the guess of an agent would that knows its subject.
    """
    titles = titles_of(asked.data / "corpus.jsonl")
    draw = random.Random(3)
    plain: list[float] = []
    parts: list[float] = []
    added: list[float] = []
    for question in asked.questions:
        judged = dict(asked.judged[question["_id"]])
        hint = draw.choice(sorted(judged))
        del judged[hint]
        if not judged:
            continue
        text, title = question["text"], titles[hint]
        times = []
        for words, scores in ((text, plain), (f"{text}\nwords: {title}\nmeaning: {title}", parts)):
            began = time.perf_counter()
            ranked = asked.ask(question, words, limit=DEPTH)
            times.append(time.perf_counter() - began)
            scores.append(ndcg([name for name in ranked if name != hint], judged))
        added.append(times[1] - times[0])
    return [
        asked.name, len(plain), f"{np.mean(plain):.4f}", f"{np.mean(parts):.4f}",
        f"{bootstrap(parts, plain):.4f}", f"{np.median(added) * 1000:.0f} ms",
    ]  # fmt: skip


def titles_of(corpus: Path) -> dict[str, str]:
    """By note: its title, else how it begins."""
    documents = map(json.loads, corpus.read_text(encoding="utf-8").splitlines())
    return {
        file_name(document["_id"]): " ".join((document["title"] or document["text"][:80]).split())
        for document in documents
    }


def rerank_time(djinn: Djinn, name: str, queries: list[Question]) -> list[object]:
    """One row: what a cross-encoder of the usual size costs; its weights say nothing about order.

    Same layers and width as ms-marco-MiniLM-L6, made from the packaged model.
    """
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    with tempfile.TemporaryDirectory() as folder:
        source = str(packaged_original())
        AutoModelForSequenceClassification.from_pretrained(source, num_labels=1).save_pretrained(
            folder
        )
        AutoTokenizer.from_pretrained(source).save_pretrained(folder)
        before = dict(os.environ)
        os.environ.update(
            DJINN_SEARCH__RERANK=folder, DJINN_SEARCH__RERANK_MS="60000", DJINN_CACHE=folder
        )
        reranking = Djinn(Home(djinn.home.root))
        encoder = CrossEncoder(folder, djinn.home.root)
        encoder.prepare()
        spent = []
        for query in queries[:30]:
            [step] = reranking.search(query["text"], mode="words").steps
            spent.append(step.milliseconds)
        precision = encoder.card.precision
        os.environ.clear()
        os.environ.update(before)
    return [name, precision, f"{np.median(spent[1:]):,.0f} ms", f"{max(spent[1:]):,.0f} ms"]


def measure(name: str) -> tuple[Rows, Rows, Rows, Rows]:
    """Of one set: rows of rankings, of feedback, and for abstracts of parts and of rerank."""
    with ExitStack() as stack:
        asked = Set(name, stack)
        rankings, feedback = measure_rankings(asked), measure_feedback(asked)
        if name not in ("cranfield", "cacm"):
            return rankings, feedback, [], []
        reranked = rerank_time(asked.djinn, name, asked.questions)
        return rankings, feedback, [measure_parts(asked)], [reranked]


if __name__ == "__main__":
    print(f"## Quality\n\n`python benchmarks/quality.py` on {machine()}\n")
    measured = [measure(name) for name in sys.argv[1:] or SETS]
    rankings, feedback, parts, reranked = (
        [row for rows in kind for row in rows] for kind in zip(*measured, strict=True)
    )
    table(["set", "measure", "ranking", "value", "p that hybrid is no better"], rankings)
    print("Feedback, `expand: prf`:\n")
    table(["set", "measure", "ranking", "without", "with", "p of no gain", "added"], feedback)
    print("Hybrid, with the title of one note that answers as `words:` and `meaning:`:\n")
    table(["set", "queries", "without", "with", "p of no gain", "added"], parts)
    print("Rerank of 30 by a cross-encoder of six layers, 384 wide:\n")
    table(["set", "weights", "median", "longest"], reranked)
    print(LEFT_OUT)
