"""The program's entry point. It loads the model early, while the command line is being read."""

from __future__ import annotations

# These imports run before Ctrl-C is handled.
import os
import signal
import sys

from djinn_memory.cli import INTERRUPTED, INTERRUPTION


def main() -> None:
    """Run `djinn`."""
    words = _hook_words(sys.argv[1:])
    if words is not None:
        _hook(words)
    # Ctrl-C just ends the process until a command has something to end tidily, see
    # `command.interruptible`: libraries take an exception in the middle of their import for a
    # missing part, and crash later.
    signal.signal(signal.SIGINT, _end)
    import gc
    from contextlib import suppress

    from djinn_memory.cli import streams

    streams.prepare()
    # A short run makes little garbage: looking for it among a thousand new modules is 20 ms.
    gc.set_threshold(50_000, 20, 20)
    # numpy's BLAS starts a thread a core and lets it spin, for matrices that djinn does not have.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        if "_DJINN_COMPLETE" in os.environ:
            from djinn_memory.cli.app import root
            from djinn_memory.cli.completion import answer

            code = answer(root())
        else:
            if _embeds(sys.argv[1:]):
                _warm()
            from djinn_memory.cli.app import main as run

            code = run()
    except KeyboardInterrupt:
        _end()
    except Exception:
        sys.excepthook(*sys.exc_info())
        code = 1
    why = streams.finish()
    if why:
        done = "" if code else "; the command itself has finished"
        with suppress(OSError):
            os.write(2, f"error: stdout could not be written: {why}{done}\n".encode())
        code = code or 5
    # Everything is closed and written. To take a thousand modules and a model apart, only to end,
    # takes 45 ms, and onnxruntime aborts if it is taken apart while it still loads.
    os._exit(code)


def _hook_words(words: list[str]) -> list[str] | None:
    """The options of `djinn hook` if a client called it for an event; None for another command."""
    first = _home_words(words)
    if words[first : first + 1] != ["hook"]:
        return None
    rest = words[first + 1 :]
    called = rest[0].startswith("-") if rest else sys.stdin is None or not sys.stdin.isatty()
    helps = "--help" in rest or "-h" in rest
    return [*words[:first], *rest] if called and not helps else None


def _home_words(words: list[str]) -> int:
    """The number of words that name the home before a command."""
    return 2 if words[:1] == ["--home"] else 1 if words and words[0].startswith("--home=") else 0


def _hook(words: list[str]) -> None:
    """Record an event of a client. This does not return, and the exit code is always 0."""
    try:
        from djinn_memory.memories.hooks.run import main

        main(words)
    finally:
        os._exit(0)


def _end(*_: object) -> None:
    try:  # noqa: SIM105 - contextlib would have to be there already
        os.write(2, f"{INTERRUPTION}\n".encode())
    except OSError:
        pass
    os._exit(INTERRUPTED)


def _embeds(words: list[str]) -> bool:
    """Whether a command line embeds a text. A wrong guess only costs time."""
    from djinn_memory.operations import VERBS

    words = [word for word in words if word != "--timings"]
    rest = words[_home_words(words) :]
    if {"-h", "--help", "--mode=words"} & {*rest} or "--mode words" in " ".join(rest):
        return False
    named = {" ".join(rest[:2]), *rest[:1]}
    verb = next((verb for verb in VERBS.values() if {verb.command, verb.short} & named), None)
    return verb is not None and any(
        field in verb.positional or any(word.startswith(f"--{field}") for word in rest)
        for field in verb.embeds
    )


def _warm() -> None:
    try:
        from djinn_memory.embedding.local import warm

        warm()
    except Exception:
        pass
