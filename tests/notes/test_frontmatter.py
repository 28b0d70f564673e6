import codecs
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.errors import Refused
from djinn_memory.notes.encoding import decode
from djinn_memory.notes.frontmatter import block_end, edit, read
from djinn_memory.system.yaml_edit import scalar
from tests.fuzz.checks import swiftly


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("title: a", {"title": "a"}),
        ("", {}),
        ("# only a comment", {}),
        ("null", {}),
        ("~", {}),
        ("{}", {}),
        ("a: 2024-99-99\nb: 0o9\nc: .nan\nd: yes", {"a": "2024-99-99", "b": "0o9", "c": ".nan",
                                                    "d": "yes"}),
        ("n: " + "9" * 6000, {"n": "9" * 6000}),
        ("1: a\ntrue: b\n~: c", {"1": "a", "true": "b", "~": "c"}),
        ("a:\n- b\n- c: d", {"a": ["b", {"c": "d"}]}),
        ("date: {{date:YYYY}}\nl:\n- {{x}}", {"date": "{{date:YYYY}}", "l": ["{{x}}"]}),
        ("a: !!int x", {"a": "x"}),
        ("title: wait...\nb: foo ---", {"title": "wait...", "b": "foo ---"}),
        ("a: |-\n  ---\n  b", {"a": "---\nb"}),
    ],
)  # fmt: skip
def test_fields_are_text_as_written(block: str, fields: dict[str, Any]) -> None:
    text = f"---\n{block}\n---\nbody\n"
    found = read(text)
    assert found.fields == fields
    assert found.problem is None
    assert text[found.body :] == "body\n"


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("a: !!python/object/apply:os.system [x]", {"a": ["x"]}),
        ("a: !!python/name:os.system", {"a": ""}),
    ],
)
def test_code_is_not_run_and_is_told(block: str, fields: dict[str, Any]) -> None:
    found = read(f"---\n{block}\n---\nbody\n")
    assert found.fields == fields
    assert "which is ignored" in (found.problem or "")


@pytest.mark.parametrize(
    "text", ["", "a", "---", "---\n", "----\na: b\n---\n", " ---\na: b\n---\n",
             "\n---\na: b\n---\n", "--- a\n---\n", "a\n---\nb: c\n---\n"]
)  # fmt: skip
def test_what_is_no_block_is_text(text: str) -> None:
    found = read(text)
    assert (found.fields, found.body, found.problem) == ({}, 0, None)


@pytest.mark.parametrize(
    ("text", "fields", "body"),
    [
        ("---\na: b\n", {}, "---\na: b\n"),
        ("---\ntitle:\n\nText\n", {}, "---\ntitle:\n\nText\n"),
        ("---\ntitle: x\n\nText here\n\n---\nMore\n", {"title": "x"}, "\nText here\n\n---\nMore\n"),
        ("---\ntitle: x\n# Head\n\nHe said\nSo: a\n---\n", {"title": "x"},
         "# Head\n\nHe said\nSo: a\n---\n"),
        ("---\ntitle: x\nText here\n---\nMore\n", {"title": "x"}, "Text here\n---\nMore\n"),
    ],
)  # fmt: skip
def test_front_matter_that_never_closes(text: str, fields: dict[str, Any], body: str) -> None:
    found = read(text)
    assert (found.fields, text[found.body :]) == (fields, body)
    assert "the front matter is not closed; it was read as text" in (found.problem or "")
    windows = text.replace("\n", "\r\n")
    assert windows[block_end(windows) :] == body.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("block", "keys"),
    [
        ("a: 1\na: 2", ["a"]),
        ("Tags: [x]\ntitle: y\ntags: [z]", ["tags"]),
        ("a: {b: 1, b: 2}", ["b"]),
        ("a:\n  b: 1\n  c: 2\n  b: 3", ["b"]),
        ("a:\n- b: 1\n- b: 2", []),
        ("a: 1\nb:\n  a: 2", []),
        ("a: |\n  b: 1\n  b: 2", []),
        ("'a': 1\na: {{x}}", ["a"]),
    ],
)
def test_repeated_keys_are_reported(block: str, keys: list[str]) -> None:
    found = read(f"---\n{block}\n---\nbody\n")
    assert (found.problem is not None) == bool(keys)
    for key in keys:
        assert f"{key} more than once" in (found.problem or "")


@pytest.mark.parametrize(
    "block",
    [
        "Note: the lamp is broken",
        "Remember: buy milk",
        "note to self: call the harbour",
        "\nWarning: old\n",
        "\nto do: milk\n",
        "Q: what is it that shines?\nA: it is the lamp of the harbour.",
    ],
)
def test_a_line_with_a_colon_between_rules_is_text(block: str) -> None:
    text = f"---\n{block}\n---\n\nMore\n"
    found = read(text)
    assert (found.fields, found.body) == ({}, 0)
    assert "read as text" in (found.problem or "")
    assert edit(text.encode(), ("type",), "plan").decode() == f"---\ntype: plan\n---\n{text}"
    assert block_end(text) == 0


@pytest.mark.parametrize(
    "block",
    [
        "status: open", "Status: in progress now and then", "mood: happy and a little tired today",
        "\ntodo: buy milk", "Up: '[[A b c d]]'", "Company: Acme", "Rooms: [a, b]",
        "Due date: 2026-01-01", "layout: a long page of text", "Pages: 12\nBinding: soft",
        "name: x\ndescription: does this and that and more", "a: |\n  b: 1\n  b: 2",
    ],
)  # fmt: skip
def test_fields_between_rules_are_front_matter(block: str) -> None:
    found = read(f"---\n{block}\n---\nMore\n")
    assert found.fields and found.problem is None


@pytest.mark.parametrize("text", ["---\n---", "---  \n... \n", "---\n---\n"])
def test_an_empty_block(text: str) -> None:
    found = read(text)
    assert (found.fields, found.body, found.problem) == ({}, len(text), None)


@pytest.mark.parametrize(
    ("block", "fields"),
    [
        ("title: a: b\ntags: [x]", {"title": "a: b", "tags": ["x"]}),
        ("title: good\ntags: [x", {"title": "good"}),
        ("a: 1\n\tb: 2\nc: 3", {"c": "3"}),
        ("x: *nobody\ny: 1", {"y": "1"}),
        ("x: &x [*x]\ny: 1", {"y": "1"}),
        ("? [a]\n: b\ny: 1", {"y": "1"}),
        ("a: @b\nc: `d`\ne: %f", {"a": "@b", "c": "`d`", "e": "%f"}),
    ],
)
def test_broken_blocks_keep_what_can_be_read(block: str, fields: dict[str, Any]) -> None:
    text = f"---\n{block}\n---\nbody\n"
    found = read(text)
    assert found.fields == fields
    assert found.problem and len(found.problem.splitlines()) == 1
    assert text[found.body :] == "body\n"


@pytest.mark.parametrize("block", ["- a\n- b", "just prose", "[a, b]", "{{x}}", "a\nb: c: d"])
def test_absurd_blocks_stay_text(block: str) -> None:
    found = read(f"---\n{block}\n---\nbody\n")
    assert not found.fields or found.problem
    assert found.problem


LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    "block",
    [LAUGHS, "x: " + "[" * 20_000, "x: " + "[" * 20_000 + "]" * 20_000, "[" * 100_000,
     "- " * 60_000, "? " * 60_000, "{a: " * 60_000, "a: [" * 50_000, "a:\n" * 80_000,
     "x: &a {b: *a}", "a" * 300_000, "a: b\n" * 50_000, "a: '" + "b\n" * 100_000,
     ": " * 100_000, "%" * 200_000, "a: &x y\n" + "b: *x\n" * 30_000],
    ids=lambda block: block[:10],
)  # fmt: skip
def test_bombs_do_not_go_off(block: str) -> None:
    with swiftly():
        found = read(f"---\n{block}\n---\nbody\n")
    assert found.problem is None or len(found.problem) < 300


ENCODINGS = [
    (b"", "utf-8"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (b"", "utf-16-le"),
]
NOTE = """\
---
# mine
zeta: 1   # keep
title: "Old: one"  # and this

list:
  - a  # x
  - b
text: wait...
rule: foo ---
---
# Body
title: not this
---
"""


@pytest.mark.parametrize(("bom", "encoding"), ENCODINGS)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("key", "value", "old", "new"),
    [
        ("title", "New", '"Old: one"', "New"),
        ("zeta", 2, "zeta: 1 ", "zeta: 2 "),
        ("list", ["c"], "list:\n  - a  # x\n  - b\n", "list: [c]\n"),
        ("added", "x", "rule: foo ---\n", "rule: foo ---\nadded: x\n"),
    ],
)
def test_an_edit_changes_no_other_byte(
    bom: bytes, encoding: str, newline: str, key: str, value: object, old: str, new: str
) -> None:
    def data(text: str) -> bytes:
        return bom + text.replace("\n", newline).encode(encoding)

    assert edit(data(NOTE), (key,), value) == data(NOTE.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tags:\n  - one  # 1\n  # why\n  - two # 2\n# end\n",
         "tags:\n  - one  # 1\n  # why\n  - two # 2\n  - three\n# end\n"),
        ("tags:\n- one\n- 'two'\n", "tags:\n- one\n- 'two'\n- three\n"),
        ("tags: [one, 'two' ] # c\n", "tags: [one, 'two', three ] # c\n"),
        ("tags: [one, # 1\n  two, # 2\n]\n", "tags: [one, # 1\n  two, three, # 2\n]\n"),
        ('tags: "one"\n', "tags: [one, two, three]\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_a_longer_list_keeps_what_it_had(old: str, new: str, newline: str) -> None:
    def data(text: str) -> bytes:
        return f"---\na: 1\n{text}b: 2\n---\nbody\n".replace("\n", newline).encode()

    assert edit(data(old), ("tags",), ["one", "two", "three"]) == data(new)


ITEM = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8) | st.sampled_from(
    ["a", "1", "2024-01-01", "a: b", "- x", "#c", "null"]
)


@given(
    st.lists(ITEM, min_size=1, max_size=4), st.lists(ITEM, max_size=3), st.booleans(),
    st.sampled_from(["", "  "]), st.sampled_from(["\n", "\r\n"]), st.data(),
)  # fmt: skip
def test_only_what_is_said_anew_is_written(
    held: list[str], more: list[str], flow: bool, indent: str, newline: str, data: st.DataObject
) -> None:
    remark = st.sampled_from(["", "  # why", "\n# tags: [x]"])
    if flow:
        lines = [f"tags: [{', '.join(map(scalar, held))}]{data.draw(remark)}"]
    else:
        lines = ["tags:", *(f"{indent}- {scalar(one)}{data.draw(remark)}" for one in held)]
    text = "\n".join(["---", "title: 'A'", *lines, 'z: "y" # z', "---", "body", ""])
    before = text.replace("\n", newline).encode()
    assert edit(before, ("title",), "A") == edit(before, ("z",), "y") == before
    after = edit(before, ("tags",), [*held, *more])
    assert read(decode(after)[0]).fields == {"title": "A", "tags": [*held, *more], "z": "y"}
    # All that was there is there, in one piece before and one behind.
    start = next((at for at, pair in enumerate(zip(before, after, strict=False))
                  if pair[0] != pair[1]), len(before))  # fmt: skip
    assert after.endswith(before[start:])


def test_mixed_line_ends_stay() -> None:
    data = b"---\r\na: 1\nb: 2\r\nc: 3\n---\nx\r\ny\n\rz"
    assert edit(data, ("b",), 5) == data.replace(b"b: 2", b"b: 5")


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"", b"---\na: 1\n---\n"),
        (b"x\r\ny", b"---\r\na: 1\r\n---\r\nx\r\ny"),
        (b"\xef\xbb\xbfx", b"\xef\xbb\xbf---\na: 1\n---\nx"),
        (b"---\n---\nx", b"---\na: 1\n---\nx"),
        (b"---\r\n---\r\nx", b"---\r\na: 1\r\n---\r\nx"),
        (b"---\n# c\n---", b"---\n# c\na: 1\n---"),
        (b"---\nb: |\n  x\n---\n", b"---\nb: |\n  x\na: 1\n---\n"),
        (b"---\nunclosed", b"---\na: 1\n---\n---\nunclosed"),
    ],
)
def test_a_note_gets_the_block_it_lacks(data: bytes, wanted: bytes) -> None:
    assert edit(data, ("a",), 1) == wanted


@pytest.mark.parametrize(
    "data",
    [b"caf\xe9", b"---\na: [\n---\n", b"---\n- a\n---\n", b"---\nprose\n---\n", b"\0\xff\0binary",
     b"\xff\xfea\0b", b"---\na: {{x}}\n---\n", b"---\na: &x 1\nb: *x\n---\n",
     b"---\nb: " + b"[" * 20_000 + b"\n---\n", b"---\n" + b"? " * 60 + b"\n---\n",
     b"---\nb: *" + b"x" * 5000 + b"\n---\n"],
)  # fmt: skip
def test_what_would_be_a_guess_is_refused(data: bytes) -> None:
    with pytest.raises(Refused) as error:
        edit(data, ("a",), "new")
    assert len(str(error.value).splitlines()) == 1
    assert len(str(error.value)) < 400


def test_an_edit_never_makes_another_encoding_of_a_note() -> None:
    # With a block before it, every second byte looks like UTF-16.
    data = b"\x01\0" * 8 + b"\0\0" + b"\x01\0\0\0\x01"
    with pytest.raises(Refused, match="NUL characters"):
        edit(data, ("added",), "")


LINES = st.lists(
    st.sampled_from(["a: 1", "b: 'x'", "c:", "d: [x]", "# e", "", "---", "...", "- f", "g: |",
                     "  h", "i: j ---", "\u2028", "é: ü", "text"]), max_size=12
)  # fmt: skip


@given(
    LINES, st.sampled_from(["\n", "\r\n"]), st.sampled_from(ENCODINGS), st.text() | st.integers()
)
def test_an_edit_reads_back(
    lines: list[str], newline: str, encoding: tuple[bytes, str], value: Any
) -> None:
    text = newline.join(["---", *lines, "---", "body", ""])
    data = encoding[0] + text.encode(encoding[1])
    try:
        changed = edit(data, ("added",), value)
    except Refused:
        return
    before, after = (read(decode(version)[0]) for version in (data, changed))
    assert after.fields == {**before.fields, "added": str(value)}
    assert decode(changed)[0][after.body :] == decode(data)[0][before.body :]


@given(st.text(), st.sampled_from(["---\n", "---\na: 1\n", ""]))
def test_read_never_raises(text: str, head: str) -> None:
    found = read(head + text)
    assert 0 <= found.body <= len(head + text)
    read(f"---\n{text}\n---\n")


@pytest.mark.soak
def test_a_long_block_is_edited_swiftly() -> None:
    lines = b"a: 1\n" * 29_000
    with swiftly():
        assert edit(b"---\n" + lines + b"---\n", ("b",), "x") == b"---\n" + lines + b"b: x\n---\n"


def test_a_block_that_is_not_read_is_not_edited() -> None:
    with pytest.raises(Refused, match="300,000 characters is too long to be edited"):
        edit(b"---\n" + b"a: 1\n" * 60_000 + b"---\n", ("b",), "x")


def test_a_byte_order_mark_in_the_block_moves_no_edit() -> None:
    block = "---\n\ufeffa: x  # why\nb: |\n  y\n---\n"
    assert edit(block.encode(), ("a",), "z") == block.replace("x ", "z ").encode()
