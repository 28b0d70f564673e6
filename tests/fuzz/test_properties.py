"""The parsers under inputs made from their own grammars: 10,000 each, in a soak."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from djinn_memory.notes import frontmatter
from djinn_memory.notes.links import Link, parse_links
from djinn_memory.search.query import Query, parse
from djinn_memory.system.yaml_edit import load, scalar
from tests.fuzz import checks, pieces

pytestmark = pytest.mark.soak

EXAMPLES = pytest.mark.parametrize("examples", [10_000])


LONGEST = 200_000
"""Characters of a text: four times as many would rightly take a busy machine its second."""


def explore(check: Callable[..., None], examples: int, *inputs: st.SearchStrategy[Any]) -> None:
    """Call `check` with so many inputs."""
    settings(
        max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck)
    )(given(*inputs)(check))()  # fmt: skip


def mixed(some: Sequence[str], most: int = 40) -> st.SearchStrategy[str]:
    """Texts made of the pieces of a grammar, now and then with one of them many times."""
    piece = st.sampled_from(some) | st.text(max_size=5)
    # 3,000 in every sixth text: those take nearly all of the time.
    times = st.sampled_from([1, 2, 2, 3, 3, 9, 9, 60, 60, 60, 60, 3000])
    often = st.builds(str.__mul__, st.sampled_from(some), times)
    parts = st.lists(piece | piece | piece | often, max_size=most)
    return parts.map(lambda found: "".join(found)[:LONGEST])


BODIES = mixed(pieces.MARKDOWN)
BLOCKS = mixed(pieces.YAML).map(lambda block: f"---\n{block}\n---\n")
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252"])


def encoded(text: st.SearchStrategy[str]) -> st.SearchStrategy[bytes]:
    return st.builds(lambda one, name: one.encode(name, "replace"), text, ENCODINGS)


NOTES = encoded(st.builds(str.__add__, BLOCKS | st.just(""), BODIES)) | st.binary()


@EXAMPLES
def test_front_matter(examples: int) -> None:
    values = st.text(max_size=20) | st.lists(st.text(max_size=8), max_size=3)
    data = encoded(st.builds(str.__add__, BLOCKS, BODIES)) | NOTES
    keys = st.sampled_from(["added", "a", "title", "tags"])
    explore(checks.check_front_matter, examples, data, keys, values)


LOWER, DIGITS = string.ascii_lowercase, string.digits
LETTERS = string.ascii_letters + "é"


def spelt(first: str, inner: str, most: int, last: str) -> st.SearchStrategy[str]:
    """One of `first`, up to `most` of `inner`, one of `last`: cheaper than `from_regex`."""
    ends = st.sampled_from(first), st.sampled_from(last)
    return st.builds("{0}{2}{1}".format, *ends, st.text(inner, max_size=most))


PLAIN = spelt(LETTERS, LETTERS + DIGITS + " _-", 20, LOWER + DIGITS)
FORMS = st.sampled_from(["{0}", "'{0}'", '"{0}"', "[{0}, b]", "{0}  # why", "|\n  {0}\n  more", ""])


def _edit_changes_one_field(
    entries: dict[str, tuple[str, str]], wanted: int, new: Any, newline: str, bom: str, body: str
) -> None:
    names = list(entries)
    key = names[wanted % len(names)]
    lines = [
        f"{name}: {form.format(value)}".rstrip() + "\n" for name, (form, value) in entries.items()
    ]
    at = names.index(key)
    comment = "  # why" if "#" in lines[at] else ""
    held = load("".join(lines), typed=False)[key]
    if held == load(scalar(new), typed=False):
        line = lines[at]
    elif isinstance(held, list) and new[: len(held)] == held:
        more = "".join(f", {scalar(one)}" for one in new[len(held) :])
        line = lines[at].replace("]", f"{more}]")
    else:
        line = f"{key}: {scalar(new)}{comment}\n"

    def note(block: list[str]) -> bytes:
        return (bom + f"---\n{''.join(block)}---\n{body}".replace("\n", newline)).encode()

    changed = note([*lines[:at], line, *lines[at + 1 :]])
    # To tell where two notes differ would take longer than all the rest.
    same = frontmatter.edit(note(lines), (key,), new) == changed
    assert same


@EXAMPLES
def test_an_edit_changes_one_field_and_no_other_byte(examples: int) -> None:
    names = st.text(LOWER, min_size=1, max_size=8)
    entries = st.dictionaries(names, st.tuples(FORMS, PLAIN), min_size=1, max_size=6)
    new = PLAIN | st.lists(PLAIN, max_size=3)
    explore(
        _edit_changes_one_field, examples, entries, st.integers(0, 5), new,
        st.sampled_from(["\n", "\r\n"]), st.sampled_from(["", "\ufeff"]),
        BODIES.map(lambda text: text.replace("\r", "").replace("\0", "")),
    )  # fmt: skip


@EXAMPLES
def test_notes_of_every_dialect(examples: int) -> None:
    names = st.text(st.characters(exclude_characters="/\0", codec="utf-8"), min_size=1, max_size=20)
    paths = names.map(lambda name: f"folder/{name}.md")
    explore(checks.check_note, examples, NOTES, st.sampled_from(checks.DIALECTS), paths)


@EXAMPLES
def test_documents(examples: int) -> None:
    strategies = ["adaptive", "page_based", "semantic", "fixed", "words", "recursive", "none", "9"]
    sizes = st.sampled_from(["64", "100", "0", "-1", "1e3", "9" * 400, "4096", "[1]", "٣٣٣", "~"])
    head = st.builds(
        "---\ntype: document\nchunk_strategy: {}\nchunk_size: {}\nchunk_overlap: {}\n---\n".format,
        st.sampled_from(strategies), sizes, sizes,
    )  # fmt: skip
    marks = st.lists(st.integers(0, 12), max_size=20).map(
        lambda numbers: "\n".join(f"*Page {n}* ^p{n}\nwords on {n}." for n in numbers)
    )
    text = st.builds("{}{}\n{}".format, head, BODIES, marks)
    dialects = st.sampled_from(checks.DIALECTS)
    explore(checks.check_note, examples, text.map(str.encode), dialects, st.just("d.md"))


TARGETS = spelt(LETTERS + DIGITS, LETTERS + DIGITS + " ./'$-", 20, LOWER + DIGITS + "é")
NAMES = st.none() | spelt(LETTERS, LETTERS + DIGITS + " .'-", 12, LOWER)


def _written(link: Link) -> str:
    anchor = "".join(
        [f"#{link.heading}" if link.heading else "", f"#^{link.block}" if link.block else ""]
    )
    label = f"|{link.label}" if link.label else ""
    return f"{'!' * link.embed}[[{link.target}{anchor}{label}]]"


def _without_suffix(target: str) -> str:
    """The target as it is read: `.md` after a name is left out in any case."""
    stem, _, suffix = target.rpartition(".")
    return stem if suffix.lower() == "md" and stem and not stem.endswith("/") else target


def _links_read_back(found: list[tuple[str, Any, Any, Any, bool]], between: str) -> None:
    wanted = [
        Link(_without_suffix(target), heading, block, label, "wiki", embed, None, 0, 0, 0)
        for target, heading, block, label, embed in found
    ]
    text = f"\n\n{between}\n\n".join(map(_written, wanted))
    # What is written is in terms of what is read: the places aside.
    read = [
        Link(one.target, one.heading, one.block, one.label, one.kind, one.embed, None, 0, 0, 0)
        for one in parse_links(text)
    ]
    assert read == wanted
    assert not parse_links(f"````\n{text}\n````")


@EXAMPLES
def test_links_read_back(examples: int) -> None:
    blocks = st.none() | st.text(LOWER + DIGITS + "-", min_size=1, max_size=8)
    links = st.tuples(TARGETS, NAMES, blocks, NAMES, st.booleans())
    between = st.text(LOWER + " ,.", max_size=20)
    explore(_links_read_back, examples, st.lists(links, min_size=1, max_size=5), between)


@EXAMPLES
def test_queries(examples: int) -> None:
    explore(checks.check_query, examples, mixed(pieces.QUERY) | st.text())


WORDS = st.text("bcdfghjklmnpqrtvwxyz", min_size=2, max_size=8)
SPOKEN = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)


def _rendered(query: Query) -> str:
    parts = [query.text]
    parts += [f'-"{phrase}"' if " " in phrase else f"-{phrase}" for phrase in query.without]
    for key, values in (("tag", query.tags), ("type", query.types), ("path", query.paths)):
        parts += [f'{key}:"{value}"' if " " in value else f"{key}:{value}" for value in values]
    parts += [f'-{key}:"{value}"' for key, value in query.excluded]
    parts += [f"\nwords: {text}" for text in query.words]
    parts += [f"\nmeaning: {text}" for text in query.meanings]
    return " ".join(parts)


def _query_reads_back(query: Query) -> None:
    assert parse(_rendered(query)) == query


@EXAMPLES
def test_a_query_reads_back(examples: int) -> None:
    some = st.lists(SPOKEN, max_size=3).map(tuple)
    excluded = st.lists(st.tuples(st.sampled_from(["tag", "type", "path"]), SPOKEN), max_size=2)
    query = st.builds(
        Query, text=SPOKEN, without=some, tags=some, types=some, paths=some,
        excluded=excluded.map(tuple), words=some, meanings=some,
    )  # fmt: skip
    explore(_query_reads_back, examples, query)


@EXAMPLES
def test_dates_and_slugs(examples: int) -> None:
    explore(checks.check_dates, examples, mixed(pieces.DATES, 8) | st.text())


@EXAMPLES
def test_windows(examples: int) -> None:
    tokens = st.lists(st.integers(0, 3000), max_size=300, unique=True).map(sorted)
    limits = st.integers(4, 200)
    explore(
        lambda found, limit: checks.check_windows(0, 3001, found, limit), examples, tokens, limits
    )
