"""What `multilingual` finds and costs beside the packaged model.

40 questions in German, Chinese and Arabic over English notes, hybrid search on the English sets,
and windows a second. Run: `python benchmarks/multilingual.py [cranfield cisi cacm]`
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from common import ROOT, home_with, machine, need_data, table
from quality import DEPTH, SETS, Set

from djinn_memory.djinn import Djinn
from djinn_memory.embedding.calibration import calibrate
from djinn_memory.embedding.embedder import create_embedder
from djinn_memory.embedding.registry import parse_model
from djinn_memory.home.settings import EmbeddingConfig
from djinn_memory.models import Mode

MODELS = ("local", "multilingual")
QUESTIONS = Path(__file__).with_name("foreign_questions.tsv")
"""By line: language, vault, note that answers, question. Written before the first search."""

LANGUAGES = ("German", "Chinese", "Arabic")
HITS = 5
WINDOWS = 200
"""Number of texts whose embedding is timed."""


def measure_foreign() -> list[list[object]]:
    """By model and mode a row: hit@5 by language, and of all."""
    asked = [line.split("\t") for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    folders = {"foam": need_data() / "vaults" / "foam-docs", "sample": ROOT / "vaults" / "shared"}
    rows: list[list[object]] = []
    with home_with(**folders) as home:
        home.edit((("search", "per_note"), 1), (("search", "sweep_ms"), 0))
        djinn = Djinn(home)
        modes: tuple[Mode, ...] = ("meaning", "hybrid")
        for model in MODELS:
            djinn.index(model=model)
            for mode in modes:
                found: dict[str, list[bool]] = {language: [] for language in LANGUAGES}
                for language, vault, path, question in asked:
                    hits = djinn.search(question, mode=mode, limit=HITS).hits
                    found[language].append(
                        any((hit.vault, hit.path) == (vault, path) for hit in hits)
                    )
                every = [hit for hits_of in found.values() for hit in hits_of]
                shares = [f"{np.mean(values):.2f}" for values in (*found.values(), every)]
                rows.append([model, mode, *shares])
    return rows


def measure_english(names: list[str]) -> list[list[object]]:
    """By set a row: the hybrid search of both models."""
    rows: list[list[object]] = []
    for name in names:
        with ExitStack() as stack:
            asked = Set(name, stack)
            [measure, *_] = SETS[name]
            values = []
            for model in MODELS:
                asked.djinn.index(model=model)
                rankings = [asked.ask(question, limit=DEPTH) for question in asked.questions]
                values.append(float(np.mean(asked.scores(rankings, measure))))
            rows.append([name, measure, *(f"{value:.4f}" for value in values),
                         f"{values[1] - values[0]:+.4f}"])  # fmt: skip
    return rows


def measure_speed() -> list[list[object]]:
    """By model a row: windows a second, and the line that calibrates its cosines."""
    corpus = need_data() / "retrieval" / "cranfield" / "corpus.jsonl"
    lines = corpus.read_text(encoding="utf-8").splitlines()[:WINDOWS]
    texts = [" ".join(line.split()[2:130]) for line in lines]
    rates: list[float] = []
    rows: list[list[object]] = []
    for model in MODELS:
        provider, name = parse_model(model)
        embedder = create_embedder(EmbeddingConfig(provider=provider, model=name))
        assert embedder
        embedder.embed(texts[:2])
        began = time.perf_counter(), time.process_time()
        embedder.embed_documents(texts)
        wall, spent = time.perf_counter() - began[0], time.process_time() - began[1]
        rates.append(len(texts) / spent)
        line = calibrate(embedder)
        rows.append([
            model, f"{len(texts) / wall:.1f}", f"{rates[-1]:.1f}", f"{rates[-1] / rates[0]:.2f}",
            f"{line.scale:.2f} x {line.shift:+.2f}",
        ])  # fmt: skip
    return rows


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    print(f"## Other languages\n\n`python benchmarks/multilingual.py` on {machine()}\n")
    table(
        ["model", "windows a second", "of processor time", "of the packaged", "calibration"],
        measure_speed(),
    )
    table(["model", "mode", *LANGUAGES, "hit@5"], measure_foreign())
    sets = sys.argv[1:] or ["cranfield", "cisi", "cacm"]
    table(["set", "measure", *MODELS, "difference"], measure_english(sets))
