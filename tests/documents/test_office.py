import io
import socket
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest

from djinn_memory.documents.document import Document, ReadRequest, Unreadable, no_progress
from djinn_memory.documents.note import body
from djinn_memory.documents.read import read
from djinn_memory.errors import install_extra
from djinn_memory.notes.frontmatter import compose
from djinn_memory.notes.note import parse
from tests.documents.office_files import core, docx, epub, item, packed, paragraph
from tests.growth import assert_linear

pytest.importorskip("markitdown")

Reader = Callable[[bytes, str], Document]


@pytest.fixture
def document(tmp_path: Path) -> Reader:
    def make(data: bytes, name: str) -> Document:
        path = tmp_path / "data"
        path.write_bytes(data)
        return read(ReadRequest(path, name), no_progress)

    return make


def quiet(found: Document) -> None:
    """Nothing of a document acts in its note."""
    note = parse("a.md", compose({"type": "document"}, body(found)).encode())
    assert (note.links, note.tags, note.problem) == ((), (), None)


# --- Word ---


def test_word_keeps_headings_lists_and_links(document: Reader) -> None:
    found = document(
        docx(
            paragraph("The report", "Titel")
            + paragraph("Kapitel", "berschrift1")
            + paragraph("Section #2", "Titre2")
            + paragraph("Text", "a1")
            + item("one", 0) + item("two", 1) + item("three", 2) + item("four", 0)
            + '<w:p><w:hyperlink r:id="rLink"><w:r><w:t>out</w:t></w:r></w:hyperlink></w:p>'
            + '<w:p><w:r><w:rPr><w:b/></w:rPr><w:t>bold</w:t></w:r></w:p>'
        ),
        "a.docx",
    )  # fmt: skip
    assert found.pages[0].split("\n") == [
        "# The report", "", "# Kapitel", "", "## Section \\#2", "", "Text", "",
        "* one", "  + two", "    - three", "* four", "",
        "[out](https://example.org/a%28b%29)", "", "**bold**",
    ]  # fmt: skip
    assert (found.title, found.author, found.paged) == ("Titled", "Ann", False)
    quiet(found)


def cell(words: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(words)}</w:tc>"


def test_word_tables_keep_their_columns_where_cells_are_merged(document: Reader) -> None:
    rows = (
        cell("a") + cell("b", '<w:gridSpan w:val="2"/>'),
        cell("tall", '<w:vMerge w:val="restart"/>') + cell("x|y") + cell("z"),
        cell("", "<w:vMerge/>") + cell("p") + cell("q"),
    )
    found = document(
        docx("<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in rows) + "</w:tbl>"), "a.docx"
    )
    assert found.pages[0].split("\n") == [
        "| a | b |  |",
        "| --- | --- | --- |",
        "| tall | x\\|y | z |",
        "|  | p | q |",
    ]


def test_word_footnotes_come_at_the_end(document: Reader) -> None:
    found = document(
        docx(
            '<w:p><w:r><w:t>Claim</w:t></w:r><w:r><w:footnoteReference w:id="1"/></w:r></w:p>',
            notes=f'<w:footnote w:id="1">{paragraph("The proof.")}</w:footnote>',
        ),
        "a.docx",
    )
    assert found.pages[0] == "Claim[1\\]\n\n1. The proof."


def test_words_text_does_not_act(document: Reader) -> None:
    hostile = "[[Link]] #tag %%hid%% &lt;!-- x &lt;script&gt; ``` [a](b.md) $$x$$ \\[[y]]"
    found = document(docx(paragraph(hostile) + paragraph("*Page 2* ^p2")), "a.docx")
    assert "hid" in found.pages[0]
    quiet(found)


BOMB = "<!DOCTYPE x [<!ENTITY a '" + "a" * 1000 + "'>" + "".join(
    f"<!ENTITY {name} '{f'&{before};' * 10}'>" for before, name in pairwise("abcdefgh")
) + "]>"  # fmt: skip
SECRET = "<!DOCTYPE x [<!ENTITY h SYSTEM 'file://{}'>]>"


def test_bombs_of_entities_cost_little(document: Reader) -> None:
    tracemalloc.start()
    began = time.process_time()
    found = document(docx(paragraph("text"), **{"docProps/core.xml": core("&h;", head=BOMB)}), "a")
    assert (found.pages, found.title) == (("text",), None)
    with suppress(Unreadable):
        document(docx(paragraph("text &h;"), head=BOMB), "a.docx")
    with pytest.raises(Unreadable):
        document(epub({"a.xhtml": "x"}, **{"META-INF/container.xml": BOMB + "<x>&h;</x>"}), "a")
    assert time.process_time() - began < 4
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()


def test_a_file_cannot_fetch_another(document: Reader, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    head = SECRET.format(tmp_path / "secret")
    for data in (
        docx(paragraph("text &h;"), head=head),
        docx(paragraph("text"), **{"docProps/core.xml": core("&h;", head=head)}),
        epub({"a.xhtml": f"{head}<html><body>text &h;</body></html>"}),
        f"{head}<html><body>text &h;</body></html>".encode(),
    ):
        try:
            found = document(data, "a")
        except Unreadable as refused:
            assert "SECRET" not in str(refused)
        else:
            assert "SECRET" not in repr(found)


def test_a_part_of_gigabytes_is_not_read_for_a_title(document: Reader) -> None:
    data = docx(paragraph("x"), **{"docProps/core.xml": b" " * 150_000_000})
    from djinn_memory.documents.office import _zip_facts

    tracemalloc.start()
    assert _zip_facts(data) == {}
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_damaged_files_say_so_in_one_line(document: Reader) -> None:
    whole = docx(paragraph("text"))
    for data in (
        packed({"word/document.xml": "<x/>"}),
        packed({"ppt/presentation.xml": "<x/>"}),
        packed({"mimetype": "application/epub+zip"}),
        whole[: len(whole) // 2],
        whole[:300] + b"\xff" * 200 + whole[500:],
    ):
        with pytest.raises(Unreadable) as refused:
            document(data, "a")
        assert "damaged" in str(refused.value)
        assert "\n" not in str(refused.value)
    with pytest.raises(Unreadable, match="has no text"):
        document(docx(paragraph("")), "a.docx")


def test_paths_in_a_file_write_nothing(document: Reader, tmp_path: Path) -> None:
    found = document(
        docx(paragraph("text"), **{"../../evil": "x", f"{tmp_path}/evil": "x"}), "a.docx"
    )
    assert found.pages == ("text",)
    assert not list(tmp_path.parent.rglob("evil"))


# --- PowerPoint ---


def test_slides_are_pages(document: Reader) -> None:
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    made.core_properties.title = "Deck"
    first = made.slides.add_slide(made.slide_layouts[1])
    first.shapes.title.text = "First\vslide"
    frame = first.placeholders[1].text_frame
    frame.text = "one"
    for level, words in ((1, "two"), (0, "<!-- Slide number: 2 --> [[x]] #t")):
        paragraph_ = frame.add_paragraph()
        paragraph_.text, paragraph_.level = words, level
    first.notes_slide.notes_text_frame.text = "# Say this"
    second = made.slides.add_slide(made.slide_layouts[6])
    table = second.shapes.add_table(2, 2, *(Inches(1),) * 4).table
    for row in range(2):
        for column in range(2):
            table.cell(row, column).text = f"{row}|{column}"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "grouped"
    made.slides.add_slide(made.slide_layouts[6])
    file = io.BytesIO()
    made.save(file)
    found = document(file.getvalue(), "a.pptx")
    assert found.pages == (
        "# First slide\n\n- one\n  - two\n- \\<!-- Slide number: 2 --> \\[[x]] \\#t\n\n"
        "### Notes\n\n\\# Say this",
        "grouped\n\n| 0\\|0 | 0\\|1 |\n| --- | --- |\n| 1\\|0 | 1\\|1 |",
        "",
    )
    assert (found.paged, found.title) == (True, "Deck")
    quiet(found)


# --- EPUB ---


def test_chapters_come_in_order_without_a_head(document: Reader) -> None:
    page = "<html><head><title>t</title></head><body><h1>{}</h1>{}</body></html>"
    found = document(
        epub(
            {
                "z%20one.xhtml": page.format("One", "<img src='http://x/p.png' alt='A map'/>"),
                "a.xhtml": b"<?xml version='1.0' encoding='windows-1251'?>"
                + page.format("Глава", "<p>a</p>").encode("cp1251"),
                "missing.xhtml": "",
            }
        ),
        "a.epub",
    )
    assert found.pages == ("# One\n\nA map\n\n# Глава\n\na",)
    assert (found.title, found.author) == ("Book", "Ann")


def test_a_protected_book_says_so(document: Reader) -> None:
    locks = '<encryption><CipherReference URI="OEBPS/a.xhtml"/></encryption>'
    with pytest.raises(Unreadable, match="DRM"):
        document(epub({"a.xhtml": "x"}, **{"META-INF/encryption.xml": locks}), "a.epub")
    fonts = locks.replace("a.xhtml", "font.otf")
    assert document(epub({"a.xhtml": "x"}, **{"META-INF/encryption.xml": fonts}), "a").pages == (
        "x",
    )


# --- HTML ---


def page(inner: str, head: str = "") -> bytes:
    return f"<!doctype html><html><head>{head}</head><body>{inner}</body></html>".encode()


@pytest.mark.parametrize(
    ("inner", "shown"),
    [
        ("<script>alert(1)</script><style>p{}</style><noscript>no</noscript><p>a", "a"),
        ("<p>&lt;script&gt; &amp;amp; &eacute;&#8212;&nbsp;b", "\\<script> &amp; é—\xa0b"),
        ("<p>a_b * `c` C:\\x \\[y", "a\\_b \\* \\`c\\` C:\\x \\\\[y"),
        ("<code>#x [[y]] a_b</code>", "`#x [[y]] a_b`"),
        ("<pre>a\n```\n[[b]]\n</pre>", "````\na\n```\n[[b]]\n````"),
        ("<table><tr><td><table><tr><th>a<th>b<tr><td>1<td>2</table></table>",
         "| a | b |\n| --- | --- |\n| 1 | 2 |"),
        ("<table><tr><td><h1>Site</h1><p>text</table>", "# Site\n\ntext"),
        ("<table><tr><td rowspan=9999999>a<td>b<tr><td>c</table>",
         "| a | b |\n| --- | --- |\n|  | c |"),
        ("<img src='https://x.y/z.png' alt='Fig [[1]]'>", "Fig \\[[1]\\]"),
        ("<img src='data:image/png;base64," + "A" * 3_000_000 + "'><p>a", "a"),
        ("<a href='x.md'>in</a> <a href='javascript:x()'>js</a> <a href='HTTP://x y'>out</a>",
         "in js [out](HTTP://x%20y)"),
        ("<a href='https://x'><h2>Head</h2></a>", "## Head"),
        ("<!-- hidden --><p>a<br>---<br>===", "a  \n\\---  \n\\==="),
        ("<p>[<b>[x]]</b>(y)", "\\[**[x]\\]**(y)"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", "1. a\n   * b\n2. c"),
        ("<svg><text>x</text></svg><p>a", "a"),
        ("<p>unclosed <b>bold <i>both", "unclosed **bold *both***"),
    ],
)  # fmt: skip
def test_pages_of_the_web(document: Reader, inner: str, shown: str) -> None:
    found = document(page(inner), "a.html")
    assert found.pages == (shown,)
    quiet(found)


@pytest.mark.parametrize(
    ("encoding", "named", "words"),
    [
        ("cp1251", "windows-1251", "Привет, мир"),
        ("koi8-r", "KOI8-R", "Привет, мир"),
        ("gb18030", "gb2312", "你好，世界"),
        ("cp932", "Shift_JIS", "こんにちは①"),
        ("iso2022_jp", "iso-2022-jp", "こんにちは"),
        ("cp1252", "iso-8859-1", "“quoted” – 5 €"),
        ("utf-8", "windows-1251", "Привет – ü"),
        ("utf-16", "utf-8", "Привет"),
    ],
)
def test_the_encoding_that_a_page_names(
    document: Reader, encoding: str, named: str, words: str
) -> None:
    for meta in (
        f"<meta charset={named}>",
        f"<meta http-equiv=Content-Type content='text/html; charset={named}'>",
    ):
        html = page(f"<p>{words}", head=f"{meta}<title>{words}</title>").decode()
        found = document(html.encode(encoding), "a.html")
        assert (found.pages, found.title, found.warnings) == ((words,), words, ())


def test_an_encoding_that_none_is(document: Reader) -> None:
    for named in ("nonsense", "base64", "utf-16", "rot13", "idna"):
        found = document(page("<p>\xe9", f"<meta charset={named}>").decode().encode("cp1252"), "a")
        assert found.pages == ("é",)
        assert "Windows-1252" in found.warnings[0]


def test_what_a_page_says_of_itself(document: Reader) -> None:
    head = (
        "<title>A &amp;\n B</title><meta name=Author content=Ann><meta name=description content=D>"
    )
    found = document(page("<p>a", head), "a.html")
    assert (found.title, found.author, found.subject) == ("A &\n B", "Ann", "D")


@pytest.mark.soak
def test_hostile_pages_take_seconds(document: Reader) -> None:
    began = time.process_time()
    for inner in (
        "<div>" * 20_000 + "deep",
        "<b>" * 20_000 + "x",
        "<p>a<td>" * 20_000,
        "<table><tr><td>" * 300 + "x",
        "<ul><li>" * 150 + "x",
        "<table><tr>" + "<td colspan=999999 rowspan=99999>a" * 50 + "</table>",
    ):
        document(page(inner), "a.html")
    assert time.process_time() - began < 10


FETCH = """
import sys
from pathlib import Path
from djinn_memory.documents.document import ReadRequest, no_progress
from djinn_memory.documents.read import read
calls = []
WORDS = ("socket.connect", "socket.getaddrinfo", "socket.sendto", "socket.gethostbyname")
sys.addaudithook(lambda name, args: name in WORDS and calls.append((name, args)))
for name in sys.argv[1:]:
    read(ReadRequest(Path(name), Path(name).name), no_progress)
assert not calls, calls
"""


def test_nothing_is_fetched(tmp_path: Path) -> None:
    # libxml2 would fetch past Python's sockets.
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    at = f"http://127.0.0.1:{server.getsockname()[1]}"
    remote = (
        f"<link rel=stylesheet href='{at}/a.css'><img src='{at}/a.png'>"
        f"<iframe src='{at}/'></iframe><p>text"
    )
    dtd = f"<!DOCTYPE html SYSTEM '{at}/x.dtd'>"
    files = {
        "a.html": page(remote),
        "b.html": f"{dtd}<html><body>{remote}</body></html>".encode(),
        "a.docx": docx(paragraph("a"), head=f"<!DOCTYPE x SYSTEM '{at}/x.dtd'>"),
        "a.epub": epub({"a.xhtml": dtd + remote}),
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", FETCH, *(tmp_path / name for name in files)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with server, pytest.raises(BlockingIOError):
        server.accept()


MISSING = """
import sys
from importlib.abc import MetaPathFinder
class Without(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("markitdown", "mammoth", "markdownify", "pptx", "bs4"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Without())
from pathlib import Path
from djinn_memory.documents.document import ReadRequest, Unreadable, no_progress
from djinn_memory.documents.read import read
for name in sys.argv[1:]:
    try:
        print(read(ReadRequest(Path(name), Path(name).name), no_progress).pages)
    except Unreadable as error:
        print(error)
"""


def test_without_the_extra_the_message_names_it(tmp_path: Path) -> None:
    files = {"a.docx": docx(paragraph("a")), "a.html": page("a"), "a.csv": b"a,b", "a.txt": b"t"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    done = subprocess.run(
        [sys.executable, "-c", MISSING, *(tmp_path / name for name in files)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    needs = f"which needs the extra `documents`: {install_extra('documents')}"
    assert done.stdout.splitlines() == [
        f"is DOCX, {needs}", f"is HTML, {needs}", "('| a | b |\\n| --- | --- |',)", "('t',)",
    ]  # fmt: skip


# --- CSV ---


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (b"a,b\n1,2\n", ["a | b", "1 | 2"]),
        (b"\xef\xbb\xbfa;b\r\n1,5;2,5\r\n", ["a | b", "1,5 | 2,5"]),
        (b"a\tb\n1\t2", ["a | b", "1 | 2"]),
        (b"a|b\n1|2", ["a | b", "1 | 2"]),
        (b'a,b\n"x, ""y""\nz",2', ["a | b", 'x, "y" z | 2']),
        (b"a,b,c\n1\n1,2,3,4\n\n,,\n", ["a | b | c | ", "1 |  |  | ", "1 | 2 | 3 | 4"]),
        (b"only,header\n", ["only | header"]),
        (b"one\ntwo", ["one", "two"]),
        (b"a,[[b]]\n#t,x|y", ["a | \\[[b]]", "\\#t | x\\|y"]),
        ("naïve,€".encode("utf-16"), ["naïve | €"]),
        (b'a,"' + b"word " * 200_000 + b'"', ["a | " + ("word " * 200_000).strip()]),
        (b"date,text\n1,aeiou\n2,aeiou", ["date | text", "1 | aeiou", "2 | aeiou"]),
        (b'a,"open', ["a | open"]),
    ],
)  # fmt: skip
def test_tables(document: Reader, data: bytes, rows: list[str]) -> None:
    found = document(data, "a.csv")
    lines = found.pages[0].split("\n")
    assert lines.pop(1).count("---") == rows[0].replace("\\|", "").count("|") + 1
    assert lines == [f"| {row} |" for row in rows]
    quiet(found)


def test_tables_that_are_no_documents(document: Reader, tmp_path: Path) -> None:
    for data, why in (
        (b" \n\n", "has no text"),
        (b"a,b\0\xff\xfe\x01" * 100, "is a binary file in a format that djinn does not read"),
        (b"x" + b"," * 3000 + b"\n" + b"a\n" * 1000, "1,001 rows of up to 3,001 cells; it is data"),
    ):
        with pytest.raises(Unreadable, match=why):
            document(data, "a.csv")


@pytest.mark.soak
def test_a_hundred_thousand_rows_take_linear_time(document: Reader) -> None:
    def work(rows: int) -> None:
        data = b"id,name,amount\n" + b"12345,An ordinary name,99.50\n" * rows
        assert document(data, "a.csv").pages[0].count("\n") == rows + 1

    assert_linear(work, 100_000)
