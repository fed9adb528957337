"""What a model is really given for a text: itself, or a profile's template around it (wire-facts 3.6)."""

import re
from collections.abc import Mapping

import attrs

from sie.adapters.api import EncodeInput
from sie.adapters.tasks.options import refused

_FIELD = re.compile(r"\{(text|instruction)\}")


@attrs.frozen
class Prompts:
    """A template has `{text}`, and perhaps `{instruction}`, in it. `instruction` is for requests that give none."""

    query: str | None = None
    document: str | None = None
    instruction: str | None = None

    def of(self, one: EncodeInput) -> str:
        return self.prompt(one.text, instruction=one.instruction, is_query=one.is_query)

    def prompt(self, text: str, *, instruction: str | None, is_query: bool) -> str:
        """An instruction that no template has a place for comes before the text as it is."""
        template = self.query if is_query else self.document
        if template is None or "{instruction}" not in template:
            text = (instruction or "") + text
        fields = {"text": text, "instruction": instruction or self.instruction or ""}
        return text if template is None else _FIELD.sub(lambda found: fields[found[1]], template)


def parse_prompts(runtime: Mapping[str, object]) -> Prompts:
    """Raises LoadFailed(CONFIG)."""
    query, document = (_template(runtime, name) for name in ("query_template", "doc_template"))
    return Prompts(query, document, _text(runtime, "instruction"))


def _template(runtime: Mapping[str, object], name: str) -> str | None:
    template = _text(runtime, name)
    if template is not None and template.count("{text}") != 1:
        raise refused(f"runtime.{name} must have {{text}} in it once, and is {template!r}")
    return template


def _text(runtime: Mapping[str, object], name: str) -> str | None:
    value = runtime.get(name)
    if value is not None and not isinstance(value, str):
        raise refused(f"runtime.{name} must be a string, not {value!r}")
    return value
