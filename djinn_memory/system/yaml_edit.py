"""Reads YAML that people wrote, and edits single values without changing any other byte."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import yaml

_PLAIN = re.compile(r"[^\W\d_](?:[\w ./+-]*[\w./+-])?", re.ASCII)
_WORDS_WITH_MEANING = {"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"}

_Text: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_Typed: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_DEEPEST = 100
"""Maximum depth of nesting. libyaml recurses in C: at 50,000 it crashes the process."""


class UnspliceableYaml(ValueError):
    """A single value in the text cannot be changed by itself."""


def load(text: str, *, typed: bool = True) -> Any:
    """The value of a YAML text. With `typed=False` every scalar stays text as written.

    Raises `yaml.YAMLError`, and with typed scalars `ValueError` for invalid dates and numbers.
    """
    _check_depth(text)
    return _guarded(yaml.load, text, _Typed if typed else _Text)


def _guarded(read: Any, text: str, loader: Any = _Text) -> Any:
    try:
        return read(text, Loader=loader)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None


def _check_depth(text: str) -> None:
    depth = 0
    # Events are read without recursion. A short text cannot nest deep.
    for event in yaml.parse(text, Loader=_Text) if len(text) > _DEEPEST * 10 else ():
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.YAMLError("it is nested too deeply")


def tags(text: str) -> Iterator[str]:
    """The tags of a YAML text as written, such as `!!str`, up to its first error."""
    with suppress(yaml.YAMLError):
        for token in yaml.scan(text, Loader=_Text):
            if isinstance(token, yaml.TagToken):
                yield "".join(part or "" for part in token.value)


def repeated_keys(text: str) -> list[str]:
    """The keys that a mapping of a YAML text has more than once, ignoring case."""
    repeated: dict[str, None] = {}
    nodes, seen = [_compose(text)], set()
    for node in nodes:
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
            continue
        keys = Counter(str(key.value).casefold() for key, _ in node.value)
        repeated |= dict.fromkeys(key for key, number in keys.items() if number > 1)
        nodes += [value for _, value in node.value]
    return list(repeated)


def scalar(value: object) -> str:
    """`value` as one line of YAML that reads back as the same value."""
    if isinstance(value, str):
        plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS_WITH_MEANING
        return value if plain else _dump(value, default_style='"')
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(scalar, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    return _dump(value)


def _dump(value: object, **style: Any) -> str:
    text: str = yaml.safe_dump(value, allow_unicode=True, width=math.inf, **style)
    return text.removesuffix("...\n").rstrip("\n")


def set_value(text: str, keys: Sequence[str], value: object, *, newline: str | None = None) -> str:
    """`text` with the value at the path `keys` set. Comments, order and spacing are preserved.

    Missing levels are added in block style at the end of the deepest existing level. `newline` is
    the line end for a text that has none. Raises `yaml.YAMLError` for invalid YAML, and
    `UnspliceableYaml` when a level is not a mapping or other values would change too.
    """
    changed = _set(text, keys, value, newline or line_end(text))
    _check(text, changed, keys, [load(scalar(value), typed=False)])
    return changed


def extend_value(text: str, keys: Sequence[str], value: Sequence[object]) -> str:
    """`text` with entries appended to the list at `keys`. `value` is the whole new list.

    If every entry has its own line, a new entry gets one too, with the same indentation. Raises the
    same errors as `set_value`.
    """
    node = _compose(text)
    for key in keys:
        pair = _pair(node, key)
        node = pair[1] if pair else None
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise UnspliceableYaml(f"{'.'.join(keys)} is not a list with entries")
    entries = [scalar(entry) for entry in value[len(node.value) :]]
    at = _end(text, node.value[-1])
    if node.flow_style:
        changed = text[:at] + "".join(f", {entry}" for entry in entries) + text[at:]
    else:
        line = text[_line_start(text, at) : _line_stop(text, at)]
        newline = line_end(line if line.endswith(("\n", "\r")) else text)
        lines = newline.join(f"{' ' * node.start_mark.column}- {entry}" for entry in entries)
        at = _line_stop(text, at)
        changed = _join(text[:at], lines, newline) + text[at:]
    _check(text, changed, keys, [load(scalar(value), typed=False)])
    return changed


def shrink_value(text: str, keys: Sequence[str], value: Sequence[object]) -> str:
    """`text` without some entries of the list at `keys`. `value` is what is left, in order.

    Raises the same errors as `set_value`.
    """
    node = _compose(text)
    for key in keys:
        pair = _pair(node, key)
        node = pair[1] if pair else None
    left = [load(scalar(entry), typed=False) for entry in value]
    entries = node.value if isinstance(node, yaml.SequenceNode) else []
    changed = text
    for number, entry in reversed([*enumerate(entries)]):
        start, end = entry.start_mark.index, _end(text, entry)
        if left and load(text[start:end], typed=False) == left[-1]:
            left.pop()
        elif not node.flow_style:
            start = _line_start(text, start)
            changed = changed[:start] + changed[_line_stop(text, end) :]
        elif number:
            changed = changed[: _end(text, entries[number - 1])] + changed[end:]
        else:
            following = entries[1].start_mark.index if len(entries) > 1 else end
            changed = changed[:start] + changed[following:]
    _check(text, changed, keys, [load(scalar(value), typed=False)])
    return changed


def remove_value(text: str, keys: Sequence[str]) -> str:
    """`text` without the lines of the entry at `keys`; unchanged when it does not exist.

    A mapping that loses its last entry stays as an empty key, with the comments below it.
    """
    node, flow = _compose(text), False
    pair = None
    for key in keys:
        pair = _pair(node, key)
        if pair is None:
            return text
        flow = flow or node.flow_style
        node = pair[1]
    if pair is None:
        return text
    if flow:
        raise UnspliceableYaml(
            f"{'.'.join(keys)} is written as {{...}} on one line; write each key on its own line"
        )
    start = _line_start(text, pair[0].start_mark.index)
    changed = text[:start] + text[_line_stop(text, _span(text, pair)[1]) :]
    _check(text, changed, keys, [])
    return changed


def line_end(text: str) -> str:
    """The line end that `text` uses; `\\n` when it has none."""
    return next((end for end in ("\r\n", "\n", "\r") if end in text), "\n")


def _compose(text: str) -> Any:
    """The root node of a text. Nodes know their position."""
    _check_depth(text)
    # libyaml does not count a byte order mark.
    return _guarded(yaml.compose, "\n" + text[1:] if text[:1] == "\ufeff" else text, _Typed)


def _pair(node: Any, key: str) -> Any:
    """Key node and value node of `key` in a mapping. For a repeated key, the last."""
    pairs = node.value if isinstance(node, yaml.MappingNode) else ()
    return next((pair for pair in reversed(pairs) if pair[0].value == key), None)


def _check(before: str, after: str, keys: Sequence[str], value: list[Any]) -> None:
    """Raise `UnspliceableYaml` unless `after` differs from `before` only in the entry at `keys`.

    Anchors, explicit keys and repeated keys allow too many shapes to handle each of them.
    """
    try:
        # `_compose` read `before`, so neither text nests deep.
        same = (_guarded(yaml.load, after) or "") == _with(_guarded(yaml.load, before), keys, value)
    except yaml.YAMLError:
        same = False
    if not same:
        raise UnspliceableYaml(f"{'.'.join(keys)} cannot be changed separately; edit the file")


def _with(data: Any, keys: Sequence[str], value: list[Any]) -> Any:
    """`data` with the last element of `value` set at `keys`; without the entry if it is empty."""
    result = dict(data) if isinstance(data, dict) else {}
    inner = [_with(result.get(keys[0]), keys[1:], value)] if len(keys) > 1 else value
    if inner:
        result[keys[0]] = inner[0]
    else:
        result.pop(keys[0], None)
    # For djinn a section that is empty and a section without a value are the same.
    return result or ""


def _set(text: str, keys: Sequence[str], value: object, newline: str) -> str:
    node, flow = _compose(text), False
    if node is None:
        return _join(text, _block(keys, value, 0, newline), newline)
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            raise UnspliceableYaml(f"{'.'.join(keys[:depth]) or 'the text'} is not a section")
        pair = _pair(node, key)
        if pair is None:
            return _insert(text, node, keys[depth:], value, newline, flow=flow)
        flow = flow or bool(node.flow_style)
        start, end = _span(text, pair)
        if depth == len(keys) - 1:
            return text[:start] + " " + scalar(value) + text[end:]
        node = pair[1]
        if node.tag == "tag:yaml.org,2002:null" and not flow:
            block = _block(keys[depth + 1 :], value, pair[0].start_mark.column + 2, newline)
            stop = _line_stop(text, end)
            return _join(text[:start] + text[end:stop], block, newline) + text[stop:]
    raise UnspliceableYaml("no key was given")


def _insert(
    text: str, node: Any, keys: Sequence[str], value: object, newline: str, *, flow: bool
) -> str:
    """Add an entry to a mapping. `flow` is whether the mapping is inside `{...}`."""
    if not node.flow_style:
        pair = node.value[-1]
        indent = pair[0].start_mark.column
        at = _line_stop(text, _span(text, pair)[1]) if indent else len(text)
        return _join(text[:at], _block(keys, value, indent, newline), newline) + text[at:]
    start, end = node.start_mark.index, node.end_mark.index
    if node.value or flow:
        for key in reversed(keys[1:]):
            value = {key: value}
        comma, at = (", ", _end(text, node.value[-1][1])) if node.value else ("", start + 1)
        return f"{text[:at]}{comma}{scalar(keys[0])}: {scalar(value)}{text[at:]}"
    line = text[_line_start(text, start) : start]
    indent = len(line) - len(line.lstrip()) + 2 if line.strip() else 0
    block = _block(keys, value, indent, newline)
    return text[:start].rstrip(" ") + (newline if line.strip() else "") + block + text[end:]


def _span(text: str, pair: Any) -> tuple[int, int]:
    """The span of a pair's value: from after the colon, without text that follows the value."""
    key, value = pair
    start = text.find(":", key.end_mark.index) + 1
    if not start:
        raise UnspliceableYaml(f"line {key.start_mark.line + 1} has a key without a colon")
    return start, max(start, _end(text, value))


def _end(text: str, node: Any) -> int:
    """The end of `node`. The end mark of a block collection is after the comments below it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _span(text, last)[1] if isinstance(last, tuple) else _end(text, last)
    end: int = node.end_mark.index
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        while end > node.start_mark.index and text[end - 1] in "\r\n":
            end -= 1
    return end


def _line_start(text: str, at: int) -> int:
    return text.rfind(line_end(text)[-1], 0, at) + 1


def _line_stop(text: str, at: int) -> int:
    """The position after the line end that follows `at`."""
    return text.find(line_end(text)[-1], at) + 1 or len(text)


def _block(keys: Sequence[str], value: object, indent: int, newline: str) -> str:
    lines = [" " * (indent + 2 * depth) + scalar(key) + ":" for depth, key in enumerate(keys)]
    return newline.join(lines) + " " + scalar(value)


def _join(text: str, block: str, newline: str) -> str:
    if text and not text.endswith(("\n", "\r")):
        text += newline
    return text + block + newline
