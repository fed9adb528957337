"""Which differences are meant? Each rule here is a section of spec/differences.md, which gives its reason.

A rule explains single places of single exchanges. One that `parts` leaves the two services in different states, so the
sequence ends with it.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from ci.lib.compat_config_differing import ABSENT, Difference, Exchange
from ci.lib.compat_config_explaining import (
    Explains,
    added_message,
    allow,
    answers,
    appends_to_seed,
    body_of,
    both,
    bundle_order,
    either,
    has_empty_adapter,
    has_lost_parent,
    ids_of,
    is_evicted,
    names_odd_bundle,
    of_twins,
    path,
    production_words,
    refused_as,
    refuses_id,
    remembers_fields,
    replaces_seed,
    replaces_what_was_only_remembered,
    restates_seed_pool,
    same_places,
    says_bearer,
    storeless,
    words,
    yaml_text,
)
from ci.lib.compat_config_steps import MODELS
from ci.lib.environment import ROOT

DOCUMENT: Path = ROOT / "spec" / "differences.md"
_HEADING = re.compile(r"^## `([a-z0-9-]+)`", re.MULTILINE)


@attrs.frozen
class Rule:
    """`unseen`: it parts the services even where nothing was seen to differ."""

    explains: Explains
    parts: bool = False
    unseen: bool = False


_resolves = path("POST /v1/configs/resolve")

RULES: Mapping[str, Rule] = {
    "words": Rule(lambda e, d: words(e, d) or production_words(e, d)),
    "added-message": Rule(added_message),
    "alias-ids": Rule(refuses_id(":", "@"), parts=True),
    "double-underscore": Rule(refuses_id("__", "/_"), parts=True),
    "bundle-order": Rule(bundle_order),
    "allow": Rule(allow),
    "double-slash": Rule(both(path(r"\S+ \S*//\S*"), lambda e, _: e.statuses[0] == 404)),
    "status-path": Rule(both(path(rf"(GET|HEAD) {MODELS}/.*/status"), answers(404, 400))),
    "removal-told": Rule(both(path("DELETE .*"), lambda _, d: d.place.startswith("heard"))),
    "fields-alone": Rule(
        either(both(path("PUT .*"), replaces_what_was_only_remembered), both(path("POST .*"), remembers_fields)),
        parts=True,
    ),
    "head": Rule(both(path("HEAD .*"), lambda e, _: e.statuses[1] == 405)),
    "yaml-text": Rule(yaml_text),
    "append-to-seed": Rule(appends_to_seed, parts=True, unseen=True),
    "replace-seed": Rule(replaces_seed, parts=True, unseen=True),
    "delete-seed": Rule(both(path("DELETE .*"), answers(200, 500)), parts=True),
    "trailing-slash": Rule(path(r"\S+ \S+/")),
    "resolve-kinds": Rule(both(_resolves, lambda e, _: e.statuses == (400, 500) or body_of(e.step) == "")),
    "resolve-bundle": Rule(both(_resolves, answers(200, 409), names_odd_bundle)),
    "default-profile": Rule(both(lambda e, _: e.statuses[1] == 404, lambda e, _: ":default" in ids_of(e.step).lower())),
    "lost-variants": Rule(both(path(rf"GET {MODELS}/.*:.*"), answers(404, 200))),
    "replay-evicted": Rule(is_evicted),
    "duplicate-keys": Rule(refused_as("parse_error", "stands twice"), parts=True),
    "json-values": Rule(
        refused_as(
            "parse_error",
            "no JSON|must be a string|64 bits|surrogates|more than one|the tag .* is not taken|nested more",
        ),
        parts=True,
    ),
    "not-utf-8": Rule(refused_as("parse_error", "not UTF-8")),
    "yaml-aliases": Rule(refused_as("parse_error", "anchors are not|aliases are not|merge key"), parts=True),
    "challenge": Rule(lambda _, d: (d.place, d.theirs) == ("headers.www-authenticate", ABSENT)),
    "bare-bearer": Rule(both(answers(401, 403), says_bearer)),
    "unknown-methods": Rule(both(path(r"(?!GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS|TRACE).* .*"), answers(405, 400))),
    "long-ids": Rule(refused_as("store_unavailable", "a{200,}"), parts=True),
    "profile-length": Rule(refused_as("validation_error", "Profile name '.{129,}'"), parts=True),
    "parent-names": Rule(refused_as("validation_error", r"extends: profile '.*' must match"), parts=True),
    "positive-numbers": Rule(refused_as("validation_error", "must be at least 1"), parts=True),
    "storeless": Rule(storeless),
    "whole-numbers": Rule(refused_as("validation_error", "must be an integer, not a number"), parts=True),
    "line-ends": Rule(both(path(r"\S+ \S+%0A"), lambda e, _: e.statuses[0] in (400, 404, 405)), parts=True),
    "empty-adapter": Rule(has_empty_adapter, parts=True),
    "routing": Rule(lambda e, _: e.statuses[1] == 422 and "routing" in str(e.theirs.get("body")), parts=True),
    "tabs": Rule(both(answers(422, 400), lambda e, _: "\t" in ids_of(e.step))),
    "case-twins": Rule(of_twins, parts=True),
    "schema-details": Rule(same_places),
    "seed-pool": Rule(restates_seed_pool, parts=True),
    "dangling-parent": Rule(has_lost_parent, parts=True),
}


def rule_of(exchange: Exchange, difference: Difference) -> str | None:
    return next((name for name, rule in RULES.items() if rule.explains(exchange, difference)), None)


def is_parting(exchange: Exchange, names: Iterable[str]) -> bool:
    """Are the services in different states after it, by the rules that were needed or by one that is never seen?"""
    unseen = (rule.explains(exchange, Difference("", None, None)) for rule in RULES.values() if rule.unseen)
    return any(RULES[name].parts for name in names) or any(unseen)


def one_sided() -> tuple[str, ...]:
    """Rules that stand in the code or in the document, but not in both."""
    return tuple(sorted(frozenset(_HEADING.findall(DOCUMENT.read_text(encoding="utf-8"))) ^ RULES.keys()))
