"""The published names in our bundle, each with the adapter that stands in for it."""

from pathlib import Path

import pytest

from sie.adapters.api import Encoder
from sie.backend.aliases import ALIASES, resolve_adapter
from sie.backend.catalog import ADAPTERS, Catalog, import_adapter
from sie.wire.documents import parse_bundle
from sie.wire.ipc import LoadModel

ROBERTA = Path(__file__).parents[2] / "spec/golden/roberta/encoder"
BUNDLE = Path(__file__).parents[2] / "bundles/default.yaml"
LISTED = parse_bundle(BUNDLE.read_text(encoding="utf-8"), stem="default").adapters


def module_of(path: str) -> str:
    return path.partition(":")[0]


def test_the_bundle_lists_the_published_modules_that_have_a_counterpart_and_no_others() -> None:
    published = {module for module in LISTED if not module.startswith(ADAPTERS)}
    assert published == set(map(module_of, ALIASES))


def test_the_bundle_lists_each_module_that_stands_in_for_one() -> None:
    assert set(map(module_of, ALIASES.values())) <= set(LISTED)


def test_a_path_of_our_own_is_itself() -> None:
    assert resolve_adapter("sie.adapters.tasks.dense:DenseEncoder") == "sie.adapters.tasks.dense:DenseEncoder"


@pytest.mark.engine
@pytest.mark.parametrize("path", ALIASES)
def test_each_published_adapter_has_a_class_that_loads_models(path: str) -> None:
    factory = import_adapter(path, ADAPTERS)
    assert isinstance(factory, type)
    assert f"{factory.__module__}:{factory.__qualname__}" == ALIASES[path]
    assert callable(factory.load)


@pytest.mark.engine
@pytest.mark.parametrize("module", [module for module in LISTED if module.startswith(ADAPTERS)])
def test_each_module_of_our_own_in_the_bundle_is_there(module: str) -> None:
    with pytest.raises(Exception, match=f"adapter '{module}:None' cannot be imported: module .* has no attribute"):
        import_adapter(f"{module}:None", ADAPTERS)


@pytest.mark.engine
def test_a_model_that_names_a_published_adapter_is_loaded(tmp_path: Path) -> None:
    path = "sie_server.adapters.xlm_roberta_flash:XLMRobertaFlashAdapter"
    catalog = Catalog(str(tmp_path))
    request = LoadModel(
        id=1,
        serving_id="acme/tiny",
        adapter_path=path,
        model_id="acme/tiny",
        weights_path=str(ROBERTA),
        max_sequence_length=16,
    )
    assert catalog.load(request, lambda _: None).model_bytes > 0
    assert isinstance(catalog.find("acme/tiny"), Encoder)
