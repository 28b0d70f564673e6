"""The text of a note below its front matter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import Refused
from djinn_memory.notes import frontmatter
from djinn_memory.notes.note import parse

HEAD = b"---\r\ntitle: A # kept\r\n---\r\n"


def test_text_is_added_as_a_paragraph_with_the_line_ends_of_the_note() -> None:
    assert (
        frontmatter.append_text(HEAD + b"one\r\n\r\n", "two\nthree")
        == HEAD + b"one\r\n\r\ntwo\r\nthree\r\n"
    )
    assert frontmatter.append_text(b"one", "two") == b"one\n\ntwo\n"
    assert frontmatter.append_text(HEAD, "two") == HEAD + b"two\r\n"
    assert frontmatter.append_text(b"", "two") == b"\ntwo\n"


def test_another_text_leaves_every_byte_above_it() -> None:
    assert frontmatter.replace_text(b"\xef\xbb\xbf" + HEAD + b"one\r\n", "two") == (
        b"\xef\xbb\xbf" + HEAD + b"two\r\n"
    )
    assert frontmatter.replace_text(b"one", "two") == b"two\n"
    assert frontmatter.replace_text(b"---\na: b\n---", "two") == b"---\na: b\n---\ntwo\n"


def test_utf_16_stays_utf_16() -> None:
    data = "---\ntitle: é\n---\none\n".encode("utf-16")
    assert (
        frontmatter.append_text(data, "two").decode("utf-16") == "---\ntitle: é\n---\none\n\ntwo\n"
    )


def test_what_is_no_utf_8_stays_as_it_is() -> None:
    for change in (frontmatter.append_text, frontmatter.replace_text):
        with pytest.raises(Refused, match="not UTF-8"):
            change(b"caf\xe9", "x")


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])), st.sampled_from([HEAD, b""]))
def test_what_is_written_is_read(text: str, head: bytes) -> None:
    note = parse("a.md", frontmatter.replace_text(head + b"before", text))
    assert note.text[note.body :].rstrip() == text.rstrip()
    assert note.title == ("A" if head else note.title)
