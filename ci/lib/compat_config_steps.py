"""What is sent to both config services, in order? A sequence of requests and restarts, with its form in a file.

Every sequence starts from the seeds alone. Bodies are text with surrogate escapes, so that any bytes can be told in
JSON.
"""

import json
from collections.abc import Mapping

import attrs
import cattrs

MODELS = "/v1/configs/models"


@attrs.frozen
class Request:
    """`target` is sent as it is. `pad_to` lengthens the body by a YAML comment, up to that many bytes."""

    method: str
    target: str
    body: str = ""
    token: str | None = "adm"
    headers: Mapping[str, str] = attrs.field(factory=dict)
    pad_to: int = 0

    @property
    def content(self) -> bytes:
        content = self.body.encode("utf-8", "surrogateescape")
        return content + b"#" * max(self.pad_to - len(content), 0)

    @property
    def is_write(self) -> bool:
        return self.method in ("POST", "PUT", "DELETE") and self.target.startswith(MODELS)


@attrs.frozen
class Restart:
    """Both services stop and start over the same stores."""


Step = Request | Restart


@attrs.frozen
class Sequence:
    """`flavor` names how the services are set up: see compat_config_flavors."""

    name: str
    flavor: str
    steps: tuple[Step, ...]

    def without(self, number: int) -> "Sequence":
        return attrs.evolve(self, steps=self.steps[:number] + self.steps[number + 1 :])


def to_text(sequence: Sequence) -> str:
    steps = [attrs.asdict(step) if isinstance(step, Request) else {"restart": True} for step in sequence.steps]
    return json.dumps({"name": sequence.name, "flavor": sequence.flavor, "steps": steps}, indent=1)


def from_text(text: str) -> Sequence:
    told = json.loads(text)
    steps = tuple(Restart() if "restart" in step else cattrs.structure(step, Request) for step in told["steps"])
    return Sequence(told["name"], told["flavor"], steps)
