"""djinn config show, get, set, path, trust: the settings, and what they may use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct, field

from djinn_memory.cli import candidates
from djinn_memory.cli.command import Call, Confirm, command
from djinn_memory.cli.output import clean, say, say_verbatim
from djinn_memory.cli.request_options import Field
from djinn_memory.errors import Unavailable
from djinn_memory.home.settings import Config
from djinn_memory.home.trust import Endpoint
from djinn_memory.models import Problem

Key = Annotated[str, Meta(description="A dotted key, such as search.limit.")]
User = Annotated[bool, Meta(description="Use your personal settings, which apply to every home.")]

KEY = {"key": Field(complete=candidates.keys)}


class _GetSetting(Struct, frozen=True):
    """Show one setting, or one section."""

    key: Key


class _SetSetting(Struct, frozen=True):
    """Change one setting. Comments and order are kept."""

    key: Key
    value: Annotated[
        str, Meta(description="The value in YAML: 20, true, [a, b]. null restores the default.")
    ]
    user: User = False


class _LocateSettings(Struct, frozen=True):
    """Print the path of the settings file."""

    user: User = False


class _AllSettings(Struct, frozen=True):
    """All settings in effect."""

    config: Config
    """The merged settings: defaults, user settings, home settings and environment."""


class _Setting(Struct, frozen=True):
    """One setting, or one section."""

    key: str
    """The dotted key, as given."""
    value: Any
    """The value in effect. docs/config.md gives its type."""


class _SettingsPath(Struct, frozen=True):
    """The path of the settings file."""

    path: Path
    """The settings file. With `--user` it may not exist yet."""


def _run_show(call: Call) -> _AllSettings:
    return _AllSettings(call.djinn.home.config)


@command("config.show", run=_run_show, warns=True)
def _show(call: Call, answer: _AllSettings) -> None:
    """Show all settings in effect, defaults included.

    Examples:
        djinn config show
    """
    import yaml

    from djinn_memory.home.config import as_data

    say_verbatim(
        yaml.safe_dump(as_data(answer.config), sort_keys=False, allow_unicode=True).rstrip()
    )


def _run_get(call: Call) -> _Setting:
    from djinn_memory.home.config import value_at

    return _Setting(call.request.key, value_at(call.djinn.home.config, call.request.key))


@command("config.get", request=_GetSetting, arguments=["key"], fields=KEY, run=_run_get)
def _get(call: Call, answer: _Setting) -> None:
    """Show one setting, or one section.

    Examples:
        djinn config get search.limit
    """
    say(_text(answer.value))


def _run_set(call: Call) -> _Setting:
    from djinn_memory.home import config

    key = call.request.key
    change = tuple(key.split(".")), config.parse_value(call.request.value)
    changed = config.edit_user(*change) if call.request.user else call.djinn.home.edit(change)
    if key.startswith("embedding") and not call.request.user:
        call.djinn.problems.extend(_missing_packages(changed))
    return _Setting(key, config.value_at(changed, key))


def _missing_packages(changed: Config) -> Iterator[Problem]:
    from djinn_memory.embedding.embedder import create_embedder

    try:
        if embedder := create_embedder(changed.embedding):
            embedder.check()
    except Unavailable as missing:
        yield Problem("embedding", str(missing))


@command(
    "config.set",
    request=_SetSetting,
    arguments=["key", "value"],
    fields=KEY,
    run=_run_set,
    warns=True,
)
def _set(call: Call, answer: _Setting) -> None:
    """Change one setting. Comments and order are kept.

    Examples:
        djinn config set search.limit 20
    """
    say(f"{answer.key}: {_text(answer.value)}")


def _run_path(call: Call) -> _SettingsPath:
    from djinn_memory.home.config import user_path

    return _SettingsPath(user_path() if call.request.user else call.djinn.home.config_path)


@command("config.path", request=_LocateSettings, run=_run_path)
def _path(call: Call, answer: _SettingsPath) -> None:
    """Print the path of the settings file.

    Examples:
        djinn config path
    """
    say(clean(str(answer.path)))


def _text(value: Any) -> str:
    from djinn_memory.system.yaml_edit import scalar

    return clean(value if isinstance(value, str) else scalar(value))


class _TrustHome(Struct, frozen=True):
    """Options of `djinn config trust`."""

    listing: Annotated[
        bool, Meta(description="List trusted servers and models, and those waiting for trust.")
    ] = field(default=False, name="list")
    revoke: Annotated[bool, Meta(description="Revoke all trust of this home.")] = False


class _TrustedEndpoints(Struct, frozen=True):
    """The servers and models that the home may use."""

    home: Path
    """The folder of the home."""
    trusted: Sequence[Endpoint]
    """Servers and models that the home may use."""
    waiting: Sequence[Endpoint]
    """Servers and models in the settings that the home may not use."""


def _run_trust(call: Call) -> _TrustedEndpoints:
    home = call.djinn.home
    if call.request.revoke:
        home.distrust()
    elif home.untrusted and not call.request.listing:
        about = "; ".join(map(str, home.untrusted))
        if call.confirmed("Let this home use them?", about):
            home.trust(home.untrusted)
    return _TrustedEndpoints(home.root, home.trusted, home.untrusted)


@command(
    "config.trust",
    request=_TrustHome,
    fields={"listing": Field(name="--list")},
    view=Confirm,
    run=_run_trust,
)
def _trust(call: Call, answer: _TrustedEndpoints) -> None:
    """Let this home use the servers and models in its settings.

    Until then they are ignored, so that a cloned home cannot send your notes to a server. A
    setting that changes later must be trusted again.

    Examples:
        djinn config trust
        djinn config trust --list
    """
    for endpoint in answer.trusted:
        say(f"trusted  {clean(str(endpoint))}")
    for endpoint in answer.waiting:
        say(f"waiting  {clean(str(endpoint))}")
    if not answer.trusted and not answer.waiting:
        say("Nothing to trust: this home uses no server and no external model.")
