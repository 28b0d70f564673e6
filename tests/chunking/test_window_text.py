from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.chunking.chunks import (
    MODEL_READS,
    PREFIX_TOKENS,
    WINDOW_TOKENS,
    chunks,
    prefix,
    room,
    window_text,
    windows,
)
from djinn_memory.chunking.tokens import token_starts
from djinn_memory.notes.note import parse

"""Of 256 tokens, two are the marks around a text."""


def test_the_prefix_says_where_and_when() -> None:
    assert prefix("T", (), None) == "T"
    assert prefix("T", ("A", "B"), "2026-03-04T10:00:00Z") == "T > A > B (2026-03-04)"
    assert prefix("T", ("T", "B"), None) == "T > B"


@given(st.text(min_size=1), st.lists(st.text(max_size=300), max_size=6))
def test_the_prefix_leaves_room(title: str, trail: list[str]) -> None:
    line = prefix(title, tuple(trail), None)
    assert len(token_starts(line)) <= PREFIX_TOKENS
    assert room(line) >= WINDOW_TOKENS - PREFIX_TOKENS


def test_a_window_is_plain_and_says_its_title_once() -> None:
    assert window_text("T > A", "**one** [[two|2]]\n") == "T > A\none 2"
    assert window_text("T > A", "") == "T > A"
    assert window_text("One", "One two") == "One two"


def test_the_day_of_an_episode_is_embedded_in_words_even_beside_its_title() -> None:
    line = prefix("Who rang?", (), "2026-05-12T09:30:00Z", "interaction")
    assert line == "Who rang? (Tuesday 12 May 2026)"
    assert window_text(line, "Who rang?\nThe pilot.") == (
        "(Tuesday 12 May 2026)\nWho rang?\nThe pilot."
    )
    assert window_text(line, "The pilot.") == f"{line}\nThe pilot."


def test_no_window_is_longer_than_the_model_reads(data_dir: Path) -> None:
    for file in sorted((data_dir / "vaults" / "foam-docs").rglob("*.md")):
        note = parse(file.name, file.read_bytes())
        tokens = token_starts(note.text)
        for chunk in chunks(note.text, note.body, tokens):
            line = prefix(note.title, chunk.headings, note.date)
            for start, end in windows(chunk.start, chunk.end, tokens, room(line)):
                assert len(token_starts(window_text(line, note.text[start:end]))) <= MODEL_READS
