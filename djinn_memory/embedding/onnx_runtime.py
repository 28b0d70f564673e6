"""Runs ONNX models: the session, the tokenizer, and the embedding of texts."""

from __future__ import annotations

import os
import platform
import string
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from djinn_memory.chunking.tokens import PACKAGED_MODEL
from djinn_memory.embedding.embedder import TokenVectors
from djinn_memory.errors import Remedy, Unavailable
from djinn_memory.languages.word_lists import stop_words
from djinn_memory.models import Vectors


def onnxruntime() -> Any:
    """The module onnxruntime, with its telemetry turned off."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(path: Path, threads: int = 1) -> Any:
    """An inference session. The graph was already optimised when it was exported.

    `threads` share the work of each run; 0 stands for one on every core.
    """
    runtime = onnxruntime()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Idle workers that spin take the core on which the rest of a search runs.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if _saturates():
        # The exact products of integers are a change of the graph, so they take optimizations. They
        # cost .1 s when the model is opened; without them a vector has a cosine of .98 with that of
        # other processors.
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.add_session_config_entry("session.x64quantprecision", "1")
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors have no common class
        raise damaged_model(path.parent, error) from None


@cache
def _saturates() -> bool:
    """Whether products of int8 may overflow on this processor: an x86 without VNNI."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    try:
        return "vnni" not in Path("/proc/cpuinfo").read_text(encoding="ascii")
    except OSError:
        return True


def open_tokenizer(folder: Path, max_tokens: int) -> Any:
    """The model's tokenizer, which splits texts into parts of at most `max_tokens`."""
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception as error:  # the errors of tokenizers have no class of their own
        raise damaged_model(folder, error) from None
    tokenizer.enable_truncation(max_tokens)
    tokenizer.no_padding()
    return tokenizer


def damaged_model(folder: Path, error: Exception) -> Unavailable:
    """The error for a model that cannot be loaded."""
    if folder == PACKAGED_MODEL:
        why = f"the packaged model in {folder} is damaged ({type(error).__name__})"
        return Unavailable(f"{why}; reinstall djinn")
    return Unavailable(
        f"the prepared model in {folder} is damaged ({type(error).__name__}); delete that folder",
        Remedy("index", purpose="prepare it again"),
    )


class _CachePerPath:
    """Calls a function once for each path. The first thread calls it. The others wait."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._results: dict[Path, Any] = {}

    def __call__(self, path: Path, *options: Any) -> Any:
        with self._lock:
            if path not in self._results:
                self._results[path] = self._function(path, *options)
            return self._results[path]

    def holds(self, path: Path) -> bool:
        """Whether the result for a path is known already."""
        return path in self._results


cached_session = _CachePerPath(open_session)
cached_tokenizer = _CachePerPath(open_tokenizer)


def embed_texts(
    session: Any,
    tokenizer: Any,
    texts: Sequence[str],
    signs: list[bytes] | None = None,
    *,
    threads: int = 1,
) -> Vectors:
    """Embed each text by itself. The vector of a text too long for the model is that of its parts.

    The token signs of each text are appended to `signs`, without stop words and punctuation, which
    are half of all tokens and have no content. Only the packaged model has this output.

    An int8 model scales its activations by all texts of a batch, so a vector would depend on texts
    that its reader may not see. Batches are no faster on a processor. Several texts at once on
    `threads`, each on one core, are: two threads that share the work of one text are 1.1 times as
    fast as one, and two that embed a text each 1.7 times.
    """
    import numpy as np

    vectors = np.zeros((len(texts), session.get_outputs()[0].shape[1]), dtype=np.float32)
    outputs = ["output"] if signs is None else ["output", "tokens"]
    silent = _silent_tokens(tokenizer) if signs is not None else ()

    def embed(row: Any, text: Any) -> bytes:
        bits = b""
        for part in (text, *text.overflowing):
            vector, *tokens = _run(session, part, outputs)
            row += vector
            if tokens:
                bits += _token_signs(part.ids[1:-1], tokens[0][1:-1], silent)
        if text.overflowing:
            row /= np.linalg.norm(row)
        return bits

    encoded = tokenizer.encode_batch(texts)
    if min(threads, len(texts)) > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(threads) as pool:
            packed = list(pool.map(embed, vectors, encoded))
    else:
        packed = list(map(embed, vectors, encoded))
    if signs is not None:
        signs += packed
    return vectors


def _token_signs(ids: Sequence[int], tokens: Any, silent: Sequence[int]) -> bytes:
    """The signs of the vectors of a text's tokens, without the `silent` ones if others exist."""
    import numpy as np

    mask = ~np.isin(ids, silent)
    rows = tokens[mask] if mask.any() else tokens
    return bytes(np.packbits(rows > 0, axis=1).tobytes())


def _silent_tokens(tokenizer: Any) -> list[int]:
    """The ids of English stop words and of punctuation in a model's vocabulary."""
    # SentencePiece marks the beginning of a word.
    mark = "▁" if tokenizer.token_to_id("▁") is not None else ""
    words = (mark, *(mark + word for word in stop_words()))
    numbers = map(tokenizer.token_to_id, (*words, *string.punctuation, *"“”‘’«»–—…·"))
    return [number for number in numbers if number is not None]


def embed_question(
    session: Any, tokenizer: Any, text: str, prompt: str = ""
) -> tuple[Vectors, TokenVectors]:
    """The vector of a text, as a row, and the vectors of its tokens, both from one run.

    Of a text too long for the model the tokens are those of its first part. The tokens of the
    prompt are left out.
    """
    import numpy as np

    encoded = tokenizer.encode(prompt + text)
    vector, tokens = _run(session, encoded, ["output", "tokens"])
    if encoded.overflowing:
        vector = embed_texts(session, tokenizer, [prompt + text])[0]
    skipped = len(prompt)
    first = 1 + sum(end <= skipped for _, end in encoded.offsets[1:-1])
    rows = tokens[first:-1]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    spans = [(start - skipped, end - skipped) for start, end in encoded.offsets[first:-1]]
    return np.array([vector], np.float32), TokenVectors(spans, rows)


def _run(session: Any, text: Any, outputs: Sequence[str]) -> list[Any]:
    """Each of `outputs` for one tokenized text."""
    import numpy as np

    ids = np.array([text.ids], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    return [output[0] for output in session.run(outputs, inputs)]
