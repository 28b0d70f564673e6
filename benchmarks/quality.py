"""nDCG@10 on the retrieval sets, through the real pipeline: a document is a note.

Run: `python benchmarks/quality.py [cranfield cacm]`
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np
from common import home_with, machine, need_data, table

from djinn_memory.djinn import Djinn
from djinn_memory.models import Mode
from djinn_memory.yamltext import scalar

DEPTH = 200


def write_notes(folder: Path, corpus: Path) -> None:
    """A note for each document, its title in the front matter, named by its id."""
    for line in corpus.read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        title = " ".join(document["title"].split())
        head = f"---\ntitle: {scalar(title)}\n---\n" if title else ""
        (folder / f"{document['_id']}.md").write_text(head + document["text"], encoding="utf-8")


def judgements(path: Path) -> dict[str, dict[str, int]]:
    """By query: the gain of each judged document."""
    found: dict[str, dict[str, int]] = {}
    for line in path.read_text().splitlines()[1:]:
        query, document, gain = line.split("\t")
        if int(gain) > 0:
            found.setdefault(query, {})[document] = int(gain)
    return found


def ndcg(ranked: list[str], gains: dict[str, int], depth: int = 10) -> float:
    """Graded gains, against the best order of all judged documents."""
    got = sum(gains.get(one, 0) / math.log2(place + 2) for place, one in enumerate(ranked[:depth]))
    best = sorted(gains.values(), reverse=True)[:depth]
    return got / sum(gain / math.log2(place + 2) for place, gain in enumerate(best))


def fused(first: list[str], second: list[str], k: int = 60) -> list[str]:
    """Reciprocal rank fusion of two rankings."""
    scores: dict[str, float] = {}
    for ranking in (first, second):
        for place, one in enumerate(ranking, 1):
            scores[one] = scores.get(one, 0.0) + 1 / (k + place)
    return sorted(scores, key=lambda one: (-scores[one], one))


def bootstrap(ours: list[float], theirs: list[float], rounds: int = 10_000) -> float:
    """One-sided paired bootstrap: how often a resample shows no gain over `theirs`."""
    gain = np.array(ours) - np.array(theirs)
    draws = np.random.default_rng(7).integers(0, len(gain), (rounds, len(gain)))
    return float((gain[draws].mean(axis=1) <= 0).mean())


def measure(name: str) -> list[list[object]]:
    """The rows of one set."""
    data = need_data() / "retrieval" / name
    wanted = judgements(data / "qrels.tsv")
    queries = [json.loads(line) for line in (data / "queries.jsonl").read_text().splitlines()]
    queries = [query for query in queries if query["_id"] in wanted]
    with tempfile.TemporaryDirectory() as folder:
        write_notes(Path(folder), data / "corpus.jsonl")
        with home_with(docs=Path(folder)) as home:
            home.edit((("search", "per_note"), 1), (("search", "sweep_ms"), 0))
            djinn = Djinn(home)
            djinn.index()
            runs: dict[str, list[list[str]]] = {"words": [], "meaning": [], "hybrid": []}
            for query in queries:
                for mode, ranked in runs.items():
                    legs: Mode = mode  # type: ignore[assignment]
                    hits = djinn.search(_as_text(query["text"]), mode=legs, limit=DEPTH).hits
                    ranked.append([Path(hit.path).stem for hit in hits])
    runs["RRF k=60"] = [fused(*pair) for pair in zip(runs["words"], runs["meaning"], strict=True)]
    scores = {
        mode: [ndcg(r, wanted[q["_id"]]) for r, q in zip(ranked, queries, strict=True)]
        for mode, ranked in runs.items()
    }
    return [
        [name, mode, f"{np.mean(scores[mode]):.4f}",
         "" if mode == "hybrid" else f"{bootstrap(scores['hybrid'], scores[mode]):.4f}"]
        for mode in ("words", "meaning", "RRF k=60", "hybrid")
    ]  # fmt: skip


def _as_text(query: str) -> str:
    # A quote or a minus in a question of the set is punctuation, not a wish.
    return query.replace('"', " ").replace(" -", " ")


if __name__ == "__main__":
    print(f"## Quality\n\n`python benchmarks/quality.py` on {machine()}\n")
    rows = [row for name in sys.argv[1:] or ["cranfield", "cacm"] for row in measure(name)]
    table(["set", "ranking", "nDCG@10", "p that hybrid is no better"], rows)
