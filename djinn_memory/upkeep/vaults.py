"""Checks of the vaults on the disk, and of the domains of memories and of the settings."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from djinn_memory.errors import DjinnError, NotFound, Remedy
from djinn_memory.home import access
from djinn_memory.home.access import is_private
from djinn_memory.memories.profiles.reading import wrong_values
from djinn_memory.models import Vault
from djinn_memory.notes.vault import VaultListing, walk
from djinn_memory.store.index.local.sqlite_index import peeking
from djinn_memory.store.sqlite import STORE_ERRORS
from djinn_memory.store.state import State
from djinn_memory.system.disks import network
from djinn_memory.system.files import leftovers_below
from djinn_memory.system.locks import is_locked
from djinn_memory.system.plural import count
from djinn_memory.upkeep.findings import (
    FIX,
    Check,
    CheckedHome,
    error,
    failure,
    hint,
    ok,
    privacy,
    removing,
    some,
    warning,
)

_CONFLICT = re.compile(
    r"""
    \.sync-conflict-\d{8}-\d{6}        # Syncthing
    | \([^()]*conflicted\ copy[^()]*\) # Dropbox, Nextcloud
    | \(case\ conflict[^()]*\)
    | \(conflict[ )]|_conflict-\d{8}   # ownCloud, OneDrive
    | \.conflict-\d{8}
    """,
    re.IGNORECASE | re.VERBOSE,
)


def vaults(case: CheckedHome) -> Iterator[Check]:
    """Check each vault: whether it exists, can be read, and contains unwanted files."""
    for vault in case.home.vaults:
        part = f"vault {vault.name}"
        try:
            listing = walk(vault, case.home.config.exclude)
        except NotFound as gone:
            yield failure(part, gone)
            continue
        except DjinnError as wrong:
            yield failure(part, wrong)
            return
        yield from _vault(case, vault, part, listing)


def profiles(case: CheckedHome) -> Iterator[Check]:
    """Check the values in the profiles of agents. Only `profile.md` is read, without the index."""
    for agent in case.home.config.agents:
        for problem in wrong_values(case.home, agent):
            what = f"{problem.what}: {problem.why}"
            yield warning("profiles", what, "correct the note; without this the value is ignored")


def _vault(case: CheckedHome, vault: Vault, part: str, listing: VaultListing) -> Iterator[Check]:
    checks = list(_folder(vault, part))
    for problem in listing.problems[:20]:
        what = f"{problem.what}: {problem.why}"
        checks.append(warning(part, what, "correct or exclude the file"))
    paths = [file.path for file in listing.files]
    if shut := [path for path in paths if not os.access(vault.root / path, os.R_OK)]:
        what = f"{some(shut)} cannot be read"
        checks.append(warning(part, what, "correct the permissions or the owner of the files"))
    if conflicts := [path for path in paths if _CONFLICT.search(path.rpartition("/")[2])]:
        what = f"a sync client left {some(conflicts)} beside the original notes"
        checks.append(warning(part, what, "merge the changes and delete the copies"))
    if is_private(vault):
        checks += privacy(part, vault.root)
    if not vault.read_only:
        checks += _scratch(case.state, vault, part)
    yield from checks
    if not any(check.finding.severity in ("warning", "error") for check in checks):
        yield ok(part, f"{count(len(listing.files), 'note')} in {vault.root}")


def _folder(vault: Vault, part: str) -> Iterator[Check]:
    if not os.access(vault.root, os.R_OK | os.X_OK):
        yield error(part, f"{vault.root} cannot be read", "correct the permissions of the folder")
    elif not vault.read_only and not os.access(vault.root, os.W_OK):
        remedy = f"correct its permissions, or set vaults.{vault.name}.read_only"
        yield warning(part, f"{vault.root} cannot be written", remedy)
    if kind := network(vault.root):
        what = f"{vault.root} lies on a network drive ({kind}), where changes are noticed late"
        yield hint(part, what)


def _scratch(state: State, vault: Vault, part: str) -> Iterator[Check]:
    """Find scratch files of killed processes. The next process that writes removes them too."""
    if is_locked(state.vault_lock_path(vault)):
        return

    def mend() -> str:
        with state.vault_lock(vault):
            return removing(left)()

    if left := leftovers_below(vault.root, state.scratch_seconds(vault)):
        what = f"an interrupted process left {some([path.name for path in left])}"
        yield hint(part, what, FIX, mend)


_DOMAINS = "domains"


def domains(case: CheckedHome) -> Iterator[Check]:
    """Check the domains of memories and of the settings, and the default domains."""
    config = case.home.config
    if not (config.domains or config.access):
        return
    checks = [*_refused_defaults(case), *_unknown_domains(case)]
    listed = count(len(config.domains), "domain") if config.domains else "any domain"
    yield from checks or [ok(_DOMAINS, f"{listed}; {count(len(config.access), 'agent')} limited")]


def _unknown_domains(case: CheckedHome) -> Iterator[Check]:
    """Names that memories have and the settings do not list, and grants that no memory has."""
    home, config = case.home, case.home.config
    if not home.index_path.exists():
        return
    try:
        with peeking(home.index_path, home.vaults, config.access) as index:
            written = index.values(access.DOMAIN)
    except STORE_ERRORS:
        return
    keys = {access.domain_key(name) for name in written}
    known = {access.domain_key(name) for name in config.domains}
    unknown = [name for name in written if access.domain_key(name) not in known]
    if known and unknown:
        what = f"{some(unknown)} in notes, but not in `domains` of the settings"
        yield warning(_DOMAINS, what, Remedy("lint", purpose="list the notes"))
    for agent, granted in config.access.items():
        unused = [name for name in granted if access.domain_key(name) not in keys]
        if unused and not known:
            what = f"access.{agent} grants {some(unused)}, which no memory has"
            yield hint(_DOMAINS, what, "check the spelling")


def _refused_defaults(case: CheckedHome) -> Iterator[Check]:
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
            yield warning(_DOMAINS, what, f"grant {domain} in `access`, or remove {key}")
