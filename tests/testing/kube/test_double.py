"""What the API double answers beyond the contract: selectors, pages, patches, preconditions, roles, discovery."""

import json
from collections.abc import AsyncIterator, Mapping

import httpx2
import pytest
import trio
from trio.testing import MockClock

from sie.testing.kube.contract import config_map, lease
from sie.testing.kube.double import KubeDouble
from sie.testing.kube.faults import Delay, Refuse
from sie.testing.kube.resources import CONFIG_MAPS, LEASES, Document
from sie.testing.kube.served import open_kube_double
from sie.testing.kube.shaping import text_of

MAPS = "/api/v1/namespaces/default/configmaps"
LEASED = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


async def names(http: httpx2.AsyncClient, path: str = MAPS, **query: str) -> list[str]:
    response = await http.get(path, params=query)
    assert response.status_code == 200, response.text
    return [text_of(item, "name") for item in response.json()["items"]]


async def patched(http: httpx2.AsyncClient, patch: object, kind: str) -> httpx2.Response:
    headers = {"Content-Type": f"application/{kind}+json"}
    return await http.patch(f"{MAPS}/a", content=json.dumps(patch), headers=headers)


def refused(response: httpx2.Response, code: int, reason: str) -> None:
    status = response.json()
    assert (response.status_code, status["kind"], status["code"], status["reason"]) == (code, "Status", code, reason)


@pytest.mark.parametrize(
    ("selector", "chosen"),
    [
        ("color", ["m0", "m1"]),
        ("!color", ["m2"]),
        ("color!=red", ["m1", "m2"]),
        ("color in (red, blue)", ["m0", "m1"]),
        ("color notin (red)", ["m1", "m2"]),
        ("color==red,size", ["m0"]),
        ("color=red,size!=big", []),
    ],
)
async def test_label_selectors(http: httpx2.AsyncClient, double: KubeDouble, selector: str, chosen: list[str]) -> None:
    labels: list[Mapping[str, str]] = [{"color": "red", "size": "big"}, {"color": "blue"}, {}]
    for number, words in enumerate(labels):
        double.model.create(CONFIG_MAPS, "default", config_map(f"m{number}", labels=words))
    assert await names(http, labelSelector=selector) == chosen
    assert await names(http, labelSelector=selector, fieldSelector="metadata.name=m0") == [
        name for name in chosen if name == "m0"
    ]


@pytest.mark.parametrize("query", [{"labelSelector": "a in b"}, {"labelSelector": "a,,b"}, {"fieldSelector": "x=1"}])
async def test_a_selector_that_cannot_be_read_is_refused(http: httpx2.AsyncClient, query: Mapping[str, str]) -> None:
    refused(await http.get(MAPS, params=query), 400, "BadRequest")


async def test_pages_are_of_one_revision_until_it_is_compacted(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    for number in range(5):
        double.model.create(CONFIG_MAPS, "default", config_map(f"m{number}"))
    first = (await http.get(MAPS, params={"limit": "2"})).json()
    double.model.delete(CONFIG_MAPS, "default", "m3")
    more = {"limit": "2", "continue": first["metadata"]["continue"]}
    assert await names(http, **more) == ["m2", "m3"]
    double.model.compact()
    refused(await http.get(MAPS, params=more), 410, "Expired")
    refused(await http.get(MAPS, params={"continue": "nonsense"}), 400, "BadRequest")


async def test_all_namespaces_are_listed_together_in_one_rising_revision(
    http: httpx2.AsyncClient, double: KubeDouble
) -> None:
    double.model.namespaces.add("other")
    first = double.model.create(CONFIG_MAPS, "other", config_map("a"))
    second = double.model.create(LEASES, "default", lease("a"))
    assert int(text_of(second, "resourceVersion")) == int(text_of(first, "resourceVersion")) + 1
    assert await names(http, "/api/v1/configmaps") == ["a"]
    assert await names(http) == []
    refused(await http.post(MAPS.replace("default", "missing"), json=config_map("a")), 404, "NotFound")


async def test_json_patches_apply_whole_or_not_at_all(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    double.model.create(CONFIG_MAPS, "default", config_map("a", data={"one": "1"}))
    steps = [{"op": "test", "path": "/data/one", "value": "1"}, {"op": "add", "path": "/data/two", "value": "2"}]
    assert (await patched(http, steps, "json-patch")).json()["data"] == {"one": "1", "two": "2"}
    steps[0]["value"] = "other"
    refused(await patched(http, steps, "json-patch"), 422, "Invalid")
    refused(await patched(http, {"data": {}}, "json-patch"), 400, "BadRequest")
    refused(await patched(http, [], "apply-patch"), 415, "UnsupportedMediaType")


async def test_a_patch_can_hold_to_a_version_and_cannot_rename(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    double.model.create(CONFIG_MAPS, "default", config_map("a"))
    stale: Document = {"metadata": {"resourceVersion": "1"}, "data": {"x": "y"}}
    refused(await patched(http, stale, "merge-patch"), 409, "Conflict")
    refused(await patched(http, {"metadata": {"name": "b"}}, "strategic-merge-patch"), 422, "Invalid")


async def test_what_changes_nothing_is_no_change(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    double.model.create(CONFIG_MAPS, "default", config_map("a"))
    before = double.model.revision
    assert (await http.put(f"{MAPS}/a", json=config_map("a"))).status_code == 200
    assert (await patched(http, {"data": {"key": "value"}}, "merge-patch")).status_code == 200
    assert double.model.revision == before


async def test_a_deletion_may_have_a_body_with_preconditions(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    made = double.model.create(CONFIG_MAPS, "default", config_map("a"))
    wrong: Document = {"preconditions": {"uid": "another"}}
    refused(await http.request("DELETE", f"{MAPS}/a", json=wrong), 409, "Conflict")
    right: Document = {"preconditions": {"uid": text_of(made, "uid")}, "propagationPolicy": "Background"}
    response = await http.request("DELETE", f"{MAPS}/a", json=right)
    assert response.json()["status"] == "Success"
    refused(await http.delete(MAPS), 405, "MethodNotAllowed")


async def test_bodies_that_are_not_json_are_refused(http: httpx2.AsyncClient) -> None:
    headers = {"Content-Type": "application/vnd.kubernetes.protobuf"}
    refused(await http.post(MAPS, content=b"k8s\x00", headers=headers), 415, "UnsupportedMediaType")
    refused(await http.post(MAPS, content=b"{"), 400, "BadRequest")
    refused(await http.post(MAPS, content=b"[]"), 400, "BadRequest")
    refused(await http.post(MAPS, json=lease("a")), 400, "BadRequest")
    refused(await http.post(MAPS, content=b'"' + b"x" * (3 << 20) + b'"'), 413, "RequestEntityTooLarge")


@pytest.mark.parametrize(
    "document",
    [
        {"metadata": {"name": "a", "resourceVersion": "5"}},
        {"metadata": {"name": "a", "namespace": "other"}},
        {"metadata": {"name": "a"}, "data": {"key": 5}},
        {"metadata": {"name": "a", "labels": "x"}},
        {"metadata": {"name": "a"}, "binaryData": {"key": "%"}},
    ],
)
async def test_what_cannot_be_decoded_is_a_bad_request(http: httpx2.AsyncClient, document: Document) -> None:
    refused(await http.post(MAPS, json=document), 400, "BadRequest")


@pytest.mark.parametrize("spec", [{"renewTime": "yesterday"}, {"leaseDurationSeconds": "5"}, {"holderIdentity": 5}])
async def test_a_lease_has_the_types_of_its_fields(http: httpx2.AsyncClient, spec: Document) -> None:
    refused(await http.post(LEASED, json=lease("a", **spec)), 400, "BadRequest")


async def test_a_put_makes_a_lease_and_no_config_map(http: httpx2.AsyncClient) -> None:
    assert (await http.put(f"{LEASED}/a", json=lease("a"))).status_code == 201
    refused(await http.put(f"{LEASED}/a", json=lease("a", holderIdentity="x")), 422, "Invalid")
    refused(await http.put(f"{MAPS}/a", json=config_map("a")), 404, "NotFound")
    refused(await http.put(f"{MAPS}/a", json=config_map("b")), 400, "BadRequest")


async def test_a_generated_name_and_unknown_fields(http: httpx2.AsyncClient) -> None:
    made = (await http.post(MAPS, json={"metadata": {"generateName": "pool-"}, "odd": 1, "data": {}})).json()
    assert text_of(made, "name").startswith("pool-")
    assert len(text_of(made, "name")) == 10
    assert "odd" not in made


async def test_an_immutable_config_map_keeps_its_data(http: httpx2.AsyncClient) -> None:
    fixed = {**config_map("a"), "immutable": True}
    await http.post(MAPS, json=fixed)
    refused(await http.put(f"{MAPS}/a", json=fixed | {"data": {"key": "other"}}), 422, "Invalid")


async def test_an_object_that_enters_or_leaves_a_selection_is_told_so(
    http: httpx2.AsyncClient, double: KubeDouble
) -> None:
    for color in ("blue", "red", "red", "blue"):
        document = config_map("a", data={"n": str(double.model.revision)}, labels={"color": color})
        if double.model.holds(CONFIG_MAPS, "default", "a"):
            double.model.replace(CONFIG_MAPS, "default", "a", document)
        else:
            double.model.create(CONFIG_MAPS, "default", document)
    query = {"watch": "1", "resourceVersion": "7", "labelSelector": "color=red", "timeoutSeconds": "0"}
    events = [json.loads(line) for line in (await http.get(MAPS, params=query)).text.splitlines()]
    assert [event["type"] for event in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert [text_of(event["object"], "resourceVersion") for event in events] == ["9", "10", "11"]
    assert events[-1]["object"]["metadata"]["labels"] == {"color": "red"}


async def test_bookmarks_come_where_they_are_asked_for(
    http: httpx2.AsyncClient, double: KubeDouble, autojump_clock: MockClock
) -> None:
    double.model.create(CONFIG_MAPS, "default", config_map("a"))
    query = {"watch": "1", "timeoutSeconds": "100"}
    with_none = (await http.get(MAPS, params=query)).text.splitlines()
    assert len(with_none) == 1
    told = (await http.get(MAPS, params=query | {"allowWatchBookmarks": "true"})).text.splitlines()
    assert [json.loads(line)["type"] for line in told] == ["ADDED", *["BOOKMARK"] * 4]


async def test_a_watch_from_before_the_compaction_is_expired_from_the_start(
    http: httpx2.AsyncClient, double: KubeDouble
) -> None:
    for number in range(3):
        double.model.create(CONFIG_MAPS, "default", config_map(f"m{number}"))
    double.model.compact(keep=1)
    query = {"watch": "1", "timeoutSeconds": "0"}
    refused(await http.get(MAPS, params=query | {"resourceVersion": "8"}), 410, "Expired")
    kept = await http.get(MAPS, params=query | {"resourceVersion": "9"})
    assert [text_of(json.loads(line)["object"], "name") for line in kept.text.splitlines()] == ["m2"]


async def test_what_happens_before_a_slow_watch_begins_is_told_at_once(
    http: httpx2.AsyncClient, double: KubeDouble, autojump_clock: MockClock
) -> None:
    double.faults.add(Delay(5.0))
    began, told_at = trio.current_time(), 0.0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_created_after_a_second, double)
        async with http.stream("GET", MAPS, params={"watch": "1", "timeoutSeconds": "20"}) as response:
            async for _ in response.aiter_raw():
                told_at = told_at or trio.current_time()
    assert told_at == began + 5


async def _created_after_a_second(double: KubeDouble) -> None:
    await trio.sleep(1)
    double.model.create(CONFIG_MAPS, "default", config_map("a"))


@pytest.mark.parametrize(
    ("query", "code", "reason"),
    [
        ({"resourceVersion": "x"}, 400, "BadRequest"),
        ({"resourceVersion": "1000"}, 504, "Timeout"),
        ({"sendInitialEvents": "true"}, 422, "Invalid"),
        ({"timeoutSeconds": "-1"}, 400, "BadRequest"),
    ],
)
async def test_a_watch_that_cannot_begin(
    http: httpx2.AsyncClient, query: Mapping[str, str], code: int, reason: str
) -> None:
    refused(await http.get(MAPS, params={"watch": "true", **query}), code, reason)


async def test_users_and_roles(http: httpx2.AsyncClient, double: KubeDouble) -> None:
    double.users = {"reader": frozenset({("get", "configmaps")})}
    double.model.create(CONFIG_MAPS, "default", config_map("a"))
    reader = {"Authorization": "Bearer reader"}
    refused(await http.get(f"{MAPS}/a"), 401, "Unauthorized")
    assert (await http.get(f"{MAPS}/a", headers=reader)).status_code == 200
    refused(await http.get(MAPS, headers=reader), 403, "Forbidden")
    assert (await http.get("/version", headers=reader)).json()["major"] == "1"


async def test_a_fault_is_met_by_its_verbs_and_as_often_as_was_planned(
    http: httpx2.AsyncClient, double: KubeDouble
) -> None:
    double.faults.add(Refuse(429, retry_after="3"), times=2, verbs={"list"})
    refused(await http.get(f"{MAPS}/a"), 404, "NotFound")
    for _ in range(2):
        response = await http.get(MAPS)
        refused(response, 429, "TooManyRequests")
        assert response.headers["Retry-After"] == "3"
    assert await names(http) == []
    assert double.faults.met == {"Refuse": 2}


@pytest.mark.parametrize("path", ["/version", "/api", "/apis/", "/api/v1/", "/apis/coordination.k8s.io/v1"])
async def test_discovery_answers_with_or_without_a_slash(http: httpx2.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 200


@pytest.mark.parametrize("path", ["/api/v1/pods", "/api/v1/namespaces/default/leases", "/x", f"{MAPS}/a/status"])
async def test_elsewhere_there_is_nothing(http: httpx2.AsyncClient, path: str) -> None:
    refused(await http.get(path), 404, "NotFound")


async def test_over_a_port_bodies_may_be_chunked_and_a_cut_watch_ends_in_the_middle_of_a_line() -> None:
    async with open_kube_double() as served, httpx2.AsyncClient(base_url=served.url, trust_env=False) as client:

        async def chunks() -> AsyncIterator[bytes]:
            whole = json.dumps(config_map("a")).encode()
            for start in range(0, len(whole), 7):
                yield whole[start : start + 7]

        headers = {"Content-Type": "application/json"}
        assert (await client.post(MAPS, content=chunks(), headers=headers)).status_code == 201
        seen = b""
        with pytest.raises(httpx2.RemoteProtocolError):  # noqa: PT012  # the error comes out of the iteration
            async with client.stream("GET", MAPS, params={"watch": "1"}) as response:
                async for chunk in response.aiter_raw():
                    seen += chunk
                    if seen.endswith(b"\n"):
                        served.double.cut_watches()
        assert seen.count(b"\n") == 1
        assert not seen.endswith(b"\n")
