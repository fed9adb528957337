"""The authority as a script, on the config service's own catalogue: it can roll back, hide hashes, or not answer."""

import json

import attrs

from sie.authority.client import AuthorityError
from sie.config.core.catalog import Catalog, Document, build_catalog
from sie.config.core.export import epoch_reply, export_chunks
from sie.domain.bundle import Bundle
from sie.domain.hash_form import HashForm
from sie.domain.registry import RegistrySnapshot
from sie.gateway.core.replica import Replica
from sie.gateway.sync.bootstrap import Syncing
from sie.testing.cluster.machine import work_in_place
from sie.wire.configs_api import EpochReply, ExportReply, read_export
from sie.wire.notification import ConfigNotification, encode_notification

ALPHA = Document("alpha.yaml", "{name: alpha, priority: 10, adapters: [acme.a]}")
BETA = Document("beta.yaml", "{name: beta, priority: 20, adapters: [acme.b]}")


def text(name: str, tokens: int = 8, *, pool: str = "default", more: str = "") -> str:
    profile = f"{{adapter_path: 'acme.a:C', max_batch_tokens: {tokens}}}"
    return f"{{sie_id: {name}, pool: {pool}, profiles: {{default: {profile}{more}}}}}"


@attrs.define
class ScriptedAuthority:
    """`calls` are those made so far; the next `failures` of them fail. `bad_rows` cannot be read by anybody."""

    epoch: int = 0
    texts: dict[str, str] = attrs.field(factory=dict)
    bundles: list[Document] = attrs.field(factory=lambda: [ALPHA])
    calls: list[str] = attrs.field(factory=list)
    failures: int = 0
    fails_on: str = ""
    bad_rows: tuple[str, ...] = ()
    hashes_known: bool = True

    @property
    def catalog(self) -> Catalog:
        return build_catalog(self.bundles, [], [Document(name, body) for name, body in self.texts.items()])

    @property
    def snapshot(self) -> RegistrySnapshot:
        return self.catalog.snapshot

    def write(self, name: str, body: str) -> bytes:
        """A write, and the delta that tells of it."""
        self.epoch += 1
        self.texts[name] = body
        return self.delta(name)

    def delta(self, name: str, *, producer: str = "sie-config-0", **other: object) -> bytes:
        hashes = {str(bundle): value for bundle, value in self.snapshot.hashes.items()}
        told = ConfigNotification(
            router_id=producer,
            bundle_id="alpha",
            epoch=self.epoch,
            bundle_config_hash=hashes["alpha"] or "",
            model_id=name,
            model_config=self.texts[name],
        )
        return encode_notification(attrs.evolve(told, **other))  # type: ignore[arg-type]  # each test names its own

    async def read_epoch(self) -> EpochReply:
        self._call("epoch")
        return epoch_reply(self.epoch, self.snapshot if self.hashes_known else RegistrySnapshot.empty())

    async def read_bundles(self) -> tuple[Bundle, ...]:
        self._call("bundles")
        return tuple(self.snapshot.bundles.values())

    async def read_export(self) -> ExportReply:
        self._call("export")
        whole = json.loads(b"".join(export_chunks(self.epoch, self.catalog, generated_at="now")))
        for row in whole["models"]:
            if row["model_id"] in self.bad_rows:
                row["model_config"] = {"sie_id": row["model_id"], "profiles": 3}
        return read_export(whole)

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.failures or name == self.fails_on:
            self.failures = max(0, self.failures - 1)
            raise AuthorityError(f"{name}: not there")


def make_syncing() -> Syncing:
    return Syncing(Replica(), work_in_place, work_in_place, HashForm.REFERENCE)
