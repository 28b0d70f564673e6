"""Local disks are followed; what a network drive is called decides that it is not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from djinn_memory.system.disks import network


def test_a_local_folder_is_none(tmp_path: Path) -> None:
    assert network(tmp_path) is None


@pytest.mark.parametrize(("kind", "found"), [("nfs4", "nfs4"), ("CIFS", "cifs"), ("ext4", None)])
def test_the_mount_that_holds_a_folder_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, found: str | None
) -> None:
    # Nothing can be mounted here: what the system would say of a drive.
    mounts = [
        SimpleNamespace(mountpoint="/", fstype="nfs"),
        SimpleNamespace(mountpoint=str(tmp_path), fstype="ext4"),
        SimpleNamespace(mountpoint=str(tmp_path / "drive"), fstype=kind),
        SimpleNamespace(mountpoint=str(tmp_path / "drive-2"), fstype="nfs"),
    ]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)
    (tmp_path / "drive" / "notes").mkdir(parents=True)
    assert network(tmp_path / "drive" / "notes") == found
    assert network(tmp_path) is None
