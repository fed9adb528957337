"""Makes spec/golden/roberta: what transformers answers for tiny seeded RoBERTas, which `sie` must reproduce.

Run by hand, in an environment of its own and outside the repository:

    python -m venv /tmp/golden
    /tmp/golden/bin/pip install torch==2.13.0 transformers==5.24.0 safetensors
    /tmp/golden/bin/python spec/golden/make_roberta.py

It writes four checkpoints with their answers (float32 all), and texts.json, meta.json: `encoder` (a RoBERTa without a
head, byte-level BPE), `cross_encoder` (an XLM-RoBERTa, unigram), `masked_lm` and `token_classifier` (RoBERTas).
"""

import importlib.metadata
import json
import string
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors

OUT = Path(__file__).parent / "roberta"
TINY = {
    "vocab_size": 288,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 50,
    "type_vocab_size": 1,
    "layer_norm_eps": 1e-5,
    "initializer_range": 0.3,
}
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
WORDS = ("abc", "hello world", "z" * 12, "qwerty uiop asdf", "The quick brown fox", "naïve Zürich 😀", "")
PAIRS = [(query, text) for query in WORDS[:3] for text in WORDS]
SPECIAL = ("<s>", "<pad>", "</s>", "<unk>")
MERGES = (("h", "e"), ("l", "l"), ("he", "ll"), ("hell", "o"), ("Ġ", "w"), ("o", "r"), ("Ġw", "or"), ("q", "u"))
PIECES = ("▁", "▁hello", "▁world", "qu", "ick", "▁the", "own", *string.ascii_lowercase)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    encoder = tiny("encoder", transformers.RobertaModel, transformers.RobertaConfig(**TINY), byte_pairs())
    states = [run(encoder, "encoder", word).last_hidden_state[0].numpy() for word in WORDS]
    np.save(OUT / "encoder/mean.npy", np.stack([unit(rows.mean(axis=0)) for rows in states]))
    np.save(OUT / "encoder/cls.npy", np.stack([unit(rows[0]) for rows in states]))
    config = transformers.XLMRobertaConfig(**TINY, num_labels=1)
    scorer = tiny("cross_encoder", transformers.XLMRobertaForSequenceClassification, config, unigrams())
    logits = [run(scorer, "cross_encoder", *pair).logits[0, 0].item() for pair in PAIRS]
    np.save(OUT / "cross_encoder/logits.npy", np.array(logits, np.float32))
    masked = tiny("masked_lm", transformers.RobertaForMaskedLM, transformers.RobertaConfig(**TINY), byte_pairs())
    np.save(OUT / "masked_lm/activations.npy", np.stack([activated(masked, word) for word in WORDS]))
    named = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    config = transformers.RobertaConfig(**TINY, **named)
    tagger = tiny("token_classifier", transformers.RobertaForTokenClassification, config, byte_pairs())
    rows = [run(tagger, "token_classifier", word).logits[0].numpy() for word in WORDS]
    np.save(OUT / "token_classifier/logits.npy", np.concatenate(rows))
    write_json("texts.json", {"words": WORDS, "pairs": PAIRS})
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers", "tokenizers")}
    write_json("meta.json", {"versions": versions})


def tiny(name: str, kind: type, config: object, tokenizer: Tokenizer) -> torch.nn.Module:
    torch.manual_seed(7)
    model = kind(config).eval()
    for parameter in model.parameters():  # biases and norms too, which begin as constants
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    model.save_pretrained(OUT / name)
    tokenizer.save(str(OUT / name / "tokenizer.json"))
    return model


def byte_pairs() -> Tokenizer:
    """RoBERTa's own kind, with a handful of merges."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokens = [*SPECIAL, *alphabet, *(first + second for first, second in MERGES)]
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, list(MERGES)))
    made.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return made


def unigrams() -> Tokenizer:
    """XLM-RoBERTa's own kind, with a handful of pieces."""
    pieces = [(token, 0.0) for token in SPECIAL]
    pieces += [(piece, float(len(piece) - 8)) for piece in PIECES]
    made = Tokenizer(models.Unigram(pieces, unk_id=3))
    made.add_special_tokens([AddedToken(token, normalized=False) for token in SPECIAL])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.decoder = decoders.Metaspace()
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


def activated(model: torch.nn.Module, text: str) -> np.ndarray:
    """SPLADE (Formal et al., 2021): log(1 + relu(logit)), the largest over the tokens."""
    return np.log1p(np.maximum(run(model, "masked_lm", text).logits[0].numpy(), 0)).max(axis=0)


def run(model: torch.nn.Module, name: str, *texts: str) -> transformers.modeling_outputs.ModelOutput:
    """Positions are those that the model makes of the ids."""
    encoding = Tokenizer.from_file(str(OUT / name / "tokenizer.json")).encode(*texts)
    with torch.no_grad():
        return model(input_ids=torch.tensor([encoding.ids]))


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def write_json(name: str, value: Mapping[str, object]) -> None:
    (OUT / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
