"""Three homes that edit, rename and delete the same notes, are killed, and meet again."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from djinn_memory.store.postgres.connection import ServerAddress
from tests.postgres import DatabaseServer
from tests.sync.homes import register
from tests.sync.world import World


@pytest.mark.parametrize(
    "seed", range(int(os.environ.get("SEED0", "0")), int(os.environ.get("SEED1", "3")))
)
def test_homes_converge_and_lose_no_text(
    tmp_path: Path,
    home_template: Path,
    postgres: DatabaseServer,
    database: ServerAddress,
    seed: int,
) -> None:
    register(database)
    world = World(tmp_path, home_template, postgres, database)
    dice = Random(seed)
    steps = int(os.environ.get("STEPS", "60"))
    sync = dice.choice((0.05, 0.15, 0.4))
    for number in range(steps):
        if number == steps // 3:
            world.back_up_server()
        if number == steps * 2 // 3 and dice.random() < 0.7:
            world.restore_server()
        world.step(dice, sync=sync, kill=0.04)
    world.settle()
    world.close()
