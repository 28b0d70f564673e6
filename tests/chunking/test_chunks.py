import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import CHUNK_TOKENS, OVERLAP_TOKENS, chunks, windows
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.models import Chunk
from djinn_memory.notes.markdown import code_blocks, headings
from djinn_memory.notes.note import parse
from tests.chunking.test_sections import MARKDOWN
from tests.growth import assert_linear


def words(text: str) -> list[int]:
    """A token a word: what a test can count."""
    return [match.start() for match in re.finditer(r"\S+", text)]


def size(text: str, chunk: Chunk) -> int:
    return len(words(text[chunk.start : chunk.end]))


def check(text: str, body: int, tokens: list[int], limit: int) -> list[Chunk]:
    """Cut, and hold to what holds for every text."""
    found = chunks(text, body, tokens, limit=limit)
    assert found
    done = body
    skipped = ""
    for chunk in found:
        assert done <= chunk.start <= chunk.end <= len(text)
        skipped += text[done : chunk.start]
        done = chunk.end
        assert sum(chunk.start <= token < chunk.end for token in tokens) <= limit
        if chunk.start < chunk.end:
            assert not text[chunk.end - 1].isspace()
            assert chunk.last_line == text.count("\n", 0, chunk.end - 1) + 1
        assert chunk.first_line <= text.count("\n", 0, chunk.start) + 1
        assert chunk.first_line <= chunk.last_line
    skipped += text[done:]
    fences = code_blocks(text)
    heads = "".join(
        text[head.opens : head.start]
        for head in headings(text, body)
        if not any(start <= head.opens < end for start, end in fences)
    )
    assert "".join(skipped.split()) == "".join(heads.split())
    return found


@given(MARKDOWN, st.integers(0, 20), st.integers(1, 12))
def test_chunks_hold_all_text_once(text: str, body: int, limit: int) -> None:
    check(text, min(body, len(text)), words(text), limit)


@given(st.text(st.sampled_from("a .\n|`#-"), max_size=200), st.integers(1, 5))
def test_chunks_of_any_text(text: str, limit: int) -> None:
    check(text, 0, words(text), limit)


@pytest.mark.parametrize("text", ["", "\n\n", " ", "---\n---\n"])
def test_a_note_without_text_is_one_chunk(text: str) -> None:
    assert chunks(text, len(text), []) == [Chunk((), len(text), len(text), 1, 1)]


def test_lines_are_those_of_the_file() -> None:
    text = "---\na: b\n---\nintro\n\n# A\n\none\n\n## B\n\n## C\ntwo\nthree\n\n"
    body = text.index("intro")
    found = [
        (chunk.headings, text[chunk.start : chunk.end], chunk.first_line, chunk.last_line)
        for chunk in chunks(text, body, words(text))
    ]
    assert found == [
        ((), "intro", 4, 4),
        (("A",), "one", 6, 8),
        (("A", "B"), "", 10, 10),
        (("A", "C"), "two\nthree", 12, 14),
    ]


def test_a_heading_alone_is_found_by_those_below_it() -> None:
    text = "# A\n## B\nb\n# C"
    assert [chunk.headings for chunk in chunks(text, 0, words(text))] == [("A", "B"), ("C",)]


FENCE = "```\n" + "code code\n\n" * 8 + "```"
TABLE = "\n".join(["| a | b |"] * 4)


@pytest.mark.parametrize("block", [FENCE, TABLE, "  " + FENCE.replace("\n", "\n  ")])
@pytest.mark.parametrize("before", [0, 1, 5, 15, 25, 100])
@pytest.mark.parametrize("after", [0, 5, 25, 100])
def test_what_fits_stays_whole(block: str, before: int, after: int) -> None:
    text = f"{'word ' * before}\n\n{block}\n\n{'word ' * after}"
    found = check(text, 0, words(text), 30)
    assert any(block.strip() in text[chunk.start : chunk.end] for chunk in found)


def test_a_short_lead_stays_with_its_block() -> None:
    text = f"Like this:\n\n{FENCE}\n\n{'word ' * 20}"
    first = chunks(text, 0, words(text), limit=30)[0]
    assert text[first.start : first.end] == f"Like this:\n\n{FENCE}"


def test_a_block_too_large_is_cut_between_lines() -> None:
    text = "```\n" + "some code here\n" * 50 + "```"
    found = check(text, 0, words(text), 20)
    assert all(text[chunk.start : chunk.end].count("\n") > 2 for chunk in found)
    assert all(text[chunk.end : chunk.end + 1] in ("\n", "") for chunk in found)


@pytest.mark.parametrize(
    ("unit", "end"),
    [("one two three.\n\n", "three."), ("one two three\n", "three"), ("One two three. ", "three."),
     ("一二 三。", "。"), ("one ", "one")],
)  # fmt: skip
def test_text_is_cut_at_the_best_break(unit: str, end: str) -> None:
    text = unit * 40
    found = check(text, 0, words(text), 20)
    assert len(found) > 1
    assert all(text[chunk.start : chunk.end].endswith(end) for chunk in found)


def test_chunks_are_even() -> None:
    text = "a sentence of five words.\n" * 41
    sizes = [size(text, chunk) for chunk in check(text, 0, words(text), 100)]
    assert min(sizes) > 40


@given(st.integers(0, 500), st.integers(1, 60), st.integers(0, 5))
def test_windows_cover_and_overlap(count: int, limit: int, lead: int) -> None:
    tokens = [lead + 3 * number for number in range(count)]
    end = lead + 3 * count + 2
    found = windows(0, end, tokens, limit)
    assert found[0][0] == 0
    assert found[-1][1] == end
    shared = min(OVERLAP_TOKENS, limit // 4)
    for start, stop in found:
        inside = sum(start <= token < stop for token in tokens)
        assert inside <= limit
        assert len(found) == 1 or inside > shared
    for (first, stop), (start, _) in pairwise(found):
        assert first < start <= stop
        assert sum(start <= token < stop for token in tokens) == shared


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "\n", " ", "# a\n", "#\n", "a\n--\n", "| a |\n", "```\n", "```\n\n", "[", "=\n",
     "a. ", "字。", ".)", "> ", "- a\n", "\t\n", "|", "--\n", "# [[a"]
)  # fmt: skip
def test_hostile_text_takes_linear_time(unit: str) -> None:
    def work(characters: int) -> None:
        text = unit * (characters // len(unit))
        tokens = list(range(0, len(text), 4))
        for chunk in chunks(text, 0, tokens):
            windows(chunk.start, chunk.end, tokens, 100)

    assert_linear(work, 60_000)


def test_a_real_vault(data_dir: Path) -> None:
    for file in sorted((data_dir / "vaults" / "foam-docs").rglob("*.md")):
        note = parse(file.name, file.read_bytes())
        check(note.text, note.body, token_starts(note.text), CHUNK_TOKENS)
