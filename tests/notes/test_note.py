from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.markdown import headings
from djinn_memory.notes.note import Note, parse
from tests.growth import assert_linear


def note(text: str, path: str = "sub/My note.md") -> Note:
    return parse(path, text.encode())


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("", "My note"),
        ("words", "My note"),
        ("---\ntitle: From [[x|above]]\n---\n# Heading", "From above"),
        ("---\ntitle: 2024\n---\n", "2024"),
        ("---\nTitle: Cased\n---\n", "Cased"),
        ("---\ntitle:\n---\n# Heading", "Heading"),
        ("---\ntitle: ''\n---\n# Heading", "Heading"),
        ("---\ntitle: ~\n---\n# Heading", "Heading"),
        ("---\ntitle: [a, b]\n---\n", "a"),
        ("---\ntitle: {a: b}\n---\n# Heading", "Heading"),
        ("## Two\n# One\n# Other", "One"),
        ("#\n# \n# One", "One"),
        ("#tag\n# One", "One"),
        ("#\tOne # \t", "One"),
        ("# One #2", "One #2"),
        ("# C#", "C#"),
        ("# One `code` **bold** [l](u)", "One code bold l"),
        ("```\n# no\n```\n# One", "One"),
        ("    # no\n\n   # One", "One"),
        ("<!--\n# no\n-->\n# One", "One"),
        ("> # no\n\n# One", "One"),
        ("One\n===", "One"),
        ("intro\n\nOne\n===\n# Two", "One"),
        ("two\nlines\n===\n# One", "One"),
        ("- One\n===\n", "My note"),
        ("#" * 7 + " no", "My note"),
        ("# " + "x" * 1000, "x" * 300),
    ],
)
def test_title(text: str, title: str) -> None:
    found = note(text)
    assert found.title == title


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a #b/c, #d-e; (#f) #g_1", "a b/c d-e f g_1"),
        ("#2024 #1", ""),
        ("#2024,abc #2024. #y2024 #2024-01", "y2024 2024-01"),
        ("#a/ #b/c/ # #- #/", "a b/c"),
        ("# Heading #inside", "inside"),
        ("#heading", "heading"),
        ("a#b http://x/#c [x](#d) [[#e]] [[n#f]]", ""),
        ("`#a` \\#b <!-- #c --> %% #d %%\n```\n#e\n```\n", ""),
        ("#Größe #小明 #🎉 #naïve,", "Größe 小明 🎉 naïve"),
        ("#A #a #A", "A"),
        ("- #a\n> #b\n| #c |", "a b c"),
    ],
)
def test_tags_in_text(text: str, tags: str) -> None:
    assert " ".join(note(text).tags) == tags


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("tags: a", ["a"]),
        ("tags: a, b c", ["a", "b", "c"]),
        ("tags: [a, '#b', b/c]", ["a", "b", "b/c"]),
        ("tags:\n- a\n- b c", ["a", "b c"]),
        ('tags: "#a #b"', ["a", "b"]),
        ("tag: a", ["a"]),
        ("Tags: a\ntag: b", ["a", "b"]),
        ("tags: [project:x, 2024]", ["project:x", "2024"]),
        ("tags:", []),
        ("tags: ~", []),
        ("tags: [~, '', '[[a]]', A]", ["a"]),
        ("tags: {a: b}", []),
        ("tags: 2024", ["2024"]),
    ],
)
def test_tags_in_front_matter(line: str, tags: list[str]) -> None:
    assert list(note(f"---\n{line}\n---\n").tags) == tags


def test_tags_of_front_matter_come_first_and_once() -> None:
    assert note("---\ntags: [b, a]\n---\n#c #B #a").tags == ("b", "a", "c")


@pytest.mark.parametrize(
    ("line", "aliases"),
    [
        ("aliases: [A b, C]", ("A b", "C")),
        ("aliases: A b, C", ("A b", "C")),
        ("aliases:\n- A, b\n- A, b", ("A, b",)),
        ("alias: A", ("A",)),
        ("aliases: ['[[A]]', '[[B|c]]', 2024]", ("A", "B", "2024")),
        ("aliases:", ()),
        ("aliases: ''", ()),
        ("aliases: {a: b}", ()),
    ],
)
def test_aliases(line: str, aliases: tuple[str, ...]) -> None:
    assert note(f"---\n{line}\n---\n").aliases == aliases


def test_fields_and_dates() -> None:
    found = note(
        "---\nid: mem_7k2m9q4dxw30hv5t\ntype: '[[Decision]]'\ncreated: 2026-01-02\n"
        "modified: 2026-01-03 10:00\nmeta: {Deep: [x, '[[y]]', ~]}\n---\nbody"
    )
    assert (found.id, found.type) == ("mem_7k2m9q4dxw30hv5t", "decision")
    assert (found.created, found.updated) == ("2026-01-02", "2026-01-03T10:00:00Z")
    assert found.date == found.created
    assert [pair for pair in found.fields if pair[0].startswith("meta")] == [
        ("meta.Deep", "x"),
        ("meta.Deep", "y"),
    ]
    assert note("---\nid: mem_x\ntype: [a]\n---").id is None
    assert note("", "2026-03-04 talk.md").date == "2026-03-04"
    assert note("", "2026-13-04.md").date is None
    assert note("", "120260-03-04.md").date is None


def test_a_broken_note_is_read_and_reported() -> None:
    found = note("---\ntitle: T\ntags: [a\n---\n# B\n#c [[d]]")
    assert found.title == "T"
    assert "c" in found.tags
    assert [link.target for link in found.links] == ["d"]
    assert found.problem and found.problem.startswith("invalid front matter")
    both = parse("a.md", b"---\n- x\n---\ncaf\xe9")
    assert both.problem and "read as text; not UTF-8" in both.problem
    assert "café" in both.text


@pytest.mark.parametrize("name", ["e\u0301.md", "-rf.md", "a\nb.md", "'\".md", ".md", "a.md.md"])
def test_odd_names(name: str) -> None:
    assert parse(name, b"").title


MARKS = st.lists(
    st.sampled_from([b"---\n", b"# a\n", b"#b ", b"[[c]]", b"```\n", b"<!--", b"%%", b"title: [",
                     b"\r\n", b"\n", b"- ", b"> ", b"|", b"\xff", b"\0", "\u2028".encode(), b"=\n",
                     b"&x", b"*x", b": ", b"{{x}}", b"$", b"`", b"(", b"]"]),
    max_size=40,
).map(b"".join)  # fmt: skip


@given(st.binary() | MARKS | MARKS.map(lambda data: b"---\n" + data + b"\n---\n" + data))
def test_any_bytes_are_a_note(data: bytes) -> None:
    found = parse("a.md", data)
    assert 0 <= found.body <= len(found.text)
    assert found.title
    for link in found.links:
        if link.field is None:
            start = found.body + link.start
            written = found.text[start : found.body + link.end]
            assert written[0] in "![" and written[-1] in "])"
    assert found.problem is None or len(found.problem.splitlines()) == 1


@pytest.mark.parametrize(
    "unit",
    ["#\n", "|\n", "# a ", "#a", "#a ", "#a/", "[", "![", "[[a|", "[a](", "<!--", "%% ", "$a ", " ",
     "\n\n==", "=\n", "a\n--\n", "- ", "> ", "^a ", "-", "a: ", "---\n", "`\n", "\r", "\0", "é",
     "{{"]
)  # fmt: skip
@pytest.mark.parametrize("head", ["", "# a", "---\nx: "])
def test_hostile_text_takes_linear_time(unit: str, head: str) -> None:
    assert_linear(
        lambda size: parse("a.md", f"{head}{unit * (size // len(unit))}\n---\nx".encode()), 60_000
    )


def test_headings_say_where_they_are() -> None:
    text = "x\n# A #\na\n\nB\n---\nC\n===\nd\n---\n#"
    found = list(headings(text, 2))
    titles = [(heading.level, text[slice(*heading.title)]) for heading in found]
    assert titles == [(1, "A"), (2, "B"), (1, "C"), (2, "d"), (1, "")]
    for heading in found:
        assert text[heading.opens - 1] == "\n"
        assert heading.start == len(text) or text[heading.start - 1] == "\n"


@given(st.lists(st.sampled_from(["#", " ", "=", "--", "\n", "\n\n", "a", "\t", "|", "- "]))
       .map("".join), st.integers(0, 5))  # fmt: skip
def test_headings_are_in_order(text: str, body: int) -> None:
    body = min(body, len(text))
    done = body
    for level, title, opens, start in headings(text, body):
        assert 1 <= level <= 6
        assert done <= opens <= title[0] <= title[1] <= start <= len(text)
        assert opens == body or text[opens - 1] == "\n"
        done = start


def test_indented_code_has_neither_links_nor_tags() -> None:
    found = parse("x.md", b"a [[b]] #c\n\n    [[d]] #e [f](g.md)\n")
    assert ([link.target for link in found.links], found.tags) == (["b"], ("c",))


def test_real_vaults_are_read(data_dir: Path) -> None:
    for vault in ("foam-docs", "kepano"):
        root = data_dir / "vaults" / vault
        for file in root.rglob("*.md"):
            found = parse(file.relative_to(root).as_posix(), file.read_bytes())
            assert found.text or not file.stat().st_size
            assert found.problem is None or found.problem.startswith("invalid front matter")


@pytest.mark.parametrize(
    ("field", "problem"),
    [
        ("created: 2026-02-30", "created: 2026-02-30 is not a date"),
        ("date: 2026-13-01T10:00", "date: 2026-13-01T10:00 is not a date"),
        ("updated: 9999999-99-99", "updated: 9999999-99-99 is not a date"),
        ('date: "2026-13-01\\vx\\fy"', "date: 2026-13-01 x y is not a date"),
        ("modified: 2026-02-28\nexpires: 0000-00-00\ndue: 2025/02/31\nlast_verified: 1.1.26",
         "expires: 0000-00-00 is not a date; due: 2025/02/31 is not a date; "
         "last_verified: 1.1.26 is not a date"),
        ("created: 2026-02-28", None),
        ("created: some day", None),
        ("created: {{date}}", None),
        ("other: 2026-02-30", None),
        ("x: !!python/object/apply:os.system [ls]",
         "the front matter uses the YAML tag !!python/object/apply:os.system, which is ignored"),
        ("x: see !important", None),
        ('title: "!!python/object/apply:os.system [ls]"', None),
        ('title: "see !!python/object/apply:os.system [ls]"', None),
        ("x: [see !!python/name, '!!python/name']", None),
        ("x: [a, !!python/name:os.system ]",
         "the front matter uses the YAML tag !!python/name:os.system, which is ignored"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told(field: str, problem: str | None) -> None:
    assert parse("a.md", f"---\n{field}\n---\ntext".encode()).problem == problem
