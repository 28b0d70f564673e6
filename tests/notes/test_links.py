import re
import tracemalloc
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.notes.link_resolution import LinkTarget, Resolver
from djinn_memory.notes.links import MAX_HELD, Link, parse_links
from tests.growth import assert_linear

FRONT_MATTER = re.compile(r"---\n(.*?)^---\n", re.DOTALL | re.MULTILINE)


def only(text: str) -> Link:
    (link,) = parse_links(text)
    return link


@pytest.mark.parametrize(
    ("text", "target", "heading", "block", "label"),
    [
        ("[[Note]]", "Note", None, None, None),
        ("[[Note|shown]]", "Note", None, None, "shown"),
        ("[[Note#Heading]]", "Note", "Heading", None, None),
        ("[[Note#a#b|c]]", "Note", "a#b", None, "c"),
        ("[[Note#^block]]", "Note", None, "block", None),
        ("[[Note#a#^block]]", "Note", "a", "block", None),
        ("[[Note^not a block]]", "Note^not a block", None, None, None),
        ("[[folder/Note]]", "folder/Note", None, None, None),
        ("[[#Heading]]", "", "Heading", None, None),
        ("[[Note.md]]", "Note", None, None, None),
        ("[[Note.MD#a]]", "Note", "a", None, None),
        ("[[image.png|100]]", "image.png", None, None, "100"),
        ("| [[Note\\|shown]] |", "Note", None, None, "shown"),
        ("[[ Note # a | b ]]", "Note", "a", None, "b"),
        ("[[Project: MyApp]]", "Project: MyApp", None, None, None),
        ("[[[Note]]]", "Note", None, None, None),
        ("[[Note|`code`]]", "Note", None, None, "`code`"),
        ("[[Ñandú 日本]]", "Ñandú 日本", None, None, None),
        ("[[Note#]]", "Note", None, None, None),
        ("[[Note]](other.md)", "Note", None, None, None),
    ],
)
def test_wikilinks(
    text: str, target: str, heading: str | None, block: str | None, label: str | None
) -> None:
    link = only(text)
    assert (link.target, link.heading, link.block, link.label) == (target, heading, block, label)
    assert (link.kind, link.embed, link.field) == ("wiki", False, None)


@pytest.mark.parametrize(
    ("text", "target", "heading", "block", "label"),
    [
        ("[x](folder/note.md)", "folder/note", None, None, "x"),
        ("[x](<folder/my note.md>)", "folder/my note", None, None, "x"),
        ("[x](my%20note.md#a%20b)", "my note", "a b", None, "x"),
        ("[x](note.md#^b)", "note", None, "b", "x"),
        ('[x](note.md "title")', "note", None, None, "x"),
        ("[x](<a b.md> 'title')", "a b", None, None, "x"),
        ("[x](../up/./note.md)", "../up/./note", None, None, "x"),
        ("[x](/note.MD)", "/note", None, None, "x"),
        ("[x](a(b).md)", "a(b)", None, None, "x"),
        ("[x](my\\_note.md)", "my_note", None, None, "x"),
        ("[a [b] c](note.md)", "note", None, None, "a [b] c"),
        ("[`a`](note.md)", "note", None, None, "`a`"),
        ("[a\nb](note.md)", "note", None, None, "a\nb"),
        ("[![alt](image.png)](note.md)", "note", None, None, "![alt](image.png)"),
        ("[](note.md)", "note", None, None, ""),
        ("- [ ] [x](note.md)", "note", None, None, "x"),
    ],
)
def test_markdown_links(
    text: str, target: str, heading: str | None, block: str | None, label: str
) -> None:
    link = only(text)
    assert (link.target, link.heading, link.block, link.label) == (target, heading, block, label)
    assert (link.kind, link.embed) == ("markdown", False)


@pytest.mark.parametrize(
    "text",
    [
        "`[[x]]`", "```\n[[x]]\n```", "<!-- [[x]] -->", "%% [[x]] %%", "$[[x]]$", r"\[[x]]",
        '<a href="[[x]]">', "<div>\n[[x]]\n</div>", "[[]]", "[[ ]]", "[[|x]]", "[[#]]", "[[a\nb]]",
        "[x](https://a.org/b.md)", "[x](//a.org/b.md)", "[x](mailto:b.md)", "[x](a.png)", "[x](#a)",
        "[x](a b.md)", "![x](a.md)", r"\[x](a.md)", "[a\n\nb](c.md)", "[x](.md)", "[x]: a.md",
    ],
)  # fmt: skip
def test_no_links(text: str) -> None:
    assert parse_links(text) == ()


def test_embeds_and_places() -> None:
    text = "one\r\n`[[x]]`\r\n\r\nsee ![[a b#c|d]], [e](f.md)\r\n"
    embed, link = parse_links(text)
    assert embed == Link("a b", "c", None, "d", "wiki", True, None, 20, 32, 4)
    assert (text[embed.start : embed.end], embed.line) == ("![[a b#c|d]]", 4)
    assert (text[link.start : link.end], link.line) == ("[e](f.md)", 4)


def test_an_escaped_mark_is_no_embed() -> None:
    assert not only(r"\![[x]]").embed


def test_front_matter() -> None:
    fields = {
        "related": "[[X#h|shown]] and [y](z.md)",
        "people": ["[[A]]", {"boss": "[[B]]"}],
        "count": 3,
        "empty": None,
    }
    links = [*parse_links("[[body]]", fields=fields)]
    assert [(link.field, link.target) for link in links] == [
        ("related", "X"),
        ("related", "z"),
        ("people", "A"),
        ("people.boss", "B"),
        (None, "body"),
    ]
    first = Link("X", "h", None, "shown", "wiki", False, "related", -1, -1, 0)
    assert links[0] == first


def test_front_matter_that_contains_itself() -> None:
    loop: list[object] = ["[[A]]"]
    loop.append(loop)
    bomb: object = "[[B]]"
    for _ in range(60):
        bomb = [bomb, bomb]
    links = parse_links("", fields={"loop": loop, "bomb": bomb})
    assert {link.target for link in links} == {"A", "B"}


NAMES = st.from_regex(r"[\w][\w .'-]{0,20}[\w]", fullmatch=True)


@given(st.text(), NAMES, st.text(alphabet="abc \n[]()!#|é", max_size=40))
def test_links_are_found_where_they_stand(before: str, name: str, around: str) -> None:
    for link in parse_links(before + around):
        assert re.fullmatch(r"!?\[.*[])]", (before + around)[link.start : link.end], re.DOTALL)
        assert link.line == (before + around).count("\n", 0, link.start) + 1
    text = f"{around}\n\nsee [[{name}]]"
    assert [*parse_links(text)][-1].target == re.sub(r"(?i)\.md$", "", name)
    assert parse_links(f"````\n{text}\n````") == ()


def test_a_million_links_do_not_stay_in_memory() -> None:
    text = "".join(f"see [[The tide {number}]]\n" for number in range(3 * MAX_HELD))
    tracemalloc.start()
    links = parse_links(text, fields={"about": "[[Harbour]]"})
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 3 * len(text)
    for _ in range(2):
        first, *others = links
        assert (first.target, first.field) == ("Harbour", "about")
        assert [link.target for link in others] == [f"The tide {n}" for n in range(3 * MAX_HELD)]
        assert (others[-1].line, text[slice(others[-1].start, others[-1].end)]) == (
            3 * MAX_HELD, f"[[The tide {3 * MAX_HELD - 1}]]"
        )  # fmt: skip


@pytest.mark.parametrize("unit", ["[", "[[a", "![", "[a](", '](a "', "[ [x] ", "[a\n", "[[a|"])
def test_hostile_text_takes_linear_time(unit: str) -> None:
    assert_linear(lambda size: list(parse_links(unit * (size // len(unit)))), 1_000_000)


# foam-docs has one link less than the 199 of the reference and three more unresolved, because the
# one note that was left out, workspace-lint, held that link and is what those three mean.
# The wikilinks that lead nowhere in jackyzha0 are all embeds of attachments, which are left out;
# 61 of kepano's are embeds of `.base` files for the same reason, which leaves the 11 expected.
@pytest.mark.parametrize(
    ("vault", "wiki", "unresolved", "to_attachments", "in_fields", "markdown"),
    [
        ("foam-docs", 198, 2 + 3, 0, 0, (16, 2)),
        ("jackyzha0", 2413, 174, 174, 0, (1109, 1)),
        ("kepano", 75, 61 + 11, 61, 134, (0, 0)),
    ],
)
def test_real_vaults(
    data_dir: Path,
    vault: str,
    wiki: int,
    unresolved: int,
    to_attachments: int,
    in_fields: int,
    markdown: tuple[int, int],
) -> None:
    root = data_dir / "vaults" / vault
    notes = {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.md"))}
    resolver = Resolver(
        LinkTarget(key, vault, name, None, path.stem, ())
        for key, (name, path) in enumerate(notes.items())
    )
    found: list[tuple[Link, bool]] = []
    for name, path in notes.items():
        text = path.read_text(encoding="utf-8")
        top = FRONT_MATTER.match(text)
        for link in parse_links(text[top.end() if top else 0 :], fields=fields_of(top)):
            where = resolver.resolve(
                link.target, source_vault=vault, source_path=name, kind=link.kind
            )
            found.append((link, where.key is not None))
    body = [(link, hit) for link, hit in found if link.kind == "wiki" and not link.field]
    missed = [link for link, hit in body if not hit]
    plain = [hit for link, hit in found if link.kind == "markdown"]
    assert len(body) == wiki
    assert len(missed) == unresolved
    assert (
        sum(re.search(r"\.\w{3,4}$", link.target) is not None for link in missed) == to_attachments
    )
    assert sum(link.field is not None for link, _ in found) == in_fields
    assert (len(plain), plain.count(False)) == markdown


def fields_of(top: re.Match[str] | None) -> dict[str, object]:
    """Templates hold `{{date}}`, which is no YAML; their links are in the text all the same."""
    if top is None:
        return {}
    try:
        return yaml.load(top[1], yaml.BaseLoader) or {}
    except yaml.YAMLError:
        return {"template": top[1]}
