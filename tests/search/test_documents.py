"""Hits of documents: the page that answers, and what an excerpt keeps."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pypdfium2
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.djinn import Djinn
from djinn_memory.home.home import Home
from djinn_memory.models import Mode, Strategy
from djinn_memory.search.snippet import answering, excerpt
from tests.memories.library.papers import WORDS, pdf, put, sentences

ANY = st.text(st.sampled_from("ab kettle*_[]()|`#>\n-é日"), max_size=900)


@pytest.mark.few(3)
@pytest.mark.parametrize("strategy", get_args(Strategy))
def test_the_page_is_that_on_which_the_answer_stands(
    djinn: Djinn, tmp_path: Path, strategy: Strategy
) -> None:
    """On every page the same words but one, so that many pages share a chunk and a window."""
    put(djinn, pdf(tmp_path / "a.pdf", sentences()), strategy=strategy)
    for mode in ("words", "hybrid"):
        for number, word in enumerate(WORDS, 1):
            best = djinn.search(f"machine keeps its {word} safe", mode=mode).hits[0]
            assert (best.page_number, best.total_pages) == (number, 24)
            assert word in best.snippet
            assert word in best.excerpt
            assert best.filename == "a.pdf"


def test_every_page_of_a_long_document_can_be_cited(djinn: Djinn, tmp_path: Path) -> None:
    filling = "Nothing of interest is told here, sentence after sentence. " * 25
    pages = [f"{filling} The {word} is blue. {filling}" for word in WORDS[:8]]
    put(djinn, pdf(tmp_path / "a.pdf", pages), strategy="fixed", chunk_size=4096)
    for number, word in enumerate(WORDS[:8], 1):
        best = djinn.search(f"blue {word}", mode="words").hits[0]
        assert best.page_number == number
        assert f"{word} is blue" in best.snippet
        assert f"{word} is blue" in " ".join(best.excerpt.split())


LETTERS = re.compile(r"[a-z]{3,}")


def told_apart(path: Path) -> dict[int, list[str]]:
    """By page of a PDF: long words of which no other page has a form."""
    document = pypdfium2.PdfDocument(str(path))
    texts = [page.get_textpage().get_text_bounded().lower() for page in document]
    document.close()
    stem = Stemmer.Stemmer("english").stemWord
    on: dict[str, set[int]] = {}
    for number, text in enumerate(texts, 1):
        for word in LETTERS.findall(text):
            on.setdefault(stem(word), set()).add(number)
    return {
        number: [
            word
            for word in dict.fromkeys(LETTERS.findall(text))
            if len(word) > 5 and on[stem(word)] == {number}
        ]
        for number, text in enumerate(texts, 1)
    }


@pytest.mark.few(2)
@pytest.mark.parametrize("strategy", ["adaptive", "words"])
@pytest.mark.parametrize(
    "name", ["docling__redp5110_sampled", "pdfplumber__federal-register-2020-17221"]
)
def test_real_documents_cite_the_right_page(
    djinn: Djinn, data_dir: Path, name: str, strategy: Strategy
) -> None:
    path = data_dir / "pdfs" / f"{name}.pdf"
    put(djinn, path, strategy=strategy)
    asked = [(word, number) for number, words in told_apart(path).items() for word in words[:9]]
    assert len(asked) >= 40
    wrong, missed = [], 0
    for word, number in asked:
        # A chunk may answer by its heading alone, which stands on an earlier page.
        hits = [hit for hit in djinn.search(word, mode="words").hits if hit.marks]
        if hits and hits[0].page_number != number:
            wrong.append((word, number, hits[0].page_number))
        missed += not hits
    # A word that the end of a line parted may read otherwise.
    assert missed <= len(asked) // 20
    assert wrong == []


def test_a_hit_tells_its_document(djinn: Djinn, tmp_path: Path) -> None:
    [one] = put(djinn, pdf(tmp_path / "a.pdf", sentences()), strategy="page_based").documents
    hits = djinn.search("machine keeps safe", planes=("documents",)).hits
    assert len(hits) == 5
    for hit in hits:
        assert (hit.document_id, hit.filename, hit.total_pages) == (one.document_id, "a.pdf", 24)
        # Cut by pages, a chunk is a page.
        assert hit.chunk_index == (hit.page_number or 0) - 1
        assert hit.plane == "documents"


def test_a_note_has_no_pages(djinn: Djinn, shared: Path) -> None:
    (shared / "a.md").write_text("---\ntitle: A\nfilename: x.pdf\ntotal_pages: 3\n---\n"
                                 "*Page 1* ^p1\n\nkettle\n")  # fmt: skip
    djinn.index()
    [hit] = djinn.search("kettle").hits
    assert hit.page_number is hit.total_pages is hit.document_id is hit.filename is None
    assert hit.chunk_index == 0


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "nonsense",
    ["chunk_strategy: foo", "chunk_size: 7", "chunk_size: [1, 2]", "chunk_strategy: {a: b}",
     f"chunk_size: {'9' * 400}", "total_pages: many", "chunk_overlap: -3", "chunk_strategy: [foo]"],
)  # fmt: skip
def test_nonsense_in_front_matter_costs_nothing(
    djinn: Djinn, home: Home, tmp_path: Path, nonsense: str
) -> None:
    put(djinn, pdf(tmp_path / "a.pdf", sentences()))
    note = home.root / "vaults" / "me" / "documents" / "a.md"
    key = nonsense.partition(":")[0]
    lines = note.read_text().splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith(f"{key}:"))
    lines[at] = f"{nonsense}\n"
    note.write_text("".join(lines))
    assert djinn.index().problems == ()
    best = djinn.search("machine keeps its violin safe").hits[0]
    if "{a: b}" not in nonsense:
        assert best.page_number == 6
    [entry] = djinn.documents.list().documents
    assert entry.total_chunks >= 1


@pytest.mark.few(5)
@pytest.mark.parametrize("most", [0, 1, 4, 5, 20, 100, 800, 5000])
@pytest.mark.parametrize("mode", ["hybrid", "words"])
def test_an_excerpt_is_no_longer_than_wanted_and_holds_what_matched(
    home: Home, tmp_path: Path, most: int, mode: Mode
) -> None:
    home.edit((("search", "excerpt"), most))
    djinn = Djinn(home)
    text = "Plain words go on and on here. " * 60
    path = tmp_path / "a.md"
    path.write_text(f"{text}\n\nThe **kettle** sings, see [[Tea|the *lantern*]].\n\n{text}")
    put(djinn, path, strategy="fixed")
    hit = djinn.search("kettle sings", mode=mode).hits[0]
    assert len(hit.excerpt) <= most
    if most >= 20:
        assert "kettle" in hit.excerpt
    if most >= 100:
        assert "The kettle sings" in hit.excerpt
    if most >= 800:
        assert "The kettle sings, see the lantern." in hit.excerpt


@given(ANY, st.data(), st.integers(0, 300))
def test_any_excerpt_is_short_and_of_the_text(text: str, data: st.DataObject, most: int) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    made = excerpt(text, (start, end), is_asked, most)
    assert len(made) <= most
    assert set(made) - set(" …") <= set(text)


@given(st.text(st.sampled_from("ab "), max_size=400), st.text(st.sampled_from("cd "), max_size=400),
       st.integers(40, 300))  # fmt: skip
def test_an_excerpt_holds_the_word_that_it_is_around(before: str, after: str, most: int) -> None:
    text = f"{before} kettle {after}"
    at = len(before) + 1
    assert "kettle" in excerpt(text, (0, len(text)), is_asked, most)
    assert "kettle" in excerpt(text, (at, at + 6), is_asked, most)


def is_asked(word: str) -> bool:
    return word.lower() in ("kettle", "blue", "violin")


@given(ANY, st.data())
def test_what_answers_is_a_part_or_inside_one(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    parts = list(zip([0, *cuts], [*cuts, len(text)], strict=True))
    start = data.draw(st.integers(0, len(text)))
    window = start, data.draw(st.integers(start, len(text)))
    best, (low, high) = answering(text, window, parts, is_asked)
    assert parts[best][0] <= low <= high <= parts[best][1]
    if any("kettle" in text[slice(*part)].split() for part in parts):
        assert "kettle" in text[low:high]


def test_the_part_with_most_words_answers_and_the_window_decides_between_equals() -> None:
    text = "blue blue blue " + "blue kettle " + "blue kettle " + "silent here. "
    parts = [(0, 15), (15, 27), (27, 39), (39, len(text))]
    assert answering(text, (0, len(text)), parts, is_asked)[0] == 1
    assert answering(text, (27, 39), parts, is_asked) == (2, (27, 39))
    assert answering(text, (0, 10), parts, is_asked) == (1, (15, 27))
    assert answering("none of it", (6, 10), [(0, 5), (5, 10)], is_asked) == (1, (6, 10))
