from pathlib import PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from djinn_memory.documents.document import Document
from djinn_memory.documents.note import body, extension, stem, title_of
from djinn_memory.notes import frontmatter
from djinn_memory.notes.frontmatter import compose
from djinn_memory.notes.note import parse
from djinn_memory.notes.pages import mark, pages
from tests.examples import examples

ODD = [
    "a \"b\" 'c'",
    "key: value",
    "--- a",
    "---",
    "- a",
    "# a",
    "a #b",
    "{{x}}",
    "[[a]]",
    "*a",
    "&a",
    "!a",
    "%a",
    "@a",
    "`a`",
    "null",
    "~",
    "yes",
    "0x1f",
    "1e3",
    "1_000",
    "2026-11-20",
    "12:30:00",
    "",
    " ",
    " a ",
    "a\nb\n---\nc",
    "a\r\nb",
    "\t",
    "\0\x1b\x07",
    "\u2028\u2029\x85",
    "\ufeff",
    "😀 👩‍💻",
    "\u202eשלום",
    "العربية",
    "a\\",
    "a\\nb",
    "\ue000\uffff\U0010ffff",
]
STRINGS = st.sampled_from(ODD) | st.text(max_size=40)


def document(*texts: str, paged: bool = True, title: str | None = None) -> Document:
    return Document(texts, paged, title=title)


@settings(max_examples=examples(200), deadline=None)
@given(st.dictionaries(st.sampled_from(["title", "author", "subject", "tags"]), STRINGS))
def test_front_matter_reads_back(fields: dict[str, str]) -> None:
    whole = compose(fields, "the body\n")
    read = frontmatter.read(whole.encode("utf-8").decode())
    assert read.problem is None
    assert whole[read.body :] == "the body\n"
    assert dict(read.fields) == fields


def test_front_matter_of_every_kind_of_value() -> None:
    whole = compose({"title": "a", "n": None, "count": 3, "list": ["a: b", 1], "b": False}, "b")
    assert whole == '---\ntitle: a\ncount: 3\nlist: ["a: b", 1]\nb: false\n---\nb'


LINES = st.sampled_from(
    ["a", "", "---", "# a", "```", "*Page 2* ^p2", " *Page 1* ^p1 ", "\\", "\t", "%%"]
)
PAGES = st.lists(st.lists(LINES, max_size=5).map("\n".join), min_size=1, max_size=6)


@settings(max_examples=examples(200), deadline=None)
@given(PAGES)
def test_pages_read_back(texts: list[str]) -> None:
    whole = compose({"type": "document"}, body(document(*texts)))
    found = pages(whole, frontmatter.read(whole).body)
    assert [page.number for page in found] == list(range(1, len(texts) + 1))
    for page, given_text in zip(found, texts, strict=True):
        shown = whole[page.start : page.end].strip("\n")
        assert shown.replace("\\*P", "*P").replace("\\^p", "^p") == given_text.strip("\n")
    searched = parse("a.md", whole.encode()).searched
    assert not pages(searched, 0)


def test_how_a_note_looks() -> None:
    assert body(document("one\n", "", "\nthree")) == (
        f"{mark(1)}\n\none\n\n{mark(2)}\n\n{mark(3)}\n\nthree\n\n"
    )
    assert body(document("one", "two", paged=False)) == "one\n\ntwo\n"
    assert body(document("a\n*Page 1* ^p1", paged=False)) == "a\n\\*Page 1* \\^p1\n"


@pytest.mark.parametrize(
    ("title", "page", "name", "shown"),
    [
        ("Thermal limits", "# Other", "a.pdf", "Thermal limits"),
        ("10811.exe", "# The [[real]] *one*", "a.pdf", "The real one"),
        ("Microsoft Word - x.doc", "x", "my_annual report.pdf", "my annual report"),
        ("../../etc/x", "## two\n\nText", "a.b.pdf", "a.b"),
        (None, "text\n" * 50 + "# late", "late.txt", "late"),
        ("a\x1b[31m\n---\0b", "", "x.txt", "a [31m --- b"),
        (None, "#\n# \n# \u202e", "\u202e.pdf", "document"),
        (None, "", "../../etc/passwd", "passwd"),
        (None, "", "", "document"),
        (None, "", "\ud800\udcff.pdf", "document"),
        (None, "", "x" * 400, "x" * 300),
    ],
)
def test_titles(title: str | None, page: str, name: str, shown: str) -> None:
    assert title_of(document(page, title=title), name) == shown


def test_a_comment_in_code_is_no_title() -> None:
    assert title_of(document("```sh\n# install\n```\n\n# Real"), "a.md") == "Real"
    assert title_of(document("<!--\n# hidden\n-->"), "name.md") == "name"


@given(STRINGS, STRINGS)
def test_a_note_is_called_something_on_one_line(title: str, name: str) -> None:
    for shown in (title_of(document("", title=title), name), stem(name)):
        assert shown.strip() == shown != ""
        assert "\n" not in shown and len(shown) <= 300
        assert frontmatter.read(compose({"title": shown}, "")).fields == {"title": shown}


@pytest.mark.parametrize(
    ("name", "kind", "suffix"),
    [
        ("a.PDF", "application/pdf", ".pdf"),
        ("a.tar.gz", "application/gzip", ".gz"),
        ("a.md", "text/markdown", ".md.original"),
        ("a.MD", "text/markdown", ".md.original"),
        ("a", "text/markdown", ".markdown"),
        (".pdf", "application/pdf", ".pdf"),
        ("a.", "application/pdf", ".pdf"),
        ("a.日本", "text/plain", ".txt"),
        ("a", "application/epub+zip", ".epub"),
        ("a", "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".pptx"),
        ("a", "md", ".md.original"),
        ("a", "", ".bin"),
        ("a.m d", "x", ".md.original"),
        ("a.p\0d/f", "text/plain", ".txt"),
        ("a." + "x" * 300, "x", "." + "x" * 12),
    ],
)
def test_what_an_originals_name_ends_with(name: str, kind: str, suffix: str) -> None:
    assert extension(name, kind) == suffix


@given(st.text(), st.text())
def test_an_ending_is_no_path(name: str, kind: str) -> None:
    suffix = extension(name, kind)
    assert PurePath(f"a{suffix}").name == f"a{suffix}"
    assert len(suffix) < 30 and suffix[0] == "." and suffix[-1] != "." and suffix != ".md"
