"""Who may read a vault and who may write it: the one policy for agents, vaults and, later, pools.

A vault is open to all agents or reserved for one. Each agent writes into its personal vault and
into the shared one, which bear its name and the name `shared`; djinn keeps both. A vault that was
added is written only when it is named.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from djinn_memory.models import Vault

SHARED = "shared"
"""The name of the vault that all agents read and write."""


def is_open(vault: Vault) -> bool:
    """Whether every agent may read the vault."""
    return vault.agent is None


def may_read(vault: Vault, agent: str | None) -> bool:
    """Whether an agent, or with None every agent, may read the vault."""
    return is_open(vault) or vault.agent == agent


def is_personal(vault: Vault, agent: str) -> bool:
    """Whether the vault is reserved for the agent."""
    return vault.agent == agent


def is_own(vault: Vault) -> bool:
    """Whether djinn keeps the vault, for an agent or for all. Other vaults are only read."""
    return vault.name == own_name(vault.agent)


def is_private(vault: Vault) -> bool:
    """Whether djinn keeps the vault for one agent, so that its files are the user's alone."""
    return is_own(vault) and not is_open(vault)


def may_be_removed(vault: Vault) -> bool:
    """Whether the vault may leave the settings. The shared vault stays, whoever may read it."""
    return not (is_own(vault) or is_shared_name(vault.name))


def same_readers(vault: Vault, other: Vault) -> bool:
    """Whether the same agents may read both vaults."""
    return vault.agent == other.agent


def reserved_for(vaults: Collection[Vault]) -> dict[str, str]:
    """By the name of each vault that is not open: its agent."""
    return {vault.name: vault.agent for vault in vaults if vault.agent is not None}


def readable(vaults: Sequence[Vault], agent: str | None) -> tuple[Vault, ...]:
    """Those of the vaults that an agent, or with None every agent, may read."""
    return tuple(vault for vault in vaults if may_read(vault, agent))


def own_name(agent: str | None) -> str:
    """The name of the vault that djinn keeps for an agent, or with None for all agents."""
    return agent or SHARED


def own_vault(vaults: Sequence[Vault], agent: str | None) -> Vault | None:
    """The vault that an agent, or with None every agent, writes to; None if it is missing."""
    name = own_name(agent)
    own = (vault for vault in vaults if vault.name == name and vault.agent == agent)
    return next(own, None)


def own_vaults(agents: Sequence[str]) -> dict[str, str | None]:
    """The names of the vaults that djinn keeps, each with the agent that it is reserved for."""
    return {SHARED: None, **{agent: agent for agent in agents}}


def is_shared_name(name: str) -> bool:
    """Whether this is the name of the shared vault, which no agent may have."""
    return name == SHARED


def is_known_reader(agent: str | None, agents: Sequence[str]) -> bool:
    """Whether a vault may be reserved for `agent`, or open to all, in a home of these agents."""
    return agent is None or agent in agents
