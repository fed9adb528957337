"""What is told of a write: its bundles' deltas, and the warnings where that failed (§3, wire-facts 3.9)."""

from collections.abc import Iterator

from sie.config.core.write import WritePlan, pool_of
from sie.wire.notification import ConfigNotification


def notifications(plan: WritePlan, *, epoch: int, producer: str) -> Iterator[ConfigNotification]:
    """One for each affected bundle, alphabetically. A removal is told by an epoch without a document: whoever hears it
    asks for the export, so that gateways and workers leave the model together and not each at its own next poll.
    """
    snapshot = plan.catalog.snapshot
    pools = {str(b): {str(pool): h for pool, h in snapshot.pool_hashes.get(b, {}).items()} for b in plan.affected}
    adapters = {str(b): snapshot.bundles[b].adapters for b in plan.affected}
    for bundle in plan.affected:
        yield ConfigNotification(
            router_id=producer,
            bundle_id=bundle,
            epoch=epoch,
            bundle_config_hash=snapshot.hashes.get(bundle) or "",
            model_id=plan.change.model_id,
            profiles_added=plan.created,
            model_config=plan.change.text or "",
            affected_bundles=plan.affected,
            pool=pool_of(plan),
            bundle_pool_config_hashes=pools,
            bundle_adapters=adapters,
        )


def warnings(failed: tuple[str, ...], *, confirmed: bool) -> tuple[str, ...]:
    """Empty when all was told. The write stands all the same: the epoch poll closes the gap."""
    if not confirmed:
        return ("nats_publish_failed: stored, but the broker may not have had the news; the next epoch poll brings it",)
    if failed:
        words = f"nats_publish_partial: stored, but not told to bundle(s) {list(failed)}; their workers stay behind"
        return (f"{words} until the next epoch poll",)
    return ()
