"""The only reader of config files and of the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from djinn_memory.errors import ConfigError
from djinn_memory.home.settings import (
    HOME_ONLY,
    NAME,
    PROFILES,
    RECIPE,
    Config,
    Name,
    VaultConfig,
)
from djinn_memory.scoring import ScoringConfig
from djinn_memory.system.files import write_atomic
from djinn_memory.system.interrupts import deferred
from djinn_memory.system.locks import lock


def load(path: Path | None, environment: Mapping[str, str] | None = None) -> Config:
    """The user's own settings, those of `path`, a home's, over them, the environment's on top.

    Raises `ConfigError` with one line that names the key and what is allowed there.
    """
    return resolve(read(path) if path else {}, str(path or user_path()), environment)


def resolve(
    home: Mapping[str, Any], where: str, environment: Mapping[str, str] | None = None
) -> Config:
    """What `load` gives for a home whose settings, in the file `where`, say `home`."""
    data = _user_data()
    config = validate(data, str(user_path()))
    if home:
        validate(home, where)
        data = _merged(data, home)
        config = validate(data, where)
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


def _user_data() -> dict[str, Any]:
    path = user_path()
    if not path.is_file():
        return {}
    data = read(path)
    _only_user(data, path)
    return data


def _only_user(data: Mapping[str, Any], path: Path) -> None:
    for key in HOME_ONLY:
        if key in data:
            raise ConfigError(f"{path}: {key} belongs into a home's config.yaml; remove it here")


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`; sections are merged key by key.

    Of a section that names another provider than below, what leads to that one does not count: its
    address, its key.
    """
    result = dict(below)
    for key, value in above.items():
        inner = result.get(key)
        if isinstance(inner, dict) and isinstance(value, dict):
            provider = inner.get("provider")
            if provider is not None and value.get("provider", provider) != provider:
                inner = {name: kept for name, kept in inner.items() if name not in RECIPE}
            value = {**inner, **value}
        result[key] = value
    return result


def parse(text: str, where: str) -> dict[str, Any]:
    """The mapping in a config file's text; `where` names it in errors."""
    data = _yaml(text, where)
    if data is None:
        return {}
    if not isinstance(data, dict):
        from djinn_memory.home.config_errors import kind_of

        raise ConfigError(f"{where}: expected `key: value` lines, found {kind_of(data)}")
    # A section whose keys are all commented out reads as null and means its defaults.
    return {key: value for key, value in data.items() if value is not None}


def validate(data: Mapping[str, Any], where: str) -> Config:
    """`data` as a `Config`; `where` names its source in the error."""
    documents = data.get("documents")
    if isinstance(documents, dict) and documents.get("keep_originals") is False:
        # To YAML an unquoted `no` is a truth value.
        data = {**data, "documents": {**documents, "keep_originals": "no"}}
    recall = data.get("recall")
    if isinstance(recall, dict) and isinstance(recall.get("profiles"), dict):
        data = {**data, "recall": {**recall, "profiles": _profiles(recall["profiles"])}}
    try:
        with deferred():
            config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        from djinn_memory.home.config_errors import explain

        why = explain(_name_entry(str(error), data), Config)
        # A key of the file may hold line breaks.
        raise ConfigError(f"{where}: {' '.join(why.split())}") from None
    for name, vault in config.vaults.items():
        if vault.agent is not None and vault.agent not in config.agents:
            raise ConfigError(
                f"{where}: vaults.{name}.for: no agent {vault.agent!r}; "
                f"allowed: {', '.join(config.agents)}"
            )
    _check_patterns(config, where)
    owners: dict[str, str] = {}
    for name, vault in config.vaults.items():
        if vault.id is not None and owners.setdefault(vault.id, name) != name:
            raise ConfigError(
                f"{where}: vaults.{name}.id: {' '.join(vault.id.split())} is the id of "
                f"vaults.{owners[vault.id]} already; leave it out here"
            )
    _weighted(config.scoring, where)
    if config.recall.profile != "auto" and config.recall.profile not in config.recall.profiles:
        raise ConfigError(
            f"{where}: recall.profile: no profile {config.recall.profile!r}; "
            f"allowed: auto, {', '.join(config.recall.profiles)}"
        )
    return config


def _profiles(said: Mapping[str, Any]) -> dict[str, Any]:
    """The profiles that come with djinn, with what the settings say of them and of others."""
    found: dict[str, Any] = {**PROFILES, **said}
    for name, own in PROFILES.items():
        if isinstance(said.get(name), dict):
            found[name] = {**own, **said[name]}
        elif found[name] is None:
            found[name] = own
    return found


def _check_patterns(config: Config, where: str) -> None:
    for number, pattern in enumerate(config.secrets.allow):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            raise ConfigError(
                f"{where}: secrets.allow[{number}]: {' '.join(pattern.split())} is no regular "
                f"expression: {error}"
            ) from None


def _weighted(scoring: ScoringConfig, where: str) -> None:
    weights = {
        "blend_usefulness_weight": scoring.blend_usefulness_weight,
        "blend_recency_weight": scoring.blend_recency_weight,
        "blend_frequency_weight": scoring.blend_frequency_weight,
    }
    if abs(sum(weights.values()) - 1) > 1e-9:
        said = ", ".join(f"{name}: {value:g}" for name, value in weights.items())
        raise ConfigError(
            f"{where}: scoring.blend_*_weight must sum to 1, found {sum(weights.values()):g}; "
            f"set them together: djinn config set scoring '{{{said}}}'"
        )


def edit_user(keys: tuple[str, ...], value: Any) -> Config:
    """Set a value in the user's own settings, or remove it where it is None.

    The result is checked before it is written; comments and order stay.
    """
    path = user_path()
    with lock(path.with_suffix(".lock")):
        before = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
        text, data = spliced(before, [(keys, value)], str(path))
        _only_user(data, path)
        checked = validate(data, str(path))
        write_atomic(path, text.encode())
    return checked


def spliced(
    text: str, changes: Iterable[tuple[tuple[str, ...], Any]], where: str
) -> tuple[str, dict[str, Any]]:
    """`text` with each (keys, value) set, or removed where the value is None; and what it says."""
    from yaml import YAMLError

    from djinn_memory.system.yaml_edit import UnspliceableYaml, remove_value, set_value

    # Before it is changed: here the error names the line.
    parse(text, where)
    try:
        for keys, value in changes:
            text = remove_value(text, keys) if value is None else set_value(text, keys, value)
    except (UnspliceableYaml, YAMLError) as error:
        raise ConfigError(f"{where}: {' '.join(str(error).split())}") from None
    return text, parse(text, where)


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
            from djinn_memory.home.config_errors import unknown

            known = list(node) if isinstance(node, dict) else []
            raise ConfigError(unknown(part, ".".join(seen), known))
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


def session_from_environment() -> str | None:
    """The session that `DJINN_SESSION` names."""
    return os.environ.get("DJINN_SESSION") or None


def own_variables() -> dict[str, str]:
    """The variables of the environment that speak to djinn, but for the one that names a home."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("DJINN_") and name not in ("DJINN_HOME", "DJINN_SESSION")
    }


def user_folder() -> Path:
    """Where the user's own settings lie, which hold in every home."""
    place = os.environ.get("DJINN_CONFIG_DIR")
    if place:
        return Path(place)
    from platformdirs import user_config_path

    return user_config_path("djinn")


def user_path() -> Path:
    """The user's own settings file, which need not be there."""
    return user_folder() / "config.yaml"


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

    from djinn_memory.system.yaml_edit import load as load_yaml

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
            from djinn_memory.home.config_errors import describe

            return f"expected {describe(Name)} as a vault's name - at `$.vaults[{name}]`"
        try:
            msgspec.convert(entry, VaultConfig)
        except msgspec.ValidationError:
            return message.replace("[...]", f".{name}", 1)
    return message
