import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.slugs import fold, folder, slug, unique


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("MyApp: Tech Stack", "myapp-tech-stack"),
        ("  --Hello,   World!-- ", "hello-world"),
        ("snake_case", "snake-case"),
        ("Straße", "strasse"),
        ("Cafe\u0301", "caf\u00e9"),
        ("ΣΊΣΥΦΟΣ", "σίσυφοσ"),
        ("日本語 メモ", "日本語-メモ"),
        ("ที่นี่", "ที่นี่"),
        ("हिन्दी नोट", "हिन्दी-नोट"),
        ("مرحبا بالعالم", "مرحبا-بالعالم"),
        ("١٢٣ 42", "١٢٣-42"),
        ("❤️ love", "love"),
        ("1️⃣ first", "1-first"),
        ("../../etc/passwd", "etc-passwd"),
        (".hidden", "hidden"),
        ("a\0b\nc\x1b[31m", "a-b-c-31m"),
        ("CON", "con-note"),
        ("Com1", "com1-note"),
        ("COM¹", "com¹-note"),
        ("console", "console"),
    ],
)
def test_slugs(title: str, name: str) -> None:
    assert slug(title) == name


@pytest.mark.parametrize("title", ["", "...", "🎉", "???", "\udc80", "\u0301"])
def test_a_title_without_letters_still_gets_a_name(title: str) -> None:
    assert slug(title).startswith("note-")
    assert len(slug(title)) == 13
    assert slug(title) == slug(title)


def test_different_symbols_get_different_names() -> None:
    assert slug("🎉") != slug("🎈")


def test_the_cut_falls_between_characters() -> None:
    assert slug("日本語日本語", max_bytes=13) == "日本語日"
    assert slug("a" * 12 + " bc", max_bytes=13) == "a" * 12


def test_a_limit_too_short_for_any_name_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 13"):
        slug("a", max_bytes=12)


@given(st.text(), st.integers(13, 120))
def test_every_slug_is_a_safe_file_name(title: str, limit: int) -> None:
    name = slug(title, max_bytes=limit)
    assert 0 < len(name.encode()) <= limit
    assert name == slug(name, max_bytes=limit) == fold(name)
    assert unicodedata.is_normalized("NFC", name)
    assert name.strip("-.") == name
    assert "--" not in name
    assert not set(name) & set('/\\:*?"<>|. \0\n')


def test_unique_counts_on() -> None:
    taken = {"a", "a-2", "b"}
    assert [unique(name, taken.__contains__) for name in ("a", "b", "c")] == ["a-3", "b-2", "c"]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("decision", "decisions"), ("summary", "summaries"), ("person", "people"),
        ("place", "places"), ("address", "addresses"), ("sketch", "sketches"), ("box", "boxes"),
        ("day", "days"), ("idée", "idées"), ("決定", "決定"), ("con", "con-notes"),
        ("Meeting Note", "meeting-notes"), ("../up", "ups"),
    ],
)  # fmt: skip
def test_the_folder_of_a_type(kind: str, name: str) -> None:
    assert folder(kind) == name


@given(st.text(min_size=1, max_size=60))
def test_a_folder_is_one_plain_name(kind: str) -> None:
    name = folder(kind)
    assert name
    assert not name.startswith(".")
    assert not set(name) & set("/\\\0\n:")
