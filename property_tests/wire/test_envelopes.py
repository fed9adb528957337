"""Each code has the one envelope that its rule names (wire-facts 1.7, 3.2)."""

from hypothesis import given
from hypothesis import strategies as st

from sie.domain.errors import ERRORS, ErrorCode
from sie.domain.model import Json
from sie.testing import strategies
from sie.wire.envelopes import error_body

EXTRAS = st.dictionaries(
    strategies.texts.filter(lambda key: key not in {"code", "error", "message"}), strategies.json_values, max_size=3
)


@given(st.sampled_from(ErrorCode), strategies.texts, EXTRAS)
def test_a_body_holds_the_code_the_message_and_the_extras_in_the_envelope_of_the_rule(
    code: ErrorCode, message: str, extra: dict[str, Json]
) -> None:
    outer = "error" if ERRORS[code].envelope == "error" else "detail"
    key = "error" if ERRORS[code].envelope == "config" else "code"
    assert error_body(code, message, extra) == {outer: {key: str(code), "message": message, **extra}}
