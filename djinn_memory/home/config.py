"""Reads config files and the environment. Only this module does."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from djinn_memory.errors import ConfigError, Remedy
from djinn_memory.home import access
from djinn_memory.home.settings import HOME_ONLY, PROFILES, RECIPE, Config
from djinn_memory.system.files import write_atomic
from djinn_memory.system.interrupts import deferred
from djinn_memory.system.locks import lock


def load(path: Path | None, environment: Mapping[str, str] | None = None) -> Config:
    """The settings of the user, overridden by those of a home at `path`, then by the environment.

    Raises `ConfigError`, one line that names the key and its allowed values.
    """
    return resolve(read(path) if path else {}, str(path or user_path()), environment)


def resolve(
    home: Mapping[str, Any], where: str, environment: Mapping[str, str] | None = None
) -> Config:
    """As `load`, for a home whose settings file, named `where`, contains the data `home`."""
    data = _user_data()
    config = validate(data, str(user_path()))
    if home:
        validate(home, where)
        data = _merged(data, home)
        config = validate(data, where)
    for name, value in sorted((os.environ if environment is None else environment).items()):
        keys = _override_keys(name)
        if keys and value:
            _put(data, keys, _yaml(value, name))
            config = validate(data, f"{name} in the environment")
    return config


def read(path: Path) -> dict[str, Any]:
    """The mapping in a settings file, not yet validated; empty for an empty file."""
    if path.is_fifo():
        # To read it would block.
        raise ConfigError(f"{path} is a pipe; replace it with a file")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(
            f"{path} is missing", Remedy("init", {"folder": str(path.parent)}, "create it")
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}; correct its permissions"
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
            raise ConfigError(
                f"{path}: {key} is only allowed in the config.yaml of a home; remove it here"
            )


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`. Sections are merged key by key.

    When a section names a different provider than the lower section, the lower section's settings
    for its provider, such as address and key, are dropped.
    """
    result = dict(below)
    for key, value in above.items():
        lower = result.get(key)
        if isinstance(lower, dict) and isinstance(value, dict):
            provider = lower.get("provider")
            if provider is not None and value.get("provider", provider) != provider:
                lower = {name: setting for name, setting in lower.items() if name not in RECIPE}
            value = {**lower, **value}
        result[key] = value
    return result


def parse(text: str, where: str) -> dict[str, Any]:
    """Parse the mapping in a config file's text. `where` names the file in errors."""
    data = _yaml(text, where)
    if data is None:
        return {}
    if not isinstance(data, dict):
        kinds = {list: "a list", str: "text", int: "a number", float: "a number"}
        kind = kinds.get(type(data), "something else")
        raise ConfigError(f"{where}: expected `key: value` lines, not {kind}")
    # A section whose keys are all commented out reads as null; its defaults hold.
    return {key: value for key, value in data.items() if value is not None}


def validate(data: Mapping[str, Any], where: str) -> Config:
    """`data` as a `Config`; `where` names its source in the error."""
    documents = data.get("documents")
    if isinstance(documents, dict) and documents.get("keep_originals") is False:
        # YAML reads an unquoted `no` as false.
        data = {**data, "documents": {**documents, "keep_originals": "no"}}
    recall = data.get("recall")
    if isinstance(recall, dict) and isinstance(recall.get("profiles"), dict):
        data = {**data, "recall": {**recall, "profiles": _with_packaged(recall["profiles"])}}
    try:
        with deferred():
            config = msgspec.convert(data, Config)
    except msgspec.ValidationError as error:
        from djinn_memory.home.config_errors import explain

        raise ConfigError(f"{where}: {explain(str(error), data)}") from None
    for problem in _contradictions(config):
        raise ConfigError(f"{where}: {problem.message}", *problem.remedies)
    return config


def _contradictions(config: Config) -> Iterator[ConfigError]:
    """Problems with settings that are each valid by themselves."""
    paths = {"state_dir": config.state_dir, "inbox": config.inbox or ""}
    paths |= {f"vaults.{name}.path": vault.path for name, vault in config.vaults.items()}
    for key, path in paths.items():
        if "\0" in path:
            yield ConfigError(f"{key}: a path cannot contain the character NUL; remove it")
    owners: dict[str, str] = {}
    for name, vault in config.vaults.items():
        if not access.is_known_reader(vault.agent, config.agents):
            allowed = ", ".join(config.agents)
            yield ConfigError(f"vaults.{name}.for: no agent {vault.agent!r}; allowed: {allowed}")
        if vault.id is not None and owners.setdefault(vault.id, name) != name:
            yield ConfigError(
                f"vaults.{name}.id: {_one_line(vault.id)} is already the id of "
                f"vaults.{owners[vault.id]}; remove it here"
            )
    yield from _domain_problems(config)
    for number, pattern in enumerate(config.secrets.allow):
        try:
            re.compile(pattern)
        except (re.error, RecursionError, OverflowError) as error:
            shown = _one_line(pattern)
            yield ConfigError(
                f"secrets.allow[{number}]: {shown} is not a valid regular expression: {error}"
            )
    names = [f"blend_{name}_weight" for name in ("usefulness", "recency", "frequency")]
    total = sum(getattr(config.scoring, name) for name in names)
    if abs(total - 1) > 1e-9:
        weights = ", ".join(f"{name}: {getattr(config.scoring, name):g}" for name in names)
        remedy = Remedy("config.set", {"key": "scoring", "value": f"{{{weights}}}"})
        yield ConfigError(
            f"scoring.blend_*_weight must sum to 1, not {total:g}; set them together", remedy
        )
    profile, profiles = config.recall.profile, config.recall.profiles
    if profile != "auto" and profile not in profiles:
        allowed = ", ".join(["auto", *profiles])
        yield ConfigError(f"recall.profile: no profile {profile!r}; allowed: {allowed}")


def _domain_problems(config: Config) -> Iterator[ConfigError]:
    """Problems with domains: who may see them, and which of them are written by default."""
    for agent in config.access:
        if agent not in config.agents:
            allowed = ", ".join(config.agents[1:])
            yield ConfigError(f"access.{agent}: no agent {agent!r}; allowed: {allowed}")
        if access.is_owner(agent, config.agents):
            yield ConfigError(
                f"access.{agent}: {agent} is the first agent, which sees every domain; "
                "list another agent first in agents"
            )
    used = [(f"access.{agent}", name) for agent, names in config.access.items() for name in names]
    defaults = {f"vaults.{name}.domain": vault.domain for name, vault in config.vaults.items()}
    defaults |= {f"channels.{name}.domain": each.domain for name, each in config.channels.items()}
    used += [(key, domain) for key, domain in defaults.items() if domain is not None]
    known = {access.domain_key(name) for name in config.domains}
    for key, domain in used:
        if known and access.domain_key(domain) not in known:
            allowed = ", ".join(config.domains)
            yield ConfigError(f"{_one_line(key)}: no domain {domain!r}; allowed: {allowed}")
    grants = access.grants_of(config.access)
    for name, vault in config.vaults.items():
        if vault.domain is not None and access.hides(grants, vault.agent, [vault.domain]):
            yield ConfigError(
                f"vaults.{name}.domain: {vault.agent} may not see {vault.domain!r}; "
                f"add it to access.{vault.agent}, or remove it here"
            )


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _with_packaged(profiles: Mapping[str, Any]) -> dict[str, Any]:
    """The packaged profiles. The settings override them key by key."""
    result: dict[str, Any] = {**PROFILES, **profiles}
    for name, packaged in PROFILES.items():
        profile = {} if result[name] is None else result[name]
        result[name] = {**packaged, **profile} if isinstance(profile, dict) else profile
    return result


def edit_user(keys: tuple[str, ...], value: Any) -> Config:
    """Set a value in the user's own settings; None removes the setting.

    The result is validated before it is written. Comments and order are preserved.
    """
    path = user_path()
    with lock(path.with_suffix(".lock")):
        before = path.read_text(encoding="utf-8-sig") if path.is_file() else ""
        text, data = splice(before, [(keys, value)], str(path))
        _only_user(data, path)
        config = validate(data, str(path))
        write_atomic(path, text.encode(), private=True)
    return config


def require_text(value: object) -> None:
    """Raise `ConfigError` if a text has bytes that are not UTF-8, which no settings file holds."""
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{value} is not UTF-8 text; rename it or choose another") from None


def splice(
    text: str, changes: Iterable[tuple[tuple[str, ...], Any]], where: str
) -> tuple[str, dict[str, Any]]:
    """`text` with each (keys, value) set, or removed for None. Also returns the resulting data."""
    from yaml import YAMLError

    from djinn_memory.system.yaml_edit import UnspliceableYaml, remove_value, set_value

    # Parsed before it is changed, because this error names the line.
    parse(text, where)
    try:
        for keys, value in changes:
            require_text(value)
            text = remove_value(text, keys) if value is None else set_value(text, keys, value)
    except (UnspliceableYaml, YAMLError) as error:
        raise ConfigError(f"{where}: {_one_line(str(error))}") from None
    return text, parse(text, where)


def as_data(config: Config) -> dict[str, Any]:
    """The settings as plain values, including defaults."""
    data: dict[str, Any] = msgspec.to_builtins(config)
    return data


def value_at(config: Config, key: str) -> Any:
    """The value at a dotted key. `ConfigError` names the keys that exist there."""
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


def _override_keys(name: str) -> tuple[str, ...]:
    """The config path that an environment variable sets; empty for variables of other programs."""
    keys = name.removeprefix("DJINN_").lower().split("__")
    return tuple(keys) if name.startswith("DJINN_") and len(keys) > 1 and all(keys) else ()


def variable(name: str) -> str | None:
    """An environment variable, the only source of keys; None when it is not set or blank."""
    return os.environ.get(name, "").strip() or None


def own_variables() -> dict[str, str]:
    """The environment variables of djinn, except those that name a home or a session."""
    return {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith("DJINN_") and name not in ("DJINN_HOME", "DJINN_SESSION")
    }


def user_folder() -> Path:
    """The folder of the user's own settings, which apply to every home."""
    from platformdirs import user_config_path

    return Path(variable("DJINN_CONFIG_DIR") or user_config_path("djinn"))


def user_path() -> Path:
    """The user's own settings file. It need not exist."""
    return user_folder() / "config.yaml"


def model_cache() -> Path:
    """The folder of exported models. All homes of a user share it."""
    from platformdirs import user_cache_path

    return Path(variable("DJINN_CACHE") or user_cache_path("djinn"))


def parse_value(text: str) -> Any:
    """Parse a value that a user types.

    It is YAML, so `20`, `true` and `[a, b]` have their YAML types.
    """
    return _yaml(text, "the value")


def _yaml(text: str, where: str) -> Any:
    from yaml import YAMLError

    from djinn_memory.system.yaml_edit import load as load_yaml

    try:
        return load_yaml(text)
    except (YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        why = getattr(error, "problem", None) or "invalid YAML"
        raise ConfigError(f"{where}{line}: {why}; correct the YAML there") from None


def _put(data: dict[str, Any], keys: tuple[str, ...], value: Any) -> None:
    for key in keys[:-1]:
        inner = data.get(key)
        if not isinstance(inner, dict):
            inner = data[key] = {}
        data = inner
    data[keys[-1]] = value
