"""Operations on backups of a home."""

from __future__ import annotations

from djinn_memory.runtime import Namespace, operation
from djinn_memory.upkeep.backup.create import create_backup
from djinn_memory.upkeep.backup.requests import CreateBackup, CreatedBackup


class Backups(Namespace):
    """Backups of a home. `backup.restore.restore_backup` restores a home from one."""

    @operation(CreateBackup, recover=False, patient=True)
    def create(self, request: CreateBackup) -> CreatedBackup:
        """Write vaults, ledger, working memory and settings into one archive, and verify it.

        Index and vectors are left out, because they can be rebuilt. Raises `Refused` when the file
        exists.
        """
        # What hooks recorded is in no vault until it is taken in.
        self.runtime.take_in(None)
        return create_backup(self.runtime.home, request, self.runtime.now())
