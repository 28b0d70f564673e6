"""Looks at everything a home needs, says how it is, and mends what can be mended safely."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from msgspec.structs import replace

from djinn_memory.embedding.registry import ModelRegistry
from djinn_memory.errors import ConfigError, DjinnError
from djinn_memory.home.home import Home
from djinn_memory.models import Progress, ProgressCallback
from djinn_memory.store.state import State
from djinn_memory.upkeep import databases, models, place, vaults
from djinn_memory.upkeep.findings import Check as Sign
from djinn_memory.upkeep.findings import CheckedHome, hint, told
from djinn_memory.upkeep.requests import Diagnosis, DoctorFinding

Check = Callable[[CheckedHome], Iterator[Sign]]

CHECKS: dict[str, Check] = {
    "home": place.home,
    "config": place.settings,
    "state": place.state,
    "disk": place.disk,
    "vaults": vaults.vaults,
    "ledger": databases.events,
    "vectors": databases.cache,
    "working": databases.working,
    "index": databases.index,
    "notes": databases.notes,
    "models": models.cache,
    "embedder": models.embedder,
    "reranker": models.reranker,
    "leftovers": place.leftovers,
}
"""In an order in which what is mended first helps what comes behind it."""

AGAIN_SECONDS = 0.5
"""Before a second look: as long as it takes to make a database."""


def examine(home: Home, *, fix: bool, progress: ProgressCallback) -> Diagnosis:
    """Look at a home, and with `fix` mend what is safe to mend: no note is ever written.

    Whatever state the home is in, it is told and not raised. Without `fix` nothing is made.
    """
    state = State(home, [])
    case = CheckedHome(home, state, ModelRegistry(home, progress), progress)
    findings: list[DoctorFinding] = []
    try:
        for number, (name, check) in enumerate(_possible(home, findings).items()):
            progress(Progress("check", number, len(CHECKS), name))
            signs = _signs(name, check, case)
            if fix and any(sign.mend for sign in signs):
                signs = [*_mended(signs), *_signs(name, check, case)]
            findings += _once(signs)
    finally:
        state.close()
    progress(Progress("prepare", 1, 1, "looked at everything"))
    return Diagnosis(home.root, tuple(findings))


def _possible(home: Home, findings: list[DoctorFinding]) -> dict[str, Check]:
    """The checks that these settings allow; what is wrong with them is a finding."""
    try:
        assert home.config and home.vaults and home.state
    except ConfigError as wrong:
        findings.append(told("config", str(wrong)).finding)
        rest = ", ".join(name for name in CHECKS if name not in ("home", "config"))
        what = f"not looked at, since the settings do not say where it is: {rest}"
        findings.append(hint("config", what, "mend the settings first").finding)
        return {"home": place.home}
    except AssertionError:
        pass
    return CHECKS


def _signs(name: str, check: Check, case: CheckedHome) -> list[Sign]:
    """What a check sees; an error only if it is still there a moment later.

    Others may be at work on what is looked at.
    """
    signs = _seen(name, check, case)
    if any(sign.finding.severity == "error" for sign in signs):
        time.sleep(AGAIN_SECONDS)
        signs = _seen(name, check, case)
    return signs


def _seen(name: str, check: Check, case: CheckedHome) -> list[Sign]:
    try:
        return list(check(case))
    except DjinnError as wrong:
        return [told(name, str(wrong))]
    except Exception as wrong:
        # A check-up is for when nothing is as it should be: one check less is no reason to end it.
        text = " ".join(f"{type(wrong).__name__}: {wrong}".split())
        return [told(name, f"this could not be looked at ({text}); report this")]


def _mended(signs: list[Sign]) -> Iterator[Sign]:
    """The findings that could be mended, each with what was done about it."""
    for sign in signs:
        if sign.mend is None:
            continue
        try:
            yield Sign(replace(sign.finding, fixed=sign.mend()))
        except (DjinnError, OSError) as wrong:
            what = f"{sign.finding.what}; mending it failed: {wrong}"
            yield Sign(replace(sign.finding, what=what, fixable=False))


def _once(signs: list[Sign]) -> Iterator[DoctorFinding]:
    """The findings; of what could not be mended only that, not that it is still so."""
    failed = [one.finding.what for one in signs if "; mending it failed: " in one.finding.what]
    for sign in signs:
        found = sign.finding
        if not any(one.startswith(f"{found.what}; mending it failed: ") for one in failed):
            yield found
