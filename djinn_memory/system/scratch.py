"""Keeps data outside of the memory for the time of a run."""

from __future__ import annotations

import tempfile
from typing import IO

from djinn_memory.errors import Unavailable

IN_MEMORY = 8_000_000
"""Bytes from which the data is put into a file."""


class Scratch:
    """Pieces of data in a temporary file that no other process can open."""

    def __init__(self) -> None:
        """The file is made when it is needed."""
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115
        self.size = 0
        """The number of bytes in it."""

    def put(self, data: bytes) -> int:
        """Add a piece. Returns its place. Raises `Unavailable` when it cannot be written."""
        place = self.size
        record = len(data).to_bytes(8, "big") + data
        try:
            self._file.seek(place)
            self._file.write(record)
        except OSError as error:
            folder, why = tempfile.gettempdir(), error.strerror or error
            raise Unavailable(
                f"{folder} cannot be written: {why}; free some space there, or set TMPDIR"
            ) from None
        self.size += len(record)
        return place

    def get(self, place: int) -> bytes:
        """The piece at a place."""
        self._file.seek(place)
        return self._file.read(int.from_bytes(self._file.read(8), "big"))

    def clear(self) -> None:
        """Remove all pieces."""
        self._file.seek(0)
        self._file.truncate()
        self.size = 0

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
