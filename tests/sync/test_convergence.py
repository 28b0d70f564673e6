"""Three homes that edit, rename and delete the same notes, are killed, and meet again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from tests.examples import examples
from tests.postgres import DatabaseServer
from tests.sync.homes import HASHING, register
from tests.sync.world import NAMES, World

HOMES = st.integers(0, 2)
PICKS = st.integers(0, 30)
YEARS = st.sampled_from([0, 0, -7, 5])

_numbers = count()


@contextmanager
def world(folder: Path, template: Path, postgres: DatabaseServer) -> Iterator[World]:
    """Three homes and an empty server."""
    with postgres.migrated(HASHING) as address:
        register(address)
        homes = World(folder / f"world-{next(_numbers)}", template, postgres, address)
        try:
            yield homes
        finally:
            homes.close()


class Sharing(RuleBasedStateMachine):
    """What users and machines do, in any order."""

    folder: Path
    template: Path
    postgres: DatabaseServer

    @initialize()
    def begin(self) -> None:
        self._context = world(self.folder, self.template, self.postgres)
        self.world = self._context.__enter__()

    @rule(who=HOMES, name=st.sampled_from(NAMES), years=YEARS)
    def write(self, who: int, name: str, years: int) -> None:
        self.world.write(who, name, years)

    @rule(who=HOMES, pick=PICKS, where=PICKS, years=YEARS)
    def edit(self, who: int, pick: int, where: int, years: int) -> None:
        self.world.edit(who, pick, where, years)

    @rule(who=HOMES, pick=PICKS, name=st.sampled_from(NAMES))
    def rename(self, who: int, pick: int, name: str) -> None:
        self.world.rename(who, pick, name)

    @rule(who=HOMES, pick=PICKS)
    def delete(self, who: int, pick: int) -> None:
        self.world.delete(who, pick)

    @rule(who=HOMES)
    def sync(self, who: int) -> None:
        self.world.sync(who)

    @rule(who=HOMES, seconds=st.floats(0.01, 0.4))
    def kill(self, who: int, seconds: float) -> None:
        self.world.kill(who, seconds)

    @rule()
    def back_up(self) -> None:
        self.world.back_up_server()

    @rule()
    def restore(self) -> None:
        self.world.restore_server()

    def teardown(self) -> None:
        try:
            self.world.settle()
        finally:
            self._context.__exit__(None, None, None)


def test_homes_converge_and_lose_no_text(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> None:
    Sharing.folder, Sharing.template, Sharing.postgres = tmp_path, home_template, postgres
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        Sharing,
        settings=settings(
            max_examples=examples(40, 0.1),
            stateful_step_count=25,
            deadline=None,
            # To shrink a failure takes hours: each try makes three homes.
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_homes_that_rarely_meet(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> None:
    with world(tmp_path, home_template, postgres) as homes:
        dice = Random(11)
        for _ in range(80):
            homes.step(dice, sync=0.05)
        homes.settle()


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(3))
def test_500_changes_in_each_home_and_50_kills(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer, seed: int
) -> None:
    with world(tmp_path, home_template, postgres) as homes:
        dice = Random(seed)
        while min(homes.changes) < 500 or homes.kills < 50:
            if sum(homes.changes) == 500:
                homes.back_up_server()
            if sum(homes.changes) == 1000:
                homes.restore_server()
            homes.step(dice, sync=0.1, kill=0.05)
        homes.settle()
