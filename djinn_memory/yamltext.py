"""YAML that people wrote: read leniently, changed by splicing so that every other byte stays."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import yaml

_PLAIN = re.compile(r"[^\W\d_][\w ./+-]*", re.ASCII)
_WORDS_WITH_MEANING = {"true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"}


class Unspliceable(ValueError):
    """The text has a shape in which one value cannot be changed by itself."""


def scalar(value: object) -> str:
    """`value` as one line of YAML that reads back as itself."""
    if isinstance(value, str):
        plain = (
            _PLAIN.fullmatch(value)
            and value == value.strip()
            and value.lower() not in _WORDS_WITH_MEANING
        )
        return value if plain else json.dumps(value, ensure_ascii=False)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(scalar(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(k)}: {scalar(v)}" for k, v in value.items()) + "}"
    return json.dumps(value)


def set_value(text: str, keys: Sequence[str], value: object) -> str:
    """`text` with the value at the path `keys` set; comments, order and spacing are kept.

    Missing levels are added in block style at the end of the deepest one that exists.
    Raises `yaml.YAMLError` for text that is no YAML, `Unspliceable` where a level is not a mapping.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    root = _compose(text)
    if root is None:
        return _join(text, _block(keys, value, 0, newline), newline)
    node: Any = root
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            raise Unspliceable(f"{'.'.join(keys[:depth])} is not a mapping")
        found = next((pair for pair in node.value if pair[0].value == key), None)
        if found is None:
            return _insert(text, node, keys[depth:], value, newline)
        if depth == len(keys) - 1:
            start, end = _span(found)
            return text[:start] + " " + scalar(value) + text[end:]
        if isinstance(found[1], yaml.ScalarNode) and not found[1].value:
            start, end = _span(found)
            indent = found[0].start_mark.column + 2
            block = _block(keys[depth + 1 :], value, indent, newline)
            return text[:start] + newline + block + text[end:]
        node = found[1]
    raise Unspliceable("no key was named")


def remove_value(text: str, keys: Sequence[str]) -> str:
    """`text` without the lines of the entry at `keys`; unchanged when there is none."""
    node: Any = _compose(text)
    for depth, key in enumerate(keys):
        if not isinstance(node, yaml.MappingNode):
            return text
        found = next((pair for pair in node.value if pair[0].value == key), None)
        if found is None:
            return text
        if depth < len(keys) - 1:
            node = found[1]
            continue
        if node.flow_style:
            raise Unspliceable(f"{'.'.join(keys)} stands in a {{...}} on one line")
        start = text.rfind("\n", 0, found[0].start_mark.index) + 1
        stop = text.find("\n", _span(found)[1])
        if len(node.value) == 1 and depth:
            return set_value(text, keys[:-1], {})
        return text[:start] + (text[stop + 1 :] if stop >= 0 else "")
    return text


def _compose(text: str) -> Any:
    return yaml.compose(text, Loader=yaml.SafeLoader)


def _span(pair: Any) -> tuple[int, int]:
    """From behind the key's colon to the end of the value, without what follows it."""
    key, value = pair
    return _after_colon(key), _end(value)


def _after_colon(key: Any) -> int:
    buffer = key.end_mark.buffer
    if buffer is None:
        raise Unspliceable("the text has no marks")
    index: int = key.end_mark.index
    return int(buffer.index(":", index)) + 1


def _end(node: Any) -> int:
    """Where `node` ends: a block collection's own mark lies past the comments behind it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(_after_colon(last[0]), _end(last[1])) if isinstance(last, tuple) else _end(last)
    end: int = node.end_mark.index
    buffer: str = node.end_mark.buffer
    if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
        while end > node.start_mark.index and buffer[end - 1] in "\r\n":
            end -= 1
    return end


def _insert(text: str, node: Any, keys: Sequence[str], value: object, newline: str) -> str:
    if node.flow_style:
        if node.value:
            end = _end(node.value[-1][1])
            rest: object = value
            for key in reversed(keys[1:]):
                rest = {key: rest}
            return f"{text[:end]}, {scalar(keys[0])}: {scalar(rest)}{text[end:]}"
        start, end = node.start_mark.index, node.end_mark.index
        line = text[text.rfind("\n", 0, start) + 1 : start]
        indent = 0 if not line.strip() else len(line) - len(line.lstrip()) + 2
        block = _block(keys, value, indent, newline)
        return text[:start].rstrip(" ") + (newline if line.strip() else "") + block + text[end:]
    key_node, value_node = node.value[-1]
    indent = key_node.start_mark.column
    stop = text.find("\n", max(_after_colon(key_node), _end(value_node)))
    at = len(text) if stop < 0 or not indent else stop + 1
    return _join(text[:at], _block(keys, value, indent, newline), newline) + text[at:]


def _block(keys: Sequence[str], value: object, indent: int, newline: str) -> str:
    lines = []
    for depth, key in enumerate(keys):
        last = depth == len(keys) - 1
        lines.append(" " * (indent + 2 * depth) + scalar(key) + ":")
        if last:
            lines[-1] += " " + scalar(value)
    return newline.join(lines)


def _join(text: str, block: str, newline: str) -> str:
    if text and not text.endswith("\n"):
        text += newline
    return text + block + newline
