"""How are the two config services set up? A flavor is a set of variables; all share the same bundles and seeds."""

from collections.abc import Mapping
from pathlib import Path

import attrs

ADMIN, READ, INFERENCE = "adm", "cfg", "inf"
_TOKENS = {"SIE_ADMIN_TOKEN": ADMIN, "SIE_CONFIG_READ_TOKEN": READ, "SIE_AUTH_TOKEN": INFERENCE}
WHOLE = "whole"


@attrs.frozen
class Flavor:
    """`share` of a run's sequences, in percent; at least one."""

    share: float
    tokens: Mapping[str, str]
    has_store: bool = True
    has_broker: bool = True
    variables: Mapping[str, str] = attrs.field(factory=dict)

    def environment(self, store: Path, broker: str) -> Mapping[str, str]:
        return {
            **self.tokens,
            **self.variables,
            **({"SIE_CONFIG_STORE_DIR": str(store)} if self.has_store else {}),
            **({"SIE_NATS_URL": broker} if self.has_broker else {}),
        }


def _tokens(**named: str) -> Mapping[str, str]:
    return {_NAMES[name]: value for name, value in named.items()}


_NAMES = {"admin": "SIE_ADMIN_TOKEN", "read": "SIE_CONFIG_READ_TOKEN", "inference": "SIE_AUTH_TOKEN"}

FLAVORS: Mapping[str, Flavor] = {
    WHOLE: Flavor(88, _TOKENS),
    "storeless": Flavor(1, _TOKENS, has_store=False),
    "silent": Flavor(3, _TOKENS, has_broker=False),
    "no-restore": Flavor(2, _TOKENS, variables={"SIE_CONFIG_RESTORE": "false"}),
    "open": Flavor(1, {}),
    "production": Flavor(1, {}, variables={"SIE_DEPLOYMENT_ENV": "production"}),
    "admin-only": Flavor(1, _tokens(admin=ADMIN)),
    "inference-only": Flavor(1, _tokens(inference=INFERENCE)),
    "read-only": Flavor(1, _tokens(read=READ)),
    "empty-admin": Flavor(1, _tokens(admin="", inference=INFERENCE)),
}

BUNDLES: Mapping[str, str] = {
    "alpha": "name: alpha\npriority: 10\nadapters: [acme.enc.small, acme.enc.big]\ndefault: true\n",
    "beta": "priority: 20\nadapters:\n- acme.enc.big\n- acme.rank.one\n",
    "tie": "name: Tie\npriority: 20\nadapters: [acme.rank.one, acme.gen, acme.gen]\ndeps: {torch: '2'}\n",
    "unlisted": "name: unlisted\nadapters: []\n",
    "native": "name: native\nengine: candle\nadapters: [sie_server_rust.adapters.candle.bert]\n",
    "odd-engine": "name: odd-engine\nengine: steam\nadapters: [acme.enc.small]\n",
    "misplaced": "name: misplaced\nadapters: [sie_server_rust.adapters.candle.bert, acme.enc.small]\n",
}

_ENC = "acme.enc.small:Small"
SEEDS: Mapping[str, str] = {
    "seed": (
        "# by hand\nsie_id: acme/seed\nhf_id: acme/hub\nhf_revision: null\ntasks: {encode: {dense: {dim: 8}}}\n"
        f"profiles:\n  default: {{adapter_path: '{_ENC}', max_batch_tokens: 64, adapter_options: {{loadtime: {{}}}}}}\n"
        "  fast: {extends: default, compute_precision: float16}\n"
    ),
    "old": "name: acme/old\npool: Team-A\nprofiles: {default: {adapter_path: 'acme.rank.one:R'}}\n",
    "partial": (
        "sie_id: acme/partial\nprofiles:\n"
        "  quick: {adapter_path: 'acme.enc.big:B', adapter_options: {runtime: {a: 0}}}\n"
    ),
    "lost": (
        "sie_id: acme/lost\nprofiles:\n  default: {adapter_path: 'acme.enc.big:B', max_batch_tokens: 4}\n"
        "  lost: {extends: nowhere}\n  round: {extends: round}\n"
    ),
    "unserved": "sie_id: acme/unserved\nprofiles: {default: {adapter_path: 'acme.nobody:N'}}\n",
    "broken": "sie_id: [acme/broken\n",
}

SEED_IDS = ("acme/seed", "acme/old", "acme/partial")


def write_folders(folder: Path) -> Mapping[str, str]:
    """The folders of bundles and seeds below `folder`; returns the variables that name them."""
    for name, documents in (("bundles", BUNDLES), ("models", SEEDS)):
        (folder / name).mkdir()
        for stem, text in documents.items():
            (folder / name / f"{stem}.yaml").write_text(text, encoding="utf-8")
    return {"SIE_BUNDLES_DIR": str(folder / "bundles"), "SIE_MODELS_DIR": str(folder / "models")}
