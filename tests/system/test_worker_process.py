"""A worker of any kind: tasks in, messages out, and an end when it exceeds a limit."""

from __future__ import annotations

import time
from queue import SimpleQueue
from typing import Any

import msgspec

from djinn_memory.system.worker_process import (
    Inbox,
    ProcessLimits,
    TaskEnded,
    WorkerProcess,
    WorkerReady,
    limit_memory,
    process_families,
    worker_pipes,
)

LIMITS = ProcessLimits(0.3, 200, too_long="too long", too_large="too large", crashed="crash: {}")


class Echo(TaskEnded, frozen=True, tag="echo"):
    text: str


def main(prefix: str) -> None:
    lines, messages = worker_pipes()
    limit_memory(2_000)
    answer: Any = WorkerReady()
    while True:
        messages.write(msgspec.json.encode(answer) + b"\n")
        messages.flush()
        task = lines.get().decode().strip()
        if task == "sleep":
            time.sleep(60)
        answer = Echo(prefix + task)


def started() -> tuple[WorkerProcess[str], Inbox]:
    inbox: Inbox = SimpleQueue()
    decoder = msgspec.json.Decoder(WorkerReady | Echo)
    worker = WorkerProcess[str](f"{__name__}:main", ["> "], LIMITS, inbox, decoder.decode)
    assert inbox.get(timeout=20) == (worker, WorkerReady())
    return worker, inbox


def test_a_task_is_answered_and_the_worker_takes_the_next() -> None:
    worker, inbox = started()
    for task in ("high tide", "low tide"):
        assert worker.send(task, task.encode() + b"\n")
        assert not worker.send("another", b"another\n")
        assert inbox.get(timeout=20) == (worker, Echo(f"> {task}"))
        worker.finish()
    worker.kill("no longer needed")
    assert worker.close() == "no longer needed"
    assert worker.process.returncode is not None


def test_a_task_that_takes_too_long_ends_its_worker() -> None:
    worker, inbox = started()
    assert worker.send("sleep", b"sleep\n")
    pid = worker.process.pid
    while worker.process.poll() is None:
        worker.enforce_limits(process_families([pid])[pid])
        time.sleep(0.02)
    assert inbox.get(timeout=20) == (worker, None)
    assert worker.close() == "too long"
