"""Finds the notes that a name could mean, as a person gives it."""

from __future__ import annotations

from collections.abc import Sequence

from djinn_memory.models import Vault
from djinn_memory.notes.link_resolution import LinkTarget, Resolver


def resolve(name: str, targets: Sequence[LinkTarget], vaults: Sequence[Vault]) -> list[int]:
    """The keys of the targets that a name could mean; see `SqliteIndex.resolve`."""
    return _exact(name, targets) or _as_link(name, targets, vaults)


def _exact(name: str, targets: Sequence[LinkTarget]) -> list[int]:
    """By vault and path, which is one note, else by id or as a path in any vault."""
    for target in targets:
        if name == f"{target.vault}:{target.path}":
            return [target.key]
    return [
        target.key
        for target in targets
        if name in (target.id, target.path, f"{target.vault}/{target.path}")
    ]


def _as_link(name: str, targets: Sequence[LinkTarget], vaults: Sequence[Vault]) -> list[int]:
    written = name.strip().removeprefix("[[").removesuffix("]]").removesuffix(".md")
    if not written:
        return []
    keys: dict[int, None] = {}
    for vault in vaults:
        own = [target for target in targets if target.vault == vault.name]
        resolver = Resolver(own, dialects={vault.name: vault.dialect})
        result = resolver.resolve(written, source_vault=vault.name, source_path="")
        if result.key is not None:
            keys.update(dict.fromkeys(result.ambiguous or (result.key,)))
    return list(keys)
