"""Tiny cross-encoders, made in a second or two: nothing can be downloaded where tests run."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

WORDS = [
    "tide", "boat", "harbour", "sea", "fee", "gull", "crew", "sail", "rope", "bread", "is", "a",
]  # fmt: skip
_VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]


def make(folder: Path, *, steps: int = 0, labels: int = 1, seed: int = 1) -> Path:
    """A small BERT over WORDS with random weights, the same for the same `seed`.

    Trained for 350 steps it tells whether a text holds the word that is the question.
    """
    import torch
    from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(1)  # small tensors wait for a second thread longer than they take
    torch.manual_seed(seed)
    model = BertForSequenceClassification(
        BertConfig(
            vocab_size=len(_VOCABULARY), hidden_size=32, num_hidden_layers=2 if steps else 1,
            num_attention_heads=2, intermediate_size=64, max_position_embeddings=64,
            num_labels=labels, initializer_range=0.2, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )  # fmt: skip
    _train(model, steps, random.Random(seed))
    model.save_pretrained(folder)
    PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(), unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]",
        sep_token="[SEP]", model_max_length=64,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    numbers = {word: at for at, word in enumerate(_VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return tokenizer


def _train(model: Any, steps: int, draw: random.Random) -> None:
    import torch

    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(steps):
        ids, wanted = [], []
        for _ in range(64):
            word = draw.choice(WORDS)
            others = [other for other in WORDS if other != word]
            holds = draw.random() < 0.5
            text = [*draw.sample(others, 3), word if holds else draw.choice(others)]
            draw.shuffle(text)
            ids.append([2, _VOCABULARY.index(word), 3, *map(_VOCABULARY.index, text), 3])
            wanted.append(float(holds))
        kinds = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1]] * len(ids))
        logits = model(input_ids=torch.tensor(ids), token_type_ids=kinds).logits[:, 0]
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, torch.tensor(wanted))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
