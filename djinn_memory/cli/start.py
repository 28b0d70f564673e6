"""The program's entry point. It loads the model early, while the command line is being read."""

from __future__ import annotations

# These imports run before Ctrl-C is handled.
import os
import signal
import sys

from djinn_memory.cli import INTERRUPTED, INTERRUPTION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from djinn_memory.operations import Verb


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
            code = _command(sys.argv[1:])
    except KeyboardInterrupt:
        _end()
    except Exception:
        sys.excepthook(*sys.exc_info())
        code = 1
    code = streams.finish(code)
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


def _command(words: list[str]) -> int:
    verb, home, rest = _verb(words)
    helps = {"-h", "--help"} & {*rest}
    types = READ_STDIN in rest and os.isatty(0)
    if verb and verb.name in WARM and not helps and not types:
        code = _served(home, words, verb)
        if code is not None:
            return code
    if verb and not helps and _embeds(verb, rest):
        _warm()
    from djinn_memory.cli.app import main

    return main()


WARM = ("search", "recall", "context", "remember", "memories.show", "memories.list")
"""The commands that a process which keeps the home open can run."""


def _verb(words: list[str]) -> tuple[Verb | None, list[str], list[str]]:
    """The verb of a command line, the words that name the home, and those from the verb on."""
    from djinn_memory.operations import VERBS

    words = [word for word in words if word != "--timings"]
    count = _home_words(words)
    home, rest = words[:count], words[count:]
    named = {" ".join(rest[:2]), *rest[:1]}
    verb = next((verb for verb in VERBS.values() if {verb.command, verb.short} & named), None)
    return verb, home, rest


READ_STDIN = "-"
"""The word in place of a text that is read from stdin."""


def _served(home: list[str], words: list[str], verb: Verb) -> int | None:
    """Have the process that keeps the home open run a command. Returns its exit code.

    None means that it did not begin, if there is such a process at all.
    """
    from djinn_memory.home import warm
    from djinn_memory.home.location import root_of, state_folder

    named = "".join(home[-1:]).removeprefix("--home=")
    if home and not named:
        return None
    try:
        root = root_of(named)
    except OSError:
        # The working folder is gone.
        return None
    state = root and state_folder(root)
    if not state or not warm.listens(state) or (READ_STDIN in words and not _hold_stdin()):
        return None
    try:
        answer = warm.ask(state, {"root": root, "words": words}, (0, 1, 2))
    except warm.ConnectionLostError:
        from djinn_memory.cli.app import fail
        from djinn_memory.errors import Unavailable

        done = "the memory may be written; look for it before you repeat the command"
        return fail(
            Unavailable(
                "the process that ran this command has ended, see `djinn help watch`: "
                + (done if verb.writes else "run the command again")
            )
        )
    if answer is None:
        return None
    if pages := answer.get("pages"):
        from djinn_memory.cli.output import show

        show(pages)
    return int(answer["code"])


def _hold_stdin() -> bool:
    """Read all of stdin and open it again at its begin, so that no process waits for its writer."""
    if not hasattr(os, "memfd_create"):
        return False
    held = os.memfd_create("stdin")
    left = MOST_STDIN
    while left > 0 and (part := os.read(0, min(left, 1 << 20))):
        left -= os.write(held, part)
    os.lseek(held, 0, os.SEEK_SET)
    os.dup2(held, 0)
    os.close(held)
    return True


MOST_STDIN = 60_000_000
"""Bytes of stdin that are read. A command refuses fewer."""


def _embeds(verb: Verb, words: list[str]) -> bool:
    """Whether a command embeds a text. A wrong guess only costs time."""
    if "--mode=words" in words or "--mode words" in " ".join(words):
        return False
    return any(
        field in verb.positional or any(word.startswith(f"--{field}") for word in words)
        for field in verb.embeds
    )


def _warm() -> None:
    try:
        from djinn_memory.embedding.local import warm

        warm()
    except Exception:
        pass
