"""Nobody changes anything without the admin token, and a token opens no less than a lesser one (§13)."""

import attrs
from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ErrorCode
from sie.gateway.core.access import ADMIN_TREES, Access, is_enforced, judge_access, kind_of

paths = st.sampled_from(
    (
        *("/", "/health", "/healthz", "/readyz", "/ws/cluster-status", "/v1/models", "/v1/encode/a/b", "/nowhere"),
        *("/v1/configs", "/v1/configs/models", "/v1/configs/models/a", "/v1/configs/resolve", "/v1/configsx"),
        *("/v1/pools", "/v1/pools/x/renew", "/v1/admin/y"),
    )
)
methods = st.sampled_from(("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"))
names = st.text("ab", min_size=1, max_size=3)
tables = st.builds(Access, st.booleans(), st.lists(names, max_size=2).map(tuple), st.none() | names, st.booleans())


def judged(access: Access, method: str, path: str, token: str | None) -> ErrorCode | None:
    headers = {} if token is None else {"authorization": f"Bearer {token}"}
    denied = judge_access(access, method, path, headers)
    return denied.code if denied is not None else None


@given(tables, methods, paths, st.none() | names)
def test_where_tokens_are_asked_for_only_the_admin_token_changes_anything(
    access: Access, method: str, path: str, token: str | None
) -> None:
    table = attrs.evolve(access, is_enforced=True)
    is_change = method in {"POST", "PUT", "DELETE", "PATCH"} and path != "/v1/configs/resolve"
    if is_change and any(path == tree or path.startswith(f"{tree}/") for tree in ADMIN_TREES):
        assert kind_of(method, path) == "admin"
        allowed = judged(table, method, path, token) is None
        assert allowed == (bool(table.tokens) and access.admin is not None and token == access.admin)


@given(tables, methods, paths)
def test_the_admin_token_opens_whatever_any_token_opens(access: Access, method: str, path: str) -> None:
    if access.admin is not None:
        by_any = [judged(access, method, path, token) for token in (None, *access.tokens)]
        assert None not in by_any or judged(access, method, path, access.admin) is None


@given(tables, methods, st.sampled_from(("/healthz", "/readyz")), st.none() | names)
def test_probes_are_never_refused(access: Access, method: str, path: str, token: str | None) -> None:
    assert judged(access, method, path, token) is None


@given(tables, methods, paths, st.none() | names)
def test_without_enforcement_nothing_is_refused(access: Access, method: str, path: str, token: str | None) -> None:
    assert judged(attrs.evolve(access, is_enforced=False), method, path, token) is None


@given(tables, methods, paths, names)
def test_an_empty_table_refuses_all_but_what_is_exempt(access: Access, method: str, path: str, token: str) -> None:
    table = attrs.evolve(access, is_enforced=True, tokens=())
    exempt = kind_of(method, path) == "probe" or (kind_of(method, path) == "operational" and table.exempts_operational)
    assert judged(table, method, path, token) == (None if exempt else ErrorCode.INTERNAL_ERROR)


@given(st.text(max_size=8))
def test_only_the_known_modes_have_a_meaning(mode: str) -> None:
    known = {"none": False, "": False, "token": True, "static": True}
    assert is_enforced(mode) == known.get(mode.strip().lower())
