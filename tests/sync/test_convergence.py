"""Three homes that edit, rename and delete the same notes, are killed, and meet again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
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

    @rule(who=HOMES, pick=PICKS, useful=st.booleans())
    def rate(self, who: int, pick: int, useful: bool) -> None:
        self.world.rate(who, pick, useful=useful)

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
            max_examples=examples(40, 0.05),
            stateful_step_count=25,
            deadline=None,
            # To shrink a failure takes hours: each try makes three homes.
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.soak
def test_homes_that_rarely_meet(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer
) -> None:
    with world(tmp_path, home_template, postgres) as homes:
        dice = Random(11)
        for _ in range(80):
            homes.step(dice, sync=0.05)
        homes.settle()


class Season(Sharing):
    """A long time: 500 edits, renames and deletions in each home, 50 kills, and a restored server.

    Hypothesis chooses too few steps for so much, so a step may be many that follow from a number.
    """

    @initialize(number=st.integers(0, 2**32), backup=st.integers(100, 900))
    def plan(self, number: int, backup: int) -> None:
        self.dice, self.backup = Random(number), backup

    @rule(number=st.integers(0, 2**32))
    def day(self, number: int) -> None:
        self._live(Random(number), 20)

    def teardown(self) -> None:
        try:
            while min(self.world.changes) < 500 or self.world.kills < 50:
                self._live(self.dice, 1)
        finally:
            super().teardown()

    def _live(self, dice: Random, steps: int) -> None:
        for _ in range(steps):
            before = sum(self.world.changes)
            self.world.step(dice, sync=0.1, kill=0.05)
            if before < self.backup <= sum(self.world.changes):
                self.world.back_up_server()
            if before < self.backup + 400 <= sum(self.world.changes):
                self.world.restore_server()


@pytest.mark.soak
@pytest.mark.parametrize("number", range(3))
def test_500_changes_in_each_home_and_50_kills(
    tmp_path: Path, home_template: Path, postgres: DatabaseServer, number: int
) -> None:
    Season.folder, Season.template, Season.postgres = tmp_path, home_template, postgres
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        seed(number)(Season),
        settings=settings(
            # The first example is the simplest one.
            max_examples=2,
            stateful_step_count=100,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
