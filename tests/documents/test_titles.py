"""Titles that files give themselves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.documents.note import LONGEST, clean, title

parts = st.sampled_from(
    ("Microsoft Word - ", "a", "B c", ".doc", "../", "---\n", "\0", "\x1b[31m", "(", ")",
     "[Read-Only]", "untitled", "1", " ", "\u202e", "\ud800", "書", "\u2028", ": ", "é", "\ufeff",
     "x" * 200, '"'),
)  # fmt: skip
texts = st.one_of(st.text(st.characters(codec=None)), st.lists(parts, max_size=8).map("".join))


@settings(deadline=None)
@given(texts)
def test_a_title_is_one_safe_line(text: str) -> None:
    for found in (clean(text), title(text)):
        if found is not None:
            assert found.isprintable()
            assert found == found.strip()
            assert "  " not in found
            assert len(found) <= LONGEST
            found.encode()
    assert clean(clean(text)) == clean(text)


@settings(deadline=None)
@given(texts)
def test_the_title_of_a_title_is_itself(text: str) -> None:
    found = title(text)
    assert found is None or title(found) == found


@pytest.mark.parametrize(
    "text",
    [
        "Gemeinsames Ministerialblatt Nr. 52 vom 29. Oktober 2008", "코로나-19 관련 보험약관상",
        "Node.js", "Introduction to ASP.NET", "C/C++ and/or Rust", "AC/DC", "TCP/IP Illustrated",
        "Test Plan", "Word order in Dutch", "Slide rules", "Page One", "Title IX", "Book of Kells",
        "Unknown Pleasures", "Print Culture", "RFC 2616: HTTP/1.1", "Wait... what?", "W3C", "序論",
        "Report (2020)", "[Draft] A plan", "A title. With. Dots", "The file config.yaml explained",
    ],
)  # fmt: skip
def test_titles_are_kept(text: str) -> None:
    assert title(text) == text


@pytest.mark.parametrize(
    "text",
    [
        None, "", "  ", "\0\0", "---", "10811.exe", "Microsoft Word - x.doc", "../../etc/x",
        "untitled", "Untitled-1", "Microsoft Word - Document1", "PowerPoint Presentation",
        "Binder1.pdf", "1.txt - Notepad", "Untitled document", r"C:\Users\x\y.doc", "/home/a/b.tex",
        "file:///C|/x/y.htm", "http://example.com/a", "doc1", "Scan_20200101", "IMG_1234",
        "Slide 1",
        "Microsoft PowerPoint - talk.ppt [Read-Only]", "Adobe Photoshop PDF", "(anonymous)",
        "0123456789", "Présentation PowerPoint", "無題", "x.doc\n---\n", "report_final_v2.docx",
        "Microsoft Word - Microsoft Word - a.docx", '"untitled"',
    ],
)  # fmt: skip
def test_names_of_files_programs_and_nothing_are_not(text: str | None) -> None:
    assert title(text) is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Microsoft Word - The harbour", "The harbour"),
        ("The harbour - Microsoft Word", "The harbour"),
        ("  The\n harbour\t\x1b[31m ", "The harbour [31m"),
        ("(The harbour)", "The harbour"),
        ("The har\u00adbour\u200b", "The harbour"),
        ("a: b\n---\nid: mem_x", "a: b --- id: mem_x"),
    ],
)
def test_what_is_not_of_the_title_goes(text: str, found: str) -> None:
    assert title(text) == found
