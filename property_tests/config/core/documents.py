"""Small catalogues and documents for the config service's properties: two bundles, a seed, and what may be written."""

from hypothesis import strategies as st

from sie.config.core.catalog import Config, Document
from sie.domain.model import Json

BUNDLES = [
    Document("alpha.yaml", "{name: alpha, priority: 10, adapters: [acme.a, acme.both]}"),
    Document("beta.yaml", "{name: beta, priority: 20, adapters: [acme.b, acme.both]}"),
]
SEEDS = [Document("seed.yaml", "{sie_id: acme/seed, pool: Team-A, profiles: {default: {adapter_path: 'acme.a:C'}}}")]

paths = st.sampled_from(["acme.a:C", "acme.b:C", "acme.both:C", "none:C"])
profiles: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {},
    optional={"adapter_path": paths, "extends": st.sampled_from(["default", "fast"]), "max_batch_tokens": st.just(8)},
)
configs: st.SearchStrategy[Config] = st.fixed_dictionaries(
    {
        "sie_id": st.sampled_from(["acme/seed", "acme/one", "acme/two"]),
        "profiles": st.dictionaries(st.sampled_from(["default", "fast"]), profiles, min_size=1, max_size=2),
    },
    optional={"pool": st.sampled_from(["team-a", "B"]), "hf_id": st.sampled_from(["x/y", "x/z"])},
)
