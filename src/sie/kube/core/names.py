"""What are a pool's objects called in Kubernetes, and which pool does an object belong to (§16.3, wire-facts 4.4)?

Object names may hold `a-z 0-9 - .`, begin and end with a letter or digit around each dot, and have 253 characters; a
pool's name may hold `_`, end with `-`, and has no dot. So a dot marks what had to be changed: `0.u` is `_`, `0.d` is a
last `-`. Where that grows too long, all of the name stands as base32 behind `b.`. A label's value has 63 characters: it
is the name where it may be, else a digest of it, and the object's own data says which pool it is.
"""

import base64
import binascii
import hashlib
import re
from collections.abc import Mapping

from sie.domain.ids import InvalidId, PoolName, pool_name

CONFIG_MAP_PREFIX = "sie-pool-"
LEASE_PREFIX = "sie-pool-lease-"
POOL_KEY = "pool.json"
"""Under which a pool's ConfigMap holds its document."""
MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "sie-gateway"
POOL_LABEL = "sie-gateway/pool"
POOL_SELECTOR = f"{MANAGED_BY}={MANAGER}"
"""Selects the objects of every pool."""

MAX_ENCODED = 253 - len(LEASE_PREFIX)
_UNDERSCORE, _LAST_DASH, _BASE32 = "0.u", "0.d", "b."
_LABEL = re.compile(r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?")


def config_map_name(pool: PoolName) -> str:
    return f"{CONFIG_MAP_PREFIX}{encode_pool(pool)}"


def lease_name(pool: PoolName) -> str:
    return f"{LEASE_PREFIX}{encode_pool(pool)}"


def pool_of_config_map(name: str) -> PoolName | None:
    """None for the name of anything else. `lease-x` is a pool's name too: the kind of the object tells them apart."""
    return decode_pool(name.removeprefix(CONFIG_MAP_PREFIX)) if name.startswith(CONFIG_MAP_PREFIX) else None


def pool_of_lease(name: str) -> PoolName | None:
    return decode_pool(name.removeprefix(LEASE_PREFIX)) if name.startswith(LEASE_PREFIX) else None


def pool_labels(pool: PoolName) -> Mapping[str, str]:
    return {MANAGED_BY: MANAGER, POOL_LABEL: pool_label(pool)}


def pool_label(pool: PoolName) -> str:
    """No pool's name has a dot, so none looks like another's digest."""
    if _LABEL.fullmatch(pool):
        return pool
    return f"sha256.{hashlib.sha256(pool.encode()).hexdigest()[:48]}"


def encode_pool(pool: PoolName) -> str:
    text = pool.replace("_", _UNDERSCORE)
    if text.endswith("-"):
        text = f"{text[:-1]}{_LAST_DASH}"
    return text if len(text) <= MAX_ENCODED else f"{_BASE32}{_base32(pool)}"


def decode_pool(encoded: str) -> PoolName | None:
    """None for what `encode_pool` never makes."""
    try:
        pool = pool_name(_decoded(encoded))
    except (InvalidId, binascii.Error, UnicodeDecodeError):
        return None
    return pool if encode_pool(pool) == encoded else None


def _decoded(encoded: str) -> str:
    if not encoded.startswith(_BASE32):
        return encoded.replace(_UNDERSCORE, "_").replace(_LAST_DASH, "-")
    digits = encoded.removeprefix(_BASE32).upper()
    return base64.b32decode(digits + "=" * (-len(digits) % 8)).decode("ascii")


def _base32(text: str) -> str:
    return base64.b32encode(text.encode("ascii")).decode("ascii").rstrip("=").lower()
