"""Values of the Kubernetes client, as Hypothesis draws them."""

import string

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from sie.kube.core.values import ConfigMap, Document, Lease, LeaseSpec, Metadata

words = st.dictionaries(st.text("ab./-", min_size=1, max_size=4), st.text(max_size=8), max_size=3)
names = st.text(string.ascii_lowercase, min_size=1, max_size=3)
seconds = st.integers(0, 4_000_000_000).map(float)
micros = st.integers(0, 4_000_000_000 * 10**6).map(lambda micro: micro / 10**6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
json_documents: SearchStrategy[Document] = st.dictionaries(
    st.sampled_from(("metadata", "data", "spec", "items", "name", "labels", "kind", "other", "type", "object")),
    json_values,
    max_size=5,
)
_odd: SearchStrategy[Document] = st.dictionaries(st.sampled_from(("odd", "odder")), json_values, max_size=2)


def metadata() -> SearchStrategy[Metadata]:
    word = st.none() | st.text(min_size=1, max_size=5)
    return st.builds(Metadata, names, word, word, word, words, words, st.none() | seconds, _odd)


def config_maps() -> SearchStrategy[ConfigMap]:
    return st.builds(ConfigMap, metadata(), words, _odd)


def leases() -> SearchStrategy[Lease]:
    count = st.none() | st.integers(0, 1000)
    word = st.none() | st.text(min_size=1, max_size=5)
    spec = st.builds(LeaseSpec, word, count, st.none() | micros, st.none() | micros, count, _odd)
    return st.builds(Lease, metadata(), spec, _odd)
