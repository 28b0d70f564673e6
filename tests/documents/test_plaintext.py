import codecs
import time
from pathlib import Path

import pytest

from djinn_memory.documents.document import Document, ReadRequest, Unreadable, no_progress
from djinn_memory.documents.note import body
from djinn_memory.documents.read import read
from djinn_memory.notes.frontmatter import compose
from djinn_memory.notes.markdown import code_blocks
from djinn_memory.notes.note import parse
from djinn_memory.notes.pages import pages
from tests.growth import assert_linear

CP1252 = "not UTF-8 (byte {}); it was read as Windows-1252, save it as UTF-8"


def document(folder: Path, data: bytes, name: str = "a.txt") -> Document:
    path = folder / "data"
    path.write_bytes(data)
    return read(ReadRequest(path, name), no_progress)


@pytest.mark.parametrize(
    ("data", "shown", "warnings"),
    [
        ("Ünï 字 😀\r\n".encode(), "Ünï 字 😀", ()),
        (codecs.BOM_UTF8 + b"a", "a", ()),
        ("Ünï 字 😀".encode("utf-16"), "Ünï 字 😀", ()),
        (codecs.BOM_UTF16_BE + "é字".encode("utf-16-be"), "é字", ()),
        ("Ünï 字 😀".encode("utf-32"), "Ünï 字 😀", ()),
        ("plain".encode("utf-16-le"), "plain", ("UTF-16 without a byte order mark",)),
        ("“Öl” – 5 €".encode("cp1252"), "“Öl” – 5 €", (CP1252.format(0),)),
        (b"a \xc3\xa9 b \xe9", "a Ã© b é", (CP1252.format(7),)),
        (b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07b\x1b(B", "red b", ()),
        (b"N\x08NA\x08AM\x08ME _\x08x", "NAME x", ()),
        (
            b"a\x0bb\x01c\x7f" + b"." * 99,
            "a\nbc" + "." * 99,
            (),
        ),
        (b"a\rb\r\nc\nd", "a\nb\nc\nd", ()),
        (b"\n\n  indented\n\n", "  indented", ()),
    ],
)
def test_text_in_every_encoding(
    tmp_path: Path, data: bytes, shown: str, warnings: tuple[str, ...]
) -> None:
    found = document(tmp_path, data)
    assert found == Document((shown,), warnings=warnings, content_type="text/plain")


def test_form_feeds_part_pages(tmp_path: Path) -> None:
    found = document(tmp_path, b"one\n\ftwo\n\n\f\n\f# four\f \n")
    assert (found.pages, found.paged) == (("one", "two", "", "\\# four"), True)
    assert document(tmp_path, b"one\f").paged is False


@pytest.mark.parametrize("data", [b"\n \t\r\n", b"\f\f", codecs.BOM_UTF8, b"\xff\xfe", b"\x1b[0m"])
def test_text_without_text(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(Unreadable, match=r"^has no text$"):
        document(tmp_path, data)


def test_nul_characters_are_shown_and_warned(tmp_path: Path) -> None:
    found = document(tmp_path, "\ufeffa\0b and more".encode("utf-16-le"))
    assert found.pages == ("a\ufffdb and more",)
    assert found.warnings == ("the file contains NUL characters; remove them",)


def test_a_text_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data"
    with path.open("wb") as file:
        file.write(b"text" * 3000)
        file.truncate(60_000_000)
    with pytest.raises(Unreadable, match=r"^has 60,000,000 bytes of text, too many for one note"):
        read(ReadRequest(path, "a.txt"), no_progress)


@pytest.mark.soak
def test_a_large_text_takes_linear_time(tmp_path: Path) -> None:
    def work(lines: int) -> None:
        line = b"A line of [[text]] with # and <b>, as logs have.\n"
        assert len(document(tmp_path, line * lines).pages[0]) > 49 * lines

    assert_linear(work, 100_000)


MARKDOWN = """\
---
title: "Plan: B"
authors: [Ann, Bob]
tags: [x]
---
# Heading

*Page 3* ^p3
 *Page 4* ^p4\t
Setext
======

```py
# [[code]]
```
[[Link]] #tag
"""


def test_markdown_stands_as_it_is(tmp_path: Path) -> None:
    found = document(tmp_path, MARKDOWN.replace("\n", "\r\n").encode(), "a.md")
    front = '```yaml\ntitle: "Plan: B"\nauthors: [Ann, Bob]\ntags: [x]\n```\n\n'
    assert found == Document(
        (front + MARKDOWN.split("---\n")[2].strip(),),
        title="Plan: B",
        author="Ann, Bob",
        content_type="text/markdown",
    )
    note = compose({"type": "document"}, body(found))
    assert pages(note, 0) == []
    assert "\n\\*Page 3* \\^p3\n \\*Page 4* \\^p4\t\n" in note
    assert {link.target for link in parse("a.md", note.encode()).links} == {"Link"}


@pytest.mark.parametrize(
    ("front", "title"),
    [
        ("title: a\nkey: [broken", "a"),
        ("title: Plan: B", "Plan: B"),
        ("title: dash-\nlist:\n- -", "dash-"),
        ("title: |\n  a\n  ---x", "a\n---x\n"),
        ("description: d", None),
        ("title: [1, [2]]", "1"),
        ("a: &a [x, x]\nb: &b [*a, *a]\ntitle: t", "t"),
        ("title: !!python/object/apply:os.system ['x']", "x"),
    ],
)
def test_front_matter_of_any_kind_is_kept(tmp_path: Path, front: str, title: str | None) -> None:
    found = document(tmp_path, f"---\n{front}\n---\nbody\n".encode(), "a.md")
    assert found.pages == (f"```yaml\n{front}\n```\n\nbody",)
    assert found.title == title


def test_front_matter_that_is_none_stays_text(tmp_path: Path) -> None:
    assert document(tmp_path, b"---\njust prose\n---\nb", "a.md").pages == (
        "---\njust prose\n---\nb",
    )
    bomb = "a: &a [x,x]\n" + "".join(f"k{n}: &k{n} [*a,*a,*a]\n".replace("*a", f"*k{n - 1}" if n
                                     else "*a") for n in range(30))  # fmt: skip
    began = time.process_time()
    found = document(tmp_path, f"---\n{bomb}---\nb".encode(), "a.md")
    assert "k29" in found.pages[0]
    assert time.process_time() - began < 2


def test_front_matter_alone_and_with_fences(tmp_path: Path) -> None:
    assert document(tmp_path, b"---\ntitle: a\n---\n", "a.md").pages == ("```yaml\ntitle: a\n```",)
    assert document(tmp_path, b"---\n---\nb", "a.md").pages == ("b",)
    found = document(tmp_path, b"---\na: |\n  ````\n  ```\n---\n[[b]]", "a.md").pages[0]
    assert found == "`````yaml\na: |\n  ````\n  ```\n`````\n\n[[b]]"
    assert len(code_blocks(found)) == 1


def test_real_notes_keep_their_words(tmp_path: Path, data_dir: Path) -> None:
    notes = [path for path in (data_dir / "vaults").rglob("*.md") if path.stat().st_size]
    for path in sorted(notes)[::20]:
        source = parse(path.name, path.read_bytes())
        found = document(tmp_path, path.read_bytes(), path.name)
        written = parse("a.md", compose({"type": "document"}, body(found)).encode())
        assert source.text[source.body :].strip() in written.text.replace("\\*Page", "*Page")
