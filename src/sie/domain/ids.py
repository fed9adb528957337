"""Which strings may name a model, a pool, a lane token or a worker (§3 model ids, §16.3 tokens).

Each kind has a NewType and one constructor that checks it; everything else in the system takes the NewType.
"""

import re
from typing import NewType

ModelId = NewType("ModelId", str)
"""A model as its configuration names it, `org/name`; a profile of it is addressed as `org/name:profile`."""
ProfileName = NewType("ProfileName", str)
BundleName = NewType("BundleName", str)
PoolName = NewType("PoolName", str)
MachineProfile = NewType("MachineProfile", str)
WorkerId = NewType("WorkerId", str)
RouterId = NewType("RouterId", str)
"""The gateway process that a result goes back to; one subject token."""
RequestId = NewType("RequestId", str)

DEFAULT_POOL = PoolName("default")
DEFAULT_PROFILE = ProfileName("default")
DEFAULT_MACHINE_PROFILE = MachineProfile("default")

_MODEL = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._/-]*")
_POOL = re.compile(r"[A-Za-z0-9_-]{1,128}")
_TOKEN = re.compile(r"[A-Za-z0-9._-]{1,128}")
_SUBJECT_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,128}")


class InvalidId(ValueError):
    """A string that may not name what it should; the message names the field, the rule and the value seen."""

    def __init__(self, field: str, value: str, rule: str) -> None:
        super().__init__(f"{field} {value!r} {rule}")
        self.field = field
        self.value = value


def model_id(text: str) -> ModelId:
    """Check a model id (§3). `/` is stored as `__`, so an id with `__` or `/_` could share its file with another's:
    `a__b` with `a/b`, and `a/_b` with `a_/b`.
    """
    if not _MODEL.fullmatch(text):
        raise InvalidId("sie_id", text, "must match ^[a-zA-Z0-9][a-zA-Z0-9._/-]*$")
    if any(part in text for part in ("..", "__", "/_")):
        raise InvalidId("sie_id", text, "must not contain '..', '__' or '/_'")
    if text == "status" or text.endswith("/status"):
        raise InvalidId("sie_id", text, "must not be 'status' or end in '/status', which names the readiness view")
    return ModelId(text)


def pool_name(text: str) -> PoolName:
    """Canonical lower case, as every border keeps pool names (§16.3)."""
    stripped = text.strip()
    canonical = stripped.lower()
    if not _POOL.fullmatch(stripped) or canonical == "_default":
        raise InvalidId("pool", text, "must match [A-Za-z0-9_-]{1,128} and must not be _default")
    return PoolName(canonical)


def profile_name(text: str) -> ProfileName:
    if not _TOKEN.fullmatch(text):
        raise InvalidId("profile", text, "must match [A-Za-z0-9._-]{1,128}")
    return ProfileName(text)


def bundle_name(text: str) -> BundleName:
    if not _TOKEN.fullmatch(text):
        raise InvalidId("bundle", text, "must match [A-Za-z0-9._-]{1,128}")
    return BundleName(text)


def machine_profile(text: str) -> MachineProfile:
    if not _TOKEN.fullmatch(text):
        raise InvalidId("machine profile", text, "must match [A-Za-z0-9._-]{1,128}")
    return MachineProfile(text)


def worker_id(text: str) -> WorkerId:
    if not _TOKEN.fullmatch(text):
        raise InvalidId("worker id", text, "must match [A-Za-z0-9._-]{1,128}")
    return WorkerId(text)


def router_id(text: str) -> RouterId:
    if not _SUBJECT_TOKEN.fullmatch(text):
        raise InvalidId("router id", text, "must match [A-Za-z0-9_-]{1,128}")
    return RouterId(text)
