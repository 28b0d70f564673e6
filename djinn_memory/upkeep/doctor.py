"""Checks an installation and applies safe fixes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import ConfigError, DjinnError, Remedy
from djinn_memory.home import access
from djinn_memory.home.home import Home
from djinn_memory.memories.hooks.status import hook_state
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.store.index.local.sqlite_index import peeking
from djinn_memory.store.recovery import store_errors
from djinn_memory.store.state import State
from djinn_memory.system.plural import count
from djinn_memory.upkeep import databases, models, place, vaults
from djinn_memory.upkeep.findings import (
    INDEX,
    Check,
    CheckedHome,
    error,
    failure,
    hint,
    ok,
    some,
    warning,
)
from djinn_memory.upkeep.requests import Diagnosis, DoctorFinding

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


RECENT = timedelta(days=7)
"""A loss that is older is no finding any more. `djinn hook status` still counts it."""


def hooks(case: CheckedHome) -> Iterator[Check]:
    """Check that installed hooks can record, and that their events were recorded."""
    state = hook_state(case.home)
    checks = []
    for hook in state.hooks:
        if hook.fault:
            again = Remedy("hooks.install", {"client": hook.client}, "install them anew")
            what = f"the hooks in {hook.path} do not work: {hook.fault}"
            checks.append(warning("hooks", what, again))
    for line in state.unreadable:
        checks.append(warning("hooks", line))
    if state.full:
        what = f"the spool of hooks is full; {count(state.refused, 'event')} refused so far"
        checks.append(warning("hooks", what, INDEX))
    elif (lost := state.refused + state.skipped) and _is_recent(state.lost_at):
        why = f" ({state.reason})" if state.reason else ""
        what = f"{count(lost, 'event')} of hooks could not be recorded{why}"
        checks.append(hint("hooks", what, Remedy("hooks.status", purpose="see the counts")))
    if state.hooks and not checks:
        clients = ", ".join(dict.fromkeys(hook.client for hook in state.hooks))
        checks.append(ok("hooks", f"installed for {clients}"))
    yield from checks


def _is_recent(time: str | None) -> bool:
    return time is None or datetime.now(UTC) - datetime.fromisoformat(time) < RECENT


Checks = Callable[[CheckedHome], Iterator[Check]]

CHECKS: dict[str, Checks] = {
    "home": place.home,
    "config": place.settings,
    "state": place.state,
    "disk": place.disk,
    "vaults": vaults.vaults,
    "profiles": vaults.profiles,
    "ledger": databases.events,
    "vectors": databases.cache,
    "working": databases.working,
    "index": databases.index,
    "server": databases.server,
    "domains": domains,
    "models": models.cache,
    "embedder": models.embedder,
    "reranker": models.reranker,
    "chat model": models.chat_model,
    "hooks": hooks,
    "leftovers": place.leftovers,
}
"""The checks by part. Parts that others depend on come first."""

AGAIN_SECONDS = 0.5
"""Seconds before an error is checked again: the time needed to create a database."""


def examine(home: Home, *, fix: bool, progress: ProgressCallback) -> Diagnosis:
    """Examine a home. With `fix`, apply the safe fixes; notes are never changed.

    Every problem of the home becomes a finding. Nothing is raised. Without `fix` no file is
    created.
    """
    state = State(home, [])
    case = CheckedHome(home, state, ModelRegistry(home, progress), progress)
    findings: list[DoctorFinding] = []
    try:
        for number, (part, checks) in enumerate(_possible(home, findings).items()):
            progress(Progress("check", number, len(CHECKS), part))
            results = _results(part, checks, case)
            if fix and any(check.mend for check in results):
                mended, failed = _mend(results)
                findings += mended
                results = [
                    check for check in _results(part, checks, case)
                    if check.finding.what not in failed
                ]  # fmt: skip
            findings += [check.finding for check in results]
    finally:
        state.close()
    progress(Progress("prepare", 1, 1, "all checks ran"))
    return Diagnosis(home.root, tuple(findings))


def _possible(home: Home, findings: list[DoctorFinding]) -> Mapping[str, Checks]:
    """The checks that are possible with these settings. Invalid settings become a finding."""
    try:
        _ = home.config, home.vaults, home.state
    except ConfigError as wrong:
        findings.append(failure("config", wrong).finding)
        rest = ", ".join(part for part in CHECKS if part not in ("home", "config"))
        what = f"not checked, because the settings do not say where it is: {rest}"
        findings.append(hint("config", what, "correct the settings first").finding)
        return {"home": place.home}
    return CHECKS


def _results(part: str, checks: Checks, case: CheckedHome) -> list[Check]:
    """The results of the checks of a part. An error is reported only if it persists a moment later.

    Another process may be working on the part.
    """
    results = _tried(part, checks, case)
    if any(check.finding.severity == "error" for check in results):
        time.sleep(AGAIN_SECONDS)
        results = _tried(part, checks, case)
    return results


def _tried(part: str, checks: Checks, case: CheckedHome) -> list[Check]:
    try:
        return list(checks(case))
    except DjinnError as wrong:
        return [failure(part, wrong)]
    except Exception as wrong:
        # A check-up is for when something is broken: one check that fails must not end it.
        text = " ".join(f"{type(wrong).__name__}: {wrong}".split())
        return [error(part, f"the check failed ({text})", "report this")]


def _mend(results: list[Check]) -> tuple[list[DoctorFinding], set[str]]:
    """Apply the fixes of findings.

    Returns the findings, each with the result of its fix, and the texts of findings that could not
    be fixed.
    """
    findings = []
    failed = set()
    for finding, mend in ((check.finding, check.mend) for check in results):
        if mend is None:
            continue
        try:
            findings.append(replace(finding, fixed=mend()))
        except (DjinnError, OSError) as wrong:
            failed.add(finding.what)
            what = f"{finding.what}; the fix failed: {wrong}"
            findings.append(replace(finding, what=what, fixable=False))
    return findings, failed
