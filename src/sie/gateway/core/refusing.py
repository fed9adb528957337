"""Why is something refused, before the answer has a form? A stable code, words, and what stands beside them. Pure."""

from collections.abc import Mapping

import attrs

from sie.domain.errors import ErrorCode

_NOTHING: Mapping[str, object] = {}


@attrs.frozen
class Refused:
    """`extra` stands beside the words in the answer; `retry_after_s` None is what the code's rule says."""

    code: ErrorCode
    words: str
    extra: Mapping[str, object] = _NOTHING
    retry_after_s: int | None = None
