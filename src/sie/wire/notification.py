"""The delta that follows a configuration write (wire-facts 3.9): what it says, as JSON bytes and back.

One body goes to the bundle's own subject and, byte for byte, to the one that gateways follow (§3).
"""

import json
from collections.abc import Mapping

import attrs

from sie.wire.converters import TOLERANT, WireError, structure


@attrs.frozen(kw_only=True)
class ConfigNotification:
    """`model_config` is the merged document's YAML text. `router_id` is the producer; `producer_id` its other name.

    The hashes are those after the write: of this bundle, and by pool of the bundles that the model touches.
    """

    router_id: str = ""
    bundle_id: str
    epoch: int
    bundle_config_hash: str = ""
    model_id: str
    profiles_added: tuple[str, ...] = ()
    model_config: str = ""
    affected_bundles: tuple[str, ...] = ()
    pool: str = "default"
    bundle_pool_config_hashes: Mapping[str, Mapping[str, str]] = attrs.field(factory=dict)
    bundle_adapters: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict)
    producer_id: str = ""

    @property
    def producer(self) -> str:
        return self.producer_id or self.router_id


def encode_notification(notification: ConfigNotification) -> bytes:
    body = TOLERANT.unstructure(notification)
    if not notification.producer_id:
        del body["producer_id"]  # a reader's courtesy to other producers; ours have one name
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def decode_notification(data: bytes) -> ConfigNotification:
    """Raises WireError."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise WireError.at(message=f"not a JSON document: {error}") from error
    return structure(TOLERANT, value, ConfigNotification)
