"""What `djinn vault` prints with `--json`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from djinn_memory import models
from djinn_memory.models import Dialect, Problem


class Vault(Struct):
    """A folder of notes that is searched."""

    name: str
    """What `--vault` takes."""
    root: Path
    """The folder."""
    id: str
    """What stays the vault's own for good, whatever its name and place."""
    agent: str | None
    """Whom it is reserved for; null for everybody."""
    read_only: bool
    """Whether djinn never writes into it."""
    dialect: Dialect
    """How its notes write links, names and properties."""
    contexts: dict[str, str]
    """What was said of folders in it, such as `minutes/`; `""` is the whole vault."""
    inner: Sequence[str]
    """Folders in it that are vaults of their own, relative to `root`."""


def shown(vault: models.Vault) -> Vault:
    """A vault as it is printed."""
    return Vault(
        name=vault.name,
        root=vault.root,
        id=vault.id,
        agent=vault.agent,
        read_only=vault.read_only,
        dialect=vault.dialect,
        contexts=dict(vault.contexts),
        inner=sorted(vault.inner),
    )


class VaultAdd(Struct, tag="djinn.vault.add/1", tag_field="schema", forbid_unknown_fields=True):
    """A vault that has joined."""

    vault: Vault
    """As it stands in the settings now."""
    guessed: str | None
    """What its dialect was guessed from; null when it was given."""
    problems: Sequence[Problem] = ()


class VaultList(Struct, tag="djinn.vault.list/1", tag_field="schema", forbid_unknown_fields=True):
    """The vaults of the home."""

    vaults: Sequence[Vault]
    """In the order of the settings."""
    problems: Sequence[Problem] = ()


class VaultDescribe(
    Struct, tag="djinn.vault.describe/1", tag_field="schema", forbid_unknown_fields=True
):
    """What is said of a folder now."""

    path: str
    """The vault, or vault and folder: `notes/minutes`."""
    context: str | None
    """The sentence; null when nothing is said."""
    problems: Sequence[Problem] = ()


class VaultRemove(
    Struct, tag="djinn.vault.remove/1", tag_field="schema", forbid_unknown_fields=True
):
    """A vault that is no longer searched."""

    vault: Vault
    """As it was; its files are where they were."""
    problems: Sequence[Problem] = ()
