"""Who may read and write a vault or a domain: the only policy for agents, vaults and domains.

A vault is open to all agents or reserved for one. Each agent writes into its personal vault, which
has the agent's name, and into the vault `shared`. djinn creates both. An added vault is written to
only when it is named.

A memory may have domains, such as `work`. The setting `access` limits an agent to some of them. The
agent then sees memories without a domain, and those whose domains were all granted to it. The first
agent of the settings is the owner of the home and sees every domain.

A key of the HTTP server opens a part of what its agents see. While a call with a key runs, `limits`
is the key, and a home shows nothing else.

The setting `sync.read_all` names agents that search all vaults of a server, also those of other
agents and homes. Their view here stays the same, and domains limit them there too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from unicodedata import normalize

from djinn_memory.home.keys import Key
from djinn_memory.models import Vault

Grants = Mapping[str, Collection[str]]
"""The domains that each limited agent may see, in the form of `domain_key`."""

DOMAIN = "domain"
"""The front matter field, and the field of a journal section, with the domain of a memory."""

SHARED = "shared"
"""The name of the vault that all agents read and write."""

limits: ContextVar[Key | None] = ContextVar("limits", default=None)
"""The key of the running call; None without a key."""


@contextmanager
def limited_by(key: Key | None) -> Iterator[None]:
    """Show only what a key opens; None for everything."""
    before = limits.set(key)
    try:
        yield
    finally:
        limits.reset(before)


def is_limited() -> bool:
    """Whether the key of the running call hides a part of what its agents see."""
    key = limits.get()
    return bool(key and (key.vaults or key.domains))


def opened(vaults: Sequence[Vault]) -> Sequence[Vault]:
    """Those of some vaults that the key of the running call opens."""
    key = limits.get()
    if not (key and key.vaults):
        return vaults
    return [vault for vault in vaults if vault.name in key.vaults]


def reader_of(agent: str, key: Key | None) -> str:
    """The name under which the domains are granted that an agent sees in the running call."""
    return f"{agent}@{key.name}" if key and key.domains else agent


def grants_of_key(key: Key, agents: Iterable[str], granted: Grants) -> Grants:
    """The domains that agents see with a key, by `reader_of`: those that both may see."""
    if not key.domains:
        return {}
    return {
        reader_of(agent, key): [
            domain
            for domain in key.domains
            if agent not in granted or domain_key(domain) in {*map(domain_key, granted[agent])}
        ]
        for agent in agents
    }


def is_open(vault: Vault) -> bool:
    """Whether every agent may read the vault."""
    return vault.agent is None


def may_read(vault: Vault, agent: str | None) -> bool:
    """Whether an agent may read the vault; None stands for every agent."""
    return is_open(vault) or vault.agent == agent


def domain_key(name: str) -> str:
    """The form in which names of domains are compared, which is that of `notes.slugs.fold`."""
    return normalize("NFC", normalize("NFC", name).casefold())


def distinct(domains: Iterable[str]) -> tuple[str, ...]:
    """Domains in alphabetical order, without repetitions."""
    by_key = {domain_key(domain): domain for domain in sorted(domains, reverse=True)}
    return tuple(by_key[key] for key in sorted(by_key))


def grants_of(access: Mapping[str, Iterable[str]]) -> Grants:
    """The grants in the setting `access`."""
    return {agent: frozenset(map(domain_key, domains)) for agent, domains in access.items()}


def excluded(grants: Grants, domains: Iterable[str]) -> list[str]:
    """The agents that may not see a memory with these domains, in alphabetical order."""
    needed = frozenset(map(domain_key, domains))
    return sorted(agent for agent, granted in grants.items() if not needed <= frozenset(granted))


def hides(grants: Grants, agent: str | None, domains: Iterable[str]) -> bool:
    """Whether an agent may not see a memory with these domains; None sees all memories."""
    return agent is not None and agent in excluded(grants, domains)


def is_owner(agent: str, agents: Sequence[str]) -> bool:
    """Whether this is the owner of the home, who sees every domain."""
    return agent == agents[0]


def reads_all(agent: str, administrators: Collection[str]) -> bool:
    """Whether an agent searches all vaults of a server; see the setting `sync.read_all`."""
    return agent in administrators


def is_personal(vault: Vault, agent: str) -> bool:
    """Whether the vault is reserved for the agent."""
    return vault.agent == agent


def is_own(vault: Vault) -> bool:
    """Whether djinn manages the vault, for one agent or for all. Other vaults are only read."""
    return vault.name == own_name(vault.agent)


def is_private(vault: Vault) -> bool:
    """Whether djinn manages the vault for one agent, so that only the user may access its files."""
    return is_own(vault) and not is_open(vault)


def may_be_removed(vault: Vault) -> bool:
    """Whether the vault may be removed from the settings. The shared vault always stays."""
    return not (is_own(vault) or is_shared_name(vault.name))


def same_readers(vault: Vault, other: Vault) -> bool:
    """Whether the same agents may read both vaults."""
    return vault.agent == other.agent


def reserved_for(vaults: Collection[Vault]) -> dict[str, str]:
    """The agent of each vault that is not open, by the vault's name."""
    return {vault.name: vault.agent for vault in vaults if vault.agent is not None}


def readable(vaults: Sequence[Vault], agent: str | None) -> tuple[Vault, ...]:
    """The vaults that an agent may read; None stands for every agent."""
    return tuple(vault for vault in vaults if may_read(vault, agent))


def own_name(agent: str | None) -> str:
    """The name of the vault that djinn manages for an agent, or with None for all agents."""
    return agent or SHARED


def own_vault(vaults: Sequence[Vault], agent: str | None) -> Vault | None:
    """The vault to which an agent writes, or with None every agent; None if it is missing."""
    name = own_name(agent)
    own = (vault for vault in vaults if vault.name == name and vault.agent == agent)
    return next(own, None)


def own_vaults(agents: Sequence[str]) -> dict[str, str | None]:
    """The names of the vaults that djinn manages, each with the agent that it is reserved for."""
    return {SHARED: None, **{agent: agent for agent in agents}}


def is_shared_name(name: str) -> bool:
    """Whether this is the name of the shared vault. No agent may have this name."""
    return name == SHARED


def is_known_reader(agent: str | None, agents: Sequence[str]) -> bool:
    """Whether `agent` is one of these agents, or None, which stands for all."""
    return agent is None or agent in agents
