"""The sockets of the server."""

from __future__ import annotations

import socket

import pytest

from djinn_memory.web import serve


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_the_second_part_of_an_answer_is_sent_at_once(host: str) -> None:
    """It does not wait until the client confirms the first part, up to 40 ms later."""
    with serve._listen(host, 0) as listener:
        address = listener.getsockname()[:2]
        with socket.create_connection(address), listener.accept()[0] as connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
