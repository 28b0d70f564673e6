"""Checks of domains: names that no setting lists, and grants and defaults without effect."""

from __future__ import annotations

from collections.abc import Iterator

from djinn_memory.errors import Remedy
from djinn_memory.home import access
from djinn_memory.store.index.local.sqlite_index import peeking
from djinn_memory.store.recovery import store_errors
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import Check, CheckedHome, hint, ok, some, warning

_PART = "domains"


def domains(case: CheckedHome) -> Iterator[Check]:
    """Check the domains of memories, of the settings, and of what is written by default."""
    config = case.home.config
    if not (config.domains or config.access):
        return
    checks = [*_refused(case), *_unknown(case)]
    listed = count(len(config.domains), "domain") if config.domains else "any domain"
    yield from checks or [ok(_PART, f"{listed}; {count(len(config.access), 'agent')} limited")]


def _unknown(case: CheckedHome) -> Iterator[Check]:
    """Names that memories have and the settings do not list, and grants that no memory has."""
    home, config = case.home, case.home.config
    if not home.index_path.exists():
        return
    try:
        with peeking(home.index_path, home.vaults, config.access) as index:
            written = index.values(access.DOMAIN)
    except store_errors():
        return
    keys = {access.domain_key(name) for name in written}
    known = {access.domain_key(name) for name in config.domains}
    unknown = [name for name in written if access.domain_key(name) not in known]
    if known and unknown:
        what = f"{some(unknown)} in notes, but not in `domains` of the settings"
        yield warning(_PART, what, Remedy("lint", purpose="list the notes"))
    for agent, granted in config.access.items():
        unused = [name for name in granted if access.domain_key(name) not in keys]
        if unused and not known:
            what = f"access.{agent} grants {some(unused)}, which no memory has"
            yield hint(_PART, what, "check the spelling")


def _refused(case: CheckedHome) -> Iterator[Check]:
    """Defaults that keep an agent from writing, because it may not see what it would write."""
    config = case.home.config
    grants = access.grants_of(config.access)
    defaults = {f"channels.{name}": channel.domain for name, channel in config.channels.items()}
    defaults |= {
        f"vaults.{vault.name}": config.vaults[vault.name].domain
        for vault in case.home.vaults
        if access.is_open(vault)
    }
    for section, domain in defaults.items():
        if domain is None:
            continue
        key, refused = f"{section}.domain", access.excluded(grants, [domain])
        if refused:
            what = f"{some(refused)} cannot write there by default, because {key} is {domain}"
            yield warning(_PART, what, f"grant {domain} in `access`, or remove {key}")
