"""Whatever is configured, nobody gets in with a token that is not set, and less is never more."""

from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.access import Kind, Tokens, judge_access

secrets = st.none() | st.sampled_from(["", "admin", "reader", "caller"])
tokens = st.builds(Tokens, secrets, secrets, secrets, in_production=st.booleans())
kinds: st.SearchStrategy[Kind] = st.sampled_from(["read", "export", "write"])
sent = st.none() | st.sampled_from(["admin", "reader", "caller", "guess", ""])


def headers(token: str | None) -> dict[str, str]:
    return {} if token is None else {"authorization": f"bEARER  {token} "}


@given(tokens, kinds, sent)
def test_only_a_token_that_is_set_for_the_kind_opens(tokens: Tokens, kind: Kind, token: str | None) -> None:
    is_in = judge_access(tokens, kind, headers(token)) is None
    if tokens.are_set:
        assert is_in == (bool(token) and token in tokens.accepted(kind))
    else:
        assert is_in is not tokens.in_production


@given(tokens, sent)
def test_who_may_write_may_export_and_who_may_export_may_read(tokens: Tokens, token: str | None) -> None:
    may = [judge_access(tokens, kind, headers(token)) is None for kind in KINDS]
    assert may == sorted(may)


KINDS: tuple[Kind, ...] = ("write", "export", "read")


@given(tokens, kinds)
def test_nothing_sent_is_401_and_something_wrong_403(tokens: Tokens, kind: Kind) -> None:
    if not tokens.are_set or (kind == "write" and tokens.admin is None):
        return
    nothing, wrong = judge_access(tokens, kind, {}), judge_access(tokens, kind, headers("guess"))
    assert nothing is not None
    assert wrong is not None
    assert (nothing.status, wrong.status) == (401, 403)
