"""A connection to a real server that is cut at a chosen exchange with it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

from djinn_memory.store.postgres.connection import ServerAddress


class CutConnection(psycopg.Connection[tuple[Any, ...]]):
    """It counts its exchanges with the server, and closes itself at one of them.

    Every statement, also `commit` and each part of a COPY, waits for the server here.
    """

    cut_at: int | None = None
    """The number of the exchange, from 0."""
    answered = False
    """Whether the server carries the statement out, so that only its answer is lost."""
    exchanges = 0

    def wait(self, gen: Any, *args: Any, **options: Any) -> Any:
        number = self.exchanges
        self.exchanges += 1
        if number == self.cut_at and not self.answered:
            with socket.socket(fileno=os.dup(self.pgconn.socket)) as line:
                line.shutdown(socket.SHUT_RDWR)
        piped = self.pgconn.pipeline_status
        result = super().wait(gen, *args, **options)
        # A pipeline begins without the server.
        begun = self.pgconn.pipeline_status != piped
        if number == self.cut_at and self.answered and not begun:
            self.pgconn.finish()
            raise psycopg.OperationalError("the connection was cut")
        return result


@contextmanager
def cutting(
    address: ServerAddress, cut_at: int | None, *, answered: bool = False
) -> Iterator[CutConnection]:
    """A connection that is cut at an exchange, or never."""
    connected = CutConnection.connect(address.conninfo, autocommit=True, prepare_threshold=None)
    with closing(connected) as connection:
        connection.exchanges, connection.cut_at, connection.answered = 0, cut_at, answered
        yield connection
