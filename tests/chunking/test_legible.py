"""Text that people wrote is embedded; encoded data and minified code are found by words only."""

from __future__ import annotations

import base64
import random
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import MODEL_READS
from djinn_memory.chunking.tokens import SHORTEST, legible
from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.indexing.indexer import cut
from djinn_memory.notes.note import parse

BYTES = random.Random(6).randbytes(640)
DATA = base64.encodebytes(random.Random(3).randbytes(30_000)).decode()
SCRIPT = "function(a,b){return a.c(b)||null};var d=new e(f[0],g),h=i?j:k;l.m('n',{o:p,q:!0});" * 200
DUMP = "".join(
    f"{at:08x}  {BYTES[at : at + 16].hex(' ')}  |................|\n" for at in range(0, 640, 16)
)
BINARY = random.Random(5).randbytes(900).replace(b"\0", b"\n").decode(errors="replace")
PROSE = "The boat lies at pontoon C, and the harbour master wants to be paid in advance. " * 9
CODE = "def area(width: int, height: int) -> int:\n    return width * height  # in cells\n\n" * 9


@pytest.mark.parametrize(
    "text", [DATA, SCRIPT, DATA.replace("\n", ""), '{"a":[1,2,3],"b":4},' * 60, BINARY, DUMP]
)
def test_what_no_one_reads(text: str) -> None:
    assert not legible(text)


@pytest.mark.parametrize(
    "text",
    [PROSE, CODE, "", "x" * (SHORTEST - 1), "船は桟橋に横たわっている。" * 40, "| a | b |\n" * 60,
     "| 2026-11-23 | pontoon C | 14.50 | paid |\n" * 9,
     "Die Donaudampfschifffahrtsgesellschaft entließ den Kapitän. " * 9, "- [x] buy milk\n" * 40],
)  # fmt: skip
def test_what_people_write(text: str) -> None:
    assert legible(text)


def test_a_few_bytes_of_another_encoding_stay_legible() -> None:
    assert legible((PROSE + "caf\ufffd ") * 3)


def test_prose_beside_data_is_embedded_in_windows_that_the_model_reads() -> None:
    for at in range(0, 3000, 500):
        text = f"{PROSE}\n\n{DATA[:at]}\n\n{PROSE}\n\n{DATA.replace(chr(10), '')[at:]} {PROSE}"
        note = parse("a.md", text.encode())
        windows = [
            (note.searched[chunk.start + window.start : chunk.start + window.end], window)
            for chunk, windows in cut(note)
            for window in windows
        ]
        embedded = [text for text, window in windows if window.hash]
        assert all(window.length <= MODEL_READS for _, window in windows if window.hash)
        prose = sum(text.count("harbour master") for text in embedded)
        assert prose >= 0.9 * text.count("harbour master")


@given(st.lists(st.text(string.ascii_letters, min_size=1, max_size=9), min_size=1))
def test_words_are_legible(words: list[str]) -> None:
    assert legible(" ".join(words))


def test_a_note_of_data_is_found_by_words_and_named_once(
    djinn: Djinn, home: Home, shared: Path
) -> None:
    (shared / "data.md").write_text(f"# Attachment\n\n{PROSE}\n\nzephyr\n\n{DATA}\n")
    (shared / "small.md").write_text(f"# Key\n\n{DATA[:2000]}\n")
    (shared / "prose.md").write_text(f"# Plain\n\n{PROSE}\n")
    report = djinn.index()
    assert report.windows == report.embedded < 20
    [problem] = report.problems
    assert problem.what == "shared/data.md"
    assert "keyword matches only" in problem.why
    assert djinn.search("zephyr", mode="words").hits[0].path == "data.md"
    line = DATA.splitlines()[300].split("+")[0].split("/")[0]
    assert djinn.search(line).hits[0].path == "data.md"
    assert djinn.memories.stats().pending == 0
    (shared / "data.md").write_text(f"# Attachment\n\n{PROSE}\n")
    assert djinn.index().problems == ()
