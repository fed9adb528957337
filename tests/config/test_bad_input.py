"""Documents that no model can be made of: each gets its code, and nothing on disk, in the registry or on the wire
changes (wire-facts 3.3).
"""

import json
from pathlib import Path

import pytest

from tests.config.stage import BUNDLE, MODEL, open_stage

pytestmark = pytest.mark.usefixtures("autojump_clock")

HEAD = b"sie_id: acme/bad\n"
GOOD = "profiles: {default: {adapter_path: 'acme.enc:C'}}\n"
MIB = 1024 * 1024


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "alpha.yaml").write_text(BUNDLE)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "m.yaml").write_text(MODEL)
    return tmp_path


def option(value: str) -> bytes:
    return HEAD + f"profiles: {{default: {{adapter_path: 'acme.enc:C', adapter_options: {value}}}}}".encode()


@pytest.mark.parametrize(
    ("body", "status", "code", "words"),
    [
        pytest.param(HEAD + b"hf_id: \xff\xfe\n", 400, "parse_error", "not UTF-8", id="no UTF-8"),
        pytest.param(b"\xff\xfes\x00i\x00e\x00", 400, "parse_error", "not UTF-8", id="UTF-16"),
        pytest.param(HEAD + b"hf_id: a\x00b\n", 400, "parse_error", "YAML", id="a NUL"),
        pytest.param(b"[" * MIB, 400, "parse_error", "nest", id="brackets without an end"),
        pytest.param(b"{a: " * (MIB // 4), 400, "parse_error", "nest", id="braces without an end"),
        pytest.param(b"- " * (MIB // 2), 400, "parse_error", "nest", id="dashes without an end"),
        pytest.param(b"? " * (MIB // 2), 400, "parse_error", "", id="keys of keys"),
        pytest.param(option("{runtime: {a: 1, a: 2}}"), 400, "parse_error", "line 2", id="a key twice"),
        pytest.param(HEAD + b"sie_id: acme/other\n", 400, "parse_error", "line 2", id="an id twice"),
        pytest.param(option(f"{{runtime: {{a: {2**64}}}}}"), 400, "parse_error", "64 bits", id="an int of 65 bits"),
        pytest.param(option(f"{{runtime: {{a: {'9' * 5000}}}}}"), 400, "parse_error", "characters", id="a huge int"),
        pytest.param(option("{runtime: {a: 0x" + "f" * 100 + "}}"), 400, "parse_error", "64 bits", id="a huge hex"),
        pytest.param(option("{runtime: {a: .nan}}"), 400, "parse_error", "no JSON number", id="NaN"),
        pytest.param(option("{runtime: {a: -.inf}}"), 400, "parse_error", "no JSON number", id="infinity"),
        pytest.param(option("{runtime: {a: 1.0e+999}}"), 400, "parse_error", "", id="a float over the top"),
        pytest.param(option("{runtime: {? [a] : 1}}"), 400, "parse_error", "key", id="a list as a key"),
        pytest.param(b"a: &x [1]\nb: *x\n", 400, "parse_error", "not taken", id="an alias"),
        pytest.param(b"!!python/object/apply:os.system [id]\n", 400, "parse_error", "not taken", id="a tag"),
        pytest.param(b"a: 1\n---\nb: 2\n", 400, "parse_error", "more than one", id="two documents"),
        pytest.param(b"", 400, "parse_error", "mapping", id="nothing"),
        pytest.param(b"[]", 400, "parse_error", "mapping", id="a list"),
        pytest.param(b"a: [", 400, "parse_error", "line ", id="half a list"),
        pytest.param(GOOD.encode(), 422, "validation_error", "sie_id", id="no id"),
        pytest.param(b"sie_id: 7\n", 422, "validation_error", "", id="a number as id"),
        pytest.param(HEAD + b"profiles: {}\n", 422, "validation_error", "profiles", id="no profile"),
        pytest.param(HEAD + b"profiles: [a]\n", 422, "validation_error", "", id="profiles in a list"),
        pytest.param(HEAD + b"polices: x\n" + GOOD.encode(), 422, "validation_error", "Unknown field", id="a field"),
        pytest.param(b"#" * (MIB + 1), 413, "payload_too_large", "", id="over the limit"),
        *(
            pytest.param(
                HEAD + f"profiles: {{{name}: {{adapter_path: 'acme.enc:C'}}}}".encode(),
                422,
                "validation_error",
                "must match",
                id=f"profile {name}",
            )
            for name in ("'../x'", "'a/b'", "'%2e%2e%2fx'", "'a b'", "''", "'a:b'", "'\u00e4'", "a" * 129)
        ),
        *(
            pytest.param(f"sie_id: {name}\n{GOOD}".encode(), 400, "invalid_model_id", "", id=f"model {name}")
            for name in (
                "../x",
                "acme/../x",
                "/etc/passwd",
                "'acme\\x'",
                "acme/%2e%2e/x%",
                "acme/x/status",
                "status",
                "acme__x",
                "'acme x'",
                "-x",
                "acme/\u00e4",
            )
        ),
    ],
)
async def test_a_bad_document_gets_its_code_and_changes_nothing(
    folder: Path, body: bytes, status: int, code: str, words: str
) -> None:
    store = folder / "store"
    async with open_stage(folder, broker=True, store_dir=str(store)) as stage:
        await stage.post(MODEL.replace("acme/m", "acme/kept"))
        files, told = _files(store), (await stage.models(), await stage.epoch(), len(stage.heard))
        reply = await stage.client.post("/v1/configs/models", content=body)
        detail = json.loads(reply.content)["detail"]
        assert (reply.status_code, detail["error"]) == (status, code)
        assert words in json.dumps(detail, ensure_ascii=False)
        assert (await stage.models(), await stage.epoch(), len(stage.heard)) == told
        assert _files(store) == files


async def test_a_duplicate_key_is_refused_with_its_line_by_put_too(folder: Path) -> None:
    async with open_stage(folder) as stage:
        reply = await stage.put("acme/m", f"hf_id: a\n{GOOD}hf_id: b\n")
    assert (reply.status_code, reply.json()["detail"]["error"]) == (400, "parse_error")
    assert "line 3" in reply.json()["detail"]["message"]


def _files(store: Path) -> dict[str, bytes]:
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}
