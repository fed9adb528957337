"""Which of our adapters runs a model that names a published one (§16.1)? The backend alone asks.

Bundles list both names, and everything else, the hashes among it, takes a path as it is written. What is not in this
table is not implemented, and a load that names it is refused. So is ColBERT's, which lengthens queries and drops
punctuation, and the one that takes the last token unless it is told otherwise: ours would give other vectors.
"""

from collections.abc import Mapping

_PUBLISHED = "sie_server.adapters."
_TASKS = "sie.adapters.tasks."

ALIASES: Mapping[str, str] = {
    _PUBLISHED + published: _TASKS + ours
    for published, ours in {
        "bert_flash:BertFlashAdapter": "dense:DenseEncoder",
        "xlm_roberta_flash:XLMRobertaFlashAdapter": "dense:DenseEncoder",
        "sentence_transformer:SentenceTransformerDenseAdapter": "dense:DenseEncoder",
        "sentence_transformer:SentenceTransformerSparseAdapter": "sparse:SparseEncoder",
        "splade_flash.adapter:SPLADEFlashAdapter": "sparse:SparseEncoder",
        "cross_encoder:CrossEncoderAdapter": "cross_encoder:CrossEncoder",
        "bert_flash_cross_encoder:BertFlashCrossEncoderAdapter": "cross_encoder:CrossEncoder",
    }.items()
}
"""`module:Class` as it is published, and as it is here. An adapter may load fewer checkpoints than its namesake."""


def resolve_adapter(path: str) -> str:
    """Any other path is its own."""
    return ALIASES.get(path, path)
