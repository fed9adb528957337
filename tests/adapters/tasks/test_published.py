"""What a checkpoint says of its own use is followed, or refused."""

import json
from pathlib import Path

import pytest

from sie.adapters.api import LoadFailed
from sie.adapters.tasks.published import check_queries_are_inferred, published_pooling


def pooling(folder: Path, text: str) -> Path:
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(text)
    return folder


@pytest.mark.parametrize(("mode", "name"), [("cls_token", "cls"), ("mean_tokens", "mean")])
def test_the_pooling_that_is_switched_on_is_taken(tmp_path: Path, mode: str, name: str) -> None:
    modes = {f"pooling_mode_{one}": one == mode for one in ("cls_token", "mean_tokens", "max_tokens")}
    folder = pooling(tmp_path, json.dumps({"word_embedding_dimension": 32, **modes, "include_prompt": True}))
    assert published_pooling(folder) == name


def test_a_checkpoint_may_say_nothing(tmp_path: Path) -> None:
    assert published_pooling(tmp_path) is None
    check_queries_are_inferred(tmp_path)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ("{}", "the pooling is by nothing"),
        ('{"pooling_mode_max_tokens": true}', "by pooling_mode_max_tokens; implemented are pooling_mode_mean_tokens"),
        (
            '{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}',
            "by pooling_mode_cls_token and pooling_mode_mean_tokens",
        ),
    ],
)
def test_a_pooling_that_is_not_implemented_is_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(LoadFailed, match=complaint) as refused:
        published_pooling(pooling(tmp_path, text))
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)


@pytest.mark.parametrize("name", ["idf.json", "query_token_weights.txt"])
def test_queries_that_are_not_inferred_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(LoadFailed, match="queries with weights from a table are not implemented") as refused:
        check_queries_are_inferred(tmp_path)
    assert (refused.value.error_class, refused.value.permanent) == ("CONFIG", True)
