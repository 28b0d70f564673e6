"""Settings: their model, and the only reader of config files and of the environment."""

from __future__ import annotations

import difflib
import os
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from djinn_memory.errors import ConfigError
from djinn_memory.models import Dialect, Expand, Mode

NAME = r"^[^\W_][\w.-]{0,63}\Z"
"""Names of vaults and agents: they become folder names and command line words."""

Name = Annotated[str, Meta(pattern=NAME, description="letters, digits, '.', '-' and '_'")]


class VaultConfig(msgspec.Struct, forbid_unknown_fields=True, rename={"agent": "for"}):
    """One folder of notes."""

    path: str
    id: str | None = None
    agent: Name | None = None
    read_only: bool = False
    dialect: Dialect = "obsidian"
    contexts: dict[str, str] = msgspec.field(default_factory=dict)


Provider = Literal["auto", "local", "sentence-transformers", "ollama", "openai", "hashing", "none"]


class EmbeddingConfig(msgspec.Struct, forbid_unknown_fields=True):
    """How texts become vectors."""

    provider: Provider = "auto"
    model: str | None = None
    url: str | None = None
    key_env: str | None = None
    dimensions: Annotated[int, Meta(ge=1, le=8192)] | None = None
    query_prompt: str | None = None
    document_prompt: str | None = None
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = 30.0
    threads: Annotated[int, Meta(ge=0, le=256)] = 0
    batch: Annotated[int, Meta(ge=1, le=1024)] = 32


class LlmConfig(msgspec.Struct, forbid_unknown_fields=True):
    """A chat model that may be asked for help; none is asked while `model` is not set."""

    provider: Literal["openai", "anthropic"] = "openai"
    model: str | None = None
    url: str | None = None
    key_env: str | None = None
    timeout: Annotated[float, Meta(ge=0.1, le=3600)] = 5.0


class SearchConfig(msgspec.Struct, forbid_unknown_fields=True):
    """What a search does unless its options say otherwise."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    mode: Mode = "hybrid"
    per_note: Annotated[int, Meta(ge=1, le=100)] = 2
    per_document: Annotated[int, Meta(ge=1, le=100)] = 5
    sweep_ms: Annotated[int, Meta(ge=0, le=10_000)] = 50
    sweep_notes: Annotated[int, Meta(ge=0, le=1000)] = 20
    rerank: str | None = None
    rerank_ms: Annotated[int, Meta(ge=1, le=600_000)] = 2000
    expand: Expand = "none"


class Config(msgspec.Struct, forbid_unknown_fields=True):
    """Everything that `config.yaml` may say."""

    agents: Annotated[list[Name], Meta(min_length=1)] = msgspec.field(
        default_factory=lambda: ["me"]
    )
    vaults: dict[Name, VaultConfig] = msgspec.field(default_factory=dict)
    state_dir: str = ".djinn"
    exclude: list[str] = msgspec.field(default_factory=list)
    embedding: EmbeddingConfig = msgspec.field(default_factory=EmbeddingConfig)
    search: SearchConfig = msgspec.field(default_factory=SearchConfig)
    llm: LlmConfig = msgspec.field(default_factory=LlmConfig)


def load(path: Path, environment: Mapping[str, str] | None = None) -> Config:
    """The settings of `path` with the environment's overrides on top.

    Raises `ConfigError` with one line that names the key and what is allowed there.
    """
    data = read(path)
    config = validate(data, str(path))
    for name, value in sorted((os.environ if environment is None else environment).items()):
        keys = override_keys(name)
        if keys and value:
            _put(data, keys, _yaml(value, name))
            config = validate(data, f"{name} in the environment")
    return config


def read(path: Path) -> dict[str, Any]:
    """The mapping that the file holds, not yet checked; empty for an empty file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path} is missing; `djinn init {path.parent}` writes it") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}; mend its permissions"
        ) from None
    return parse(text, str(path))


def parse(text: str, where: str) -> dict[str, Any]:
    """The mapping in a config file's text; `where` names it in errors."""
    data = _yaml(text, where)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: expected `key: value` lines, found {_kind(data)}")
    # A section whose keys are all commented out reads as null and means its defaults.
    return {key: value for key, value in data.items() if value is not None}


def validate(data: Mapping[str, Any], where: str) -> Config:
    """`data` as a `Config`; `where` names its source in the error."""
    try:
        config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        why = _explain(_name_entry(str(error), data))
        # A key of the file may hold line breaks.
        raise ConfigError(f"{where}: {' '.join(why.split())}") from None
    for name, vault in config.vaults.items():
        if vault.agent is not None and vault.agent not in config.agents:
            raise ConfigError(
                f"{where}: vaults.{name}.for: no agent {vault.agent!r}; "
                f"allowed: {', '.join(config.agents)}"
            )
    owners: dict[str, str] = {}
    for name, vault in config.vaults.items():
        if vault.id is not None and owners.setdefault(vault.id, name) != name:
            raise ConfigError(
                f"{where}: vaults.{name}.id: {' '.join(vault.id.split())} is the id of "
                f"vaults.{owners[vault.id]} already; leave it out here"
            )
    return config


def as_data(config: Config) -> dict[str, Any]:
    """The settings as plain values, defaults included."""
    data: dict[str, Any] = msgspec.to_builtins(config)
    return data


def value_at(config: Config, key: str) -> Any:
    """The value at a dotted key; `ConfigError` names the keys that exist there."""
    node: Any = as_data(config)
    seen: list[str] = []
    for part in key.split("."):
        if not isinstance(node, dict) or part not in node:
            known = list(node) if isinstance(node, dict) else []
            raise ConfigError(_unknown(part, ".".join(seen), known))
        node = node[part]
        seen.append(part)
    return node


def override_keys(name: str) -> tuple[str, ...]:
    """The config path that an environment variable sets; empty when it is none of djinn's."""
    keys = name.removeprefix("DJINN_").lower().split("__")
    return tuple(keys) if name.startswith("DJINN_") and len(keys) > 1 and all(keys) else ()


def home_from_environment() -> str | None:
    """The home that `DJINN_HOME` names."""
    return os.environ.get("DJINN_HOME") or None


def secret(name: str) -> str | None:
    """A key from the environment, the only place that keys come from; None when it is not set."""
    return os.environ.get(name, "").strip() or None


def model_cache() -> Path:
    """Where exported models are kept: per user, shared by all homes."""
    place = os.environ.get("DJINN_CACHE")
    if place:
        return Path(place)
    from platformdirs import user_cache_path

    return user_cache_path("djinn")


def parse_value(text: str) -> Any:
    """A value as a user types it: YAML, so `20`, `true` and `[a, b]` mean what they look like."""
    return _yaml(text, "the value")


def _yaml(text: str, where: str) -> Any:
    from yaml import YAMLError

    from djinn_memory.yamltext import load as load_yaml

    try:
        return load_yaml(text)
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "not readable as YAML"
        raise ConfigError(f"{where}{line}: {why}; mend the YAML there") from None


def _put(data: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        inner = data.get(key)
        if not isinstance(inner, dict):
            inner = data[key] = {}
        data = inner
    data[keys[-1]] = value


def _name_entry(message: str, data: Mapping[str, Any]) -> str:
    """Msgspec says `$.vaults[...]` for any entry of a mapping: put in which one it was."""
    if "$.vaults" not in message or not isinstance(data["vaults"], dict):
        return message
    for name, entry in data["vaults"].items():
        if not re.match(NAME, str(name)):
            return f"expected a vault's name - at `$.vaults[{name}]`"
        try:
            msgspec.convert(entry, VaultConfig)
        except msgspec.ValidationError:
            return message.replace("[...]", f".{name}", 1)
    return message


def _explain(message: str) -> str:
    text, _, at = message.partition(" - at ")
    path = [part for part in re.split(r"[.\[\]`]+", at.rpartition("$")[2]) if part]
    names = re.findall(r"`([^`]*)`", text)
    if "unknown field" in text and names:
        kind = _type_at(path)
        known = [f.encode_name for f in msgspec.structs.fields(kind)] if _is_struct(kind) else []
        return _unknown(names[0], ".".join(path), known)
    key = ".".join(path)
    if at.startswith("`key`"):
        return f"{'.'.join(path) or 'the file'}: a key is not text; write names as keys"
    if "expected a vault's name" in text:
        return f"{key}: expected {_describe(Name)} as a vault's name"
    if "missing required field" in text and names:
        return f"{key}.{names[0]} is missing; write it there"
    found = re.search(r"got `([^`]*)`|Invalid enum value (.*)", text)
    got = f", not {found[1] or found[2]}" if found else ""
    allowed = _describe(_type_at(path)) or text.removeprefix("Expected ")
    return f"{key or 'the file'}: expected {allowed}{got}"


def _unknown(name: str, at: str, known: list[str]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean {near[0]}? " if near else ""
    place = f"{at}.{name}" if at else name
    if not known:
        return f"{place}: no such key; {at} is a single value"
    return f"{place}: no such key; {hint}known here: {', '.join(known)}"


def _is_struct(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _type_at(path: list[str]) -> Any:
    kind: Any = Config
    for part in path:
        kind = _bare(kind)
        if _is_struct(kind):
            hints = typing.get_type_hints(kind, include_extras=True)
            by_name = {f.encode_name: hints[f.name] for f in msgspec.structs.fields(kind)}
            kind = by_name.get(part)
        else:
            arguments = typing.get_args(kind)
            kind = arguments[-1] if arguments else None
    return kind


def _bare(kind: Any) -> Any:
    if typing.get_origin(kind) is Annotated:
        return _bare(typing.get_args(kind)[0])
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        return _bare(next(a for a in typing.get_args(kind) if a is not type(None)))
    return kind


def _describe(kind: Any) -> str:
    """What may stand at a key, for an error message."""
    bare = _bare(kind)
    metas = [m for m in typing.get_args(kind)[1:] if isinstance(m, Meta)]
    if typing.get_origin(bare) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(bare)))
    meta = metas[0] if metas else Meta()
    if bare is int:
        return f"a whole number from {meta.ge} to {meta.le}"
    if bare is float:
        return f"a number from {meta.ge} to {meta.le}"
    if bare is bool:
        return "true or false"
    if bare is str:
        return f"a name of {meta.description}" if meta.description else "text"
    if typing.get_origin(bare) is list:
        return "a list, [a, b]" + (", not empty" if meta.min_length else "")
    if _is_struct(bare) or typing.get_origin(bare) is dict:
        return "a section of `key: value` lines"
    return ""


def _kind(value: object) -> str:
    return {list: "a list", str: "text", int: "a number", float: "a number"}.get(
        type(value), "something else"
    )
