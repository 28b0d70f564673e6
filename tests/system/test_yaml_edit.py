import datetime
import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from djinn_memory.system.yaml_edit import UnspliceableYaml, load, remove_value, scalar, set_value

EXAMPLE = """\
# djinn
agents: [me]   # the first is the default

vaults:
  # all see it
  shared:
    path: vaults/shared
    id: 1  # kept

  # one's own
  me:
    path: "vaults/me"
# empty so far
embedding:
  # provider: local
search:
  limit: 10
# the end
"""

KEYS = ["a", "b", "c", "key two", "é", "1", "true", "x-y"]
TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.dates()
    | TEXT
    | st.sampled_from(["null", "~", "yes", "1e5", "0x10", "2024-01-01", "a: b", "a #b", "- a",
                       "---", "\u2028", "\x85", "\ufeff", "\x7f", "🎉", " a", "a\nb", "{{x}}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip


@st.composite
def documents(draw: st.DrawFn, depth: int = 0) -> str:
    """A config as people write it: comments, blank lines, nested sections, lists, flow."""
    lines = []
    pad = "  " * depth
    for key in draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=4, unique=True)):
        lines += [pad + line for line in draw(st.lists(st.sampled_from(["# c: d", "#", ""])))]
        name = f'"{key}"' if key in ("1", "true") else key
        remark = draw(st.sampled_from(["", "  # r: s", "   "]))
        kind = draw(st.integers(0, 6 if depth < 2 else 5))
        if kind == 6:
            inner = draw(documents(depth=depth + 1))
            lines += [f"{pad}{name}:{remark}", *inner.split("\n")]
        else:
            lines.append(
                pad
                + [
                    f"{name}: plain value{remark}",
                    f"{name}: 'it''s # no comment'{remark}",
                    f"{name}: [x, {{y: z}}, 1]{remark}",
                    f"{name}:{remark}",
                    f"{name}: |\n{pad}  one\n\n{pad}  # no comment\n{pad}after: yes",
                    f"{name}:\n{pad}- i{remark}\n{pad}- j: k",
                ][kind].replace(f"{pad}after: yes", f"{pad}after{len(lines)}: yes")
            )
    return "\n".join(lines)


def comments(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.lstrip().startswith("#")]


@given(VALUES)
def test_a_scalar_is_one_line_that_reads_back(value: Any) -> None:
    line = scalar(value)
    assert len(line.splitlines()) == 1
    assert yaml.safe_load(line) == value
    assert load(f"a: {line}  # c\nb: 1") == {"a": value, "b": 1}


def test_scalars_of_all_kinds() -> None:
    assert scalar("plain words") == "plain words"
    assert scalar("Me: you") == '"Me: you"'
    assert scalar(["a", 1, True, None, {"k": "v"}]) == "[a, 1, true, null, {k: v}]"
    assert scalar(datetime.date(2026, 3, 4)) == "2026-03-04"
    assert load(scalar(1e20)) == 1e20
    assert load(scalar(math.inf)) == math.inf
    assert scalar("x" * 500 + " y") == "x" * 500 + " y"


@pytest.mark.parametrize(
    ("keys", "value", "old", "new"),
    [
        ("agents", ["me", "finn"], "[me]", "[me, finn]"),
        ("vaults.shared.id", "x y", "id: 1  # kept", "id: x y  # kept"),
        ("vaults.me.path", "p", '"vaults/me"', "p"),
        ("vaults.me.for", "me", '"vaults/me"\n', '"vaults/me"\n    for: me\n'),
        ("vaults.new.path", "x", '"vaults/me"\n', '"vaults/me"\n  new:\n    path: x\n'),
        ("embedding.provider", "none", "embedding:\n", 'embedding:\n  provider: "none"\n'),
        ("search.mode", "words", "limit: 10\n", "limit: 10\n  mode: words\n"),
        ("state_dir", "s", "# the end\n", "# the end\nstate_dir: s\n"),
        ("a.b.c", 1, "# the end\n", "# the end\na:\n  b:\n    c: 1\n"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_set(keys: str, value: object, old: str, new: str, newline: str) -> None:
    text, wanted = EXAMPLE, EXAMPLE.replace(old, new)
    changed = set_value(text.replace("\n", newline), keys.split("."), value)
    assert changed == wanted.replace("\n", newline)


@pytest.mark.parametrize(
    ("text", "keys", "value", "wanted"),
    [
        ("", "a", 1, "a: 1\n"),
        ("# c", "a", 1, "# c\na: 1\n"),
        ("a: 1", "b", 2, "a: 1\nb: 2\n"),
        ("a: 1", "a", 2, "a: 2"),
        ("a:", "a", 2, "a: 2"),
        ("a: # c\n", "a.b", 2, "a: # c\n  b: 2\n"),
        ("a: null # c\nb: 1\n", "a.c", 2, "a: # c\n  c: 2\nb: 1\n"),
        ("a: {}\n", "a.b", 2, "a:\n  b: 2\n"),
        ("{}\n", "a", 2, "a: 2\n"),
        ("a: {b: 1} # c\n", "a.d.e", 2, "a: {b: 1, d: {e: 2}} # c\n"),
        ("a: {b: {}}\n", "a.b.c", 2, "a: {b: {c: 2}}\n"),
        ("a:\n- 1\n- 2\n# c\nb: 3\n", "a", 0, "a: 0\n# c\nb: 3\n"),
        ("a: >-\n  x\n  y\n\nb: 1\n", "a", "z", "a: z\n\nb: 1\n"),
        ("a : 1\n", "a", 2, "a : 2\n"),
        ('"a:b": 1\n', "a:b", 2, '"a:b": 2\n'),
        ("a: 1\na: 2\n", "a", 3, "a: 1\na: 3\n"),
        ("\ufeffa: 1\n", "b", 2, "\ufeffa: 1\nb: 2\n"),
    ],
)
def test_set_in_small_texts(text: str, keys: str, value: object, wanted: str) -> None:
    assert set_value(text, keys.split("."), value) == wanted


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("a: 1\n", "a.b"),
        ("- a\n", "a"),
        ("text\n", "a"),
        ("a: &x {k: 1}\nb: *x\n", "b.k"),
        ("a: &x 1\nb: *x\n", "a"),
        ("? a # b: c\n: 1\n", "a"),
        ("a: 1\n---\nb: 2\n", "a"),
        ("{{x}}: 1\n", "a"),
        ("[" * 20_000, "a"),
        ("a: [\n", "a"),
    ],
)
def test_what_cannot_be_set_is_refused(text: str, keys: str) -> None:
    with pytest.raises((UnspliceableYaml, yaml.YAMLError)):
        set_value(text, keys.split("."), "new")


@pytest.mark.parametrize(
    ("keys", "gone"),
    [
        ("agents", "agents: [me]   # the first is the default\n"),
        ("vaults.shared.id", "    id: 1  # kept\n"),
        ("vaults.me", '  me:\n    path: "vaults/me"\n'),
        ("vaults.me.path", '    path: "vaults/me"\n'),
        ("search.limit", "  limit: 10\n"),
        ("search", "search:\n  limit: 10\n"),
        ("embedding", "embedding:\n"),
        ("nothing", ""),
        ("vaults.nothing.there", ""),
        ("agents.me", ""),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_remove(keys: str, gone: str, newline: str) -> None:
    changed = remove_value(EXAMPLE.replace("\n", newline), keys.split("."))
    assert changed == EXAMPLE.replace(gone, "", 1).replace("\n", newline)


@pytest.mark.parametrize("text", ["{a: 1}", "a: 1\na: 2\n", "a: &x 1\nb: *x\n"])
def test_what_cannot_be_removed_is_refused(text: str) -> None:
    with pytest.raises((UnspliceableYaml, yaml.YAMLError)):
        remove_value(text, ["a"])


def test_the_last_entry_can_be_removed_and_set_again() -> None:
    assert remove_value("a: 1\n", ["a"]) == ""
    left = remove_value("s: # c\n  # d\n  a: 1\n", ["s", "a"])
    assert left == "s: # c\n  # d\n"
    assert set_value(left, ["s", "a"], 2) == "s: # c\n  a: 2\n  # d\n"


@given(documents(), st.lists(st.sampled_from([*KEYS, "new"]), min_size=1, max_size=3), VALUES)
def test_setting_keeps_everything_else(text: str, keys: list[str], value: Any) -> None:
    before = load(text)
    try:
        changed = set_value(text, keys, value)
    except UnspliceableYaml as error:
        # Only a key below a value that is not a section is refused.
        assert "not a section" in str(error)
        return
    after = load(changed)
    node = after
    for key in keys[:-1]:
        node = node[key]
    assert node[keys[-1]] == value
    assert without(after, keys) == without(before, keys)
    if not isinstance(at(before, keys), (dict, list, str)):
        assert comments(changed) == comments(text)


@given(documents(), st.data())
def test_removing_keeps_everything_else(text: str, data: st.DataObject) -> None:
    before = node = load(text)
    keys: list[str] = []
    while isinstance(node, dict) and (not keys or data.draw(st.booleans())):
        keys.append(data.draw(st.sampled_from(list(node))))
        node = node[keys[-1]]
    changed = remove_value(text, keys)
    assert at(load(changed), keys) is None
    assert without(load(changed), keys) == without(before, keys)
    if not isinstance(at(before, keys), (dict, list, str)):
        assert comments(changed) == comments(text)


def at(data: Any, keys: list[str]) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data


def without(data: Any, keys: list[str]) -> Any:
    """`data` without the entry at `keys` and the sections that hold nothing else."""
    if not isinstance(data, dict):
        return {}
    inner = without(data.get(keys[0]), keys[1:]) if len(keys) > 1 else {}
    rest = {key: value for key, value in data.items() if key != keys[0]}
    return {**rest, keys[0]: inner} if inner else rest


@pytest.mark.parametrize("unit", ["[", "- ", "? ", "{a: "])
@pytest.mark.parametrize("count", [2_000, 20_000, 60_000])
@pytest.mark.parametrize("typed", [True, False])
def test_a_deep_nest_is_an_error_and_no_crash(unit: str, count: int, typed: bool) -> None:
    with pytest.raises(yaml.YAMLError):
        load(unit * count, typed=typed)
