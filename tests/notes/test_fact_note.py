"""A fact's value is read as it was written, whatever it is."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from djinn_memory.notes.encoding import decode
from djinn_memory.notes.fact_note import (
    PastValue,
    history_of,
    value_of,
    with_past,
    with_value,
    written,
)
from djinn_memory.notes.frontmatter import block_end

PIECES = ["---", "## History", "\n", "\r\n", "```", "````text", "- 2026: x", "# a", '"', "%%", " ",
          "value", "\t", "日本", "\0", "\ud800", "\u2028", "\ufeff",
          "[[x]]", "key: value"]  # fmt: skip
VALUE = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.lists(st.sampled_from(PIECES), max_size=12).map("".join),
)


def body(data: bytes) -> str:
    text = decode(data)[0]
    return text[block_end(text) :]


@given(VALUE)
@example("```text\n```\n")
def test_a_value_is_read_as_it_was_written(value: str) -> None:
    data = f"---\nid: x\n---\n{written(value)}\n".encode()
    assert value_of(body(data)) == value


@given(st.lists(VALUE, min_size=2, max_size=5), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_values_before_are_kept_and_all_else_too(
    values: list[str], newline: str, own: bool
) -> None:
    more = "\n\n## Notes\n\nMine, with  two spaces.  \n" if own else "\n"
    head = "---\nid: x # mine\n---\n".replace("\n", newline)
    data = (head + (written(values[0]) + more).replace("\n", newline)).encode()
    for number, (old, new) in enumerate(pairwise(values)):
        past = PastValue(f"2026-01-0{number + 1}T00:00:00Z", "user_explicit", 0.9, old)
        data = with_value(data, new, past)
        assert value_of(body(data)) == new
    assert [one.value for one in history_of(body(data))] == values[-2::-1]
    assert data.startswith(head.encode())
    assert (b"Mine, with  two spaces.  " in data) == own
    if newline == "\r\n":
        assert data.count(b"\n") == data.count(b"\r\n")


def test_a_plain_value_stands_plain() -> None:
    data = with_value(
        b"---\nid: x\n---\nWarsaw\n", "Berlin", PastValue("2026-01-01", None, None, "a")
    )
    assert data == b"---\nid: x\n---\nBerlin\n\n## History\n\n- 2026-01-01 (-, -): a\n"
    again = with_value(data, "Oslo", PastValue("2026-01-02", "web", 0.5, "Berlin\nby night"))
    assert again.endswith(
        b'## History\n\n- 2026-01-02 (web, 0.5): "Berlin\\nby night"\n- 2026-01-01 (-, -): a\n'
    )


DAYS = [f"20{year}-0{month}-01" for year in (20, 22, 24) for month in (1, 5)]
LINKS = st.lists(st.sampled_from(["[[a#^b]]", "[[A, (b); c]]"]), max_size=2).map(tuple)
LINE = st.one_of(st.none(), VALUE.filter(lambda text: bool(text.strip())).map(str.strip))
PAST = st.builds(
    PastValue,
    until=st.just("2026-01-01"),
    source=LINE.filter(lambda text: text != "-"),
    confidence=st.sampled_from([None, 0.5, 1.0]),
    value=VALUE,
    valid_from=st.sampled_from(DAYS),
    recorded=st.just("2026-03-04T10:00:00Z"),
    evidence=LINKS,
    rule=LINE,
    session=LINE,
)


@given(st.lists(PAST, max_size=6), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_values_of_the_past_stand_in_order_with_their_origin(
    values: list[PastValue], newline: str, own: bool
) -> None:
    old = "\n## History\n\n- 2021-01-01 (web, 0.5): older\n" if own else ""
    data = f"---\nid: x # mine\n---\nnow\n{old}".replace("\n", newline).encode()
    for value in values:
        data = with_past(data, value, "2019-01-01")
    history = history_of(body(data), "2019-01-01")
    starts = [value.valid_from or "" for value in history]
    assert starts == sorted(starts, reverse=True)
    ends = [value.until or "" for value in history]
    assert ends[1:] == [min(*pair) for pair in zip(ends[1:], starts, strict=False)]
    expected = [replace(value, until=None) for value in values]
    if own:
        expected.append(PastValue(None, "web", 0.5, "older", "2019-01-01", "2019-01-01"))
    key = repr
    assert sorted((replace(value, until=None) for value in history), key=key) == sorted(
        expected, key=key
    )
    assert value_of(body(data)) == "now"
    assert data.startswith("---\nid: x # mine\n---\nnow\n".replace("\n", newline).encode())
