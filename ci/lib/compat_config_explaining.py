"""How is a difference told to be one that is meant? Each function here looks at one exchange, and one place in it.

What stands beside them in compat_config_rules gives them their names.
"""

import re
from collections.abc import Callable, Mapping

from ci.lib.compat_config_differing import ABSENT, Difference, Exchange, said_by
from ci.lib.compat_config_flavors import SEED_IDS
from ci.lib.compat_config_steps import Request

_VERBATIM = tuple(
    map(
        re.compile,
        (
            r"Missing required field: \w+",
            r"Field 'profiles' must be a mapping of profile_name -> profile_config",
            r"Profile '.*' (must be a mapping|missing adapter_path)",
            r"Profile name '.*' must match \[A-Za-z0-9\._-\]\+",
            r"Adapter\(s\) not in any known bundle: .*",
            r"Model '.*' does not resolve to any known bundle\.",
            r"Appending profile\(s\) \[.*\] to model '.*' does not affect any bundle\.",
            r"Field 'pool' must be a string",
            r"Field 'pool' must match \[A-Za-z0-9_-\]\{1,128\} and must not be _default",
            r"Pool on model '.*' already exists with different value\. Config API is append-only\.",
            r"Unknown field: the worker model config schema does not define it\.",
            r"Expected YAML mapping at top level",
            r"'model' field is required",
            r"Model not found: .*",
            r"Bundle '.*' does not support model '.*'\. Compatible bundles: .*",
        ),
    )
)
"""What tools match on (wire-facts 3.2 and 3.3); behind it both may go on as they like."""

Explains = Callable[[Exchange, Difference], bool]


def words(_: Exchange, difference: Difference) -> bool:
    ours, theirs = difference.ours, difference.theirs
    if not difference.place.endswith(".message") or not isinstance(ours, str) or not isinstance(theirs, str):
        return False
    known = next((found for words in _VERBATIM if (found := words.match(theirs))), None)
    return known is None or ours.startswith(known.group())


def remembers_fields(exchange: Exchange, difference: Difference) -> bool:
    """A replay that created nothing moved their fingerprint: they keep its new top-level fields in memory."""
    theirs = exchange.theirs.get("body")
    is_replay = isinstance(theirs, dict) and theirs.get("created_profiles") == [] and exchange.statuses == (200, 200)
    return is_replay and difference.place == "epoch.bundle_config_hashes_hash"


def replaces_what_was_only_remembered(exchange: Exchange, _: Difference) -> bool:
    """They kept top-level fields of an earlier replay in memory, so that the stored document counts as another."""
    ours, theirs = exchange.ours.get("body"), exchange.theirs.get("body")
    if not isinstance(ours, dict) or not isinstance(theirs, dict) or exchange.statuses != (200, 200):
        return False
    return ours.get("unchanged") is True and theirs.get("replaced") is True


def added_message(_: Exchange, difference: Difference) -> bool:
    return difference.place == "body.detail.message" and difference.theirs == ABSENT


def refuses_id(*marks: str) -> Explains:
    """We do, and the id that we name has one of the marks."""
    named = re.compile("sie_id '(.*)' must")

    def explains(exchange: Exchange, _: Difference) -> bool:
        found = named.search(str(exchange.ours.get("body")))
        return _error(exchange.ours) == "invalid_model_id" and found is not None and any(m in found[1] for m in marks)

    return explains


def answers(ours: int, theirs: int) -> Explains:
    """The whole exchange, by its statuses."""
    return lambda exchange, _: exchange.statuses == (ours, theirs)


def either(*rules: Explains) -> Explains:
    return lambda exchange, difference: any(rule(exchange, difference) for rule in rules)


def both(*rules: Explains) -> Explains:
    return lambda exchange, difference: all(rule(exchange, difference) for rule in rules)


def path(pattern: str) -> Explains:
    wanted = re.compile(pattern)

    def explains(exchange: Exchange, _: Difference) -> bool:
        step = exchange.step
        return isinstance(step, Request) and wanted.fullmatch(f"{step.method} {step.target}") is not None

    return explains


def refused_as(code: str, words: str) -> Explains:
    """By us, for that reason."""
    wanted = re.compile(words)

    def explains(exchange: Exchange, _: Difference) -> bool:
        return _error(exchange.ours) == code and wanted.search(str(exchange.ours["body"])) is not None

    return explains


def bundle_order(exchange: Exchange, difference: Difference) -> bool:
    """Of bundles of one priority."""
    if not difference.place.startswith("body.bundles."):
        return False
    return _ranked(exchange.ours) == _ranked(exchange.theirs)


def allow(_: Exchange, difference: Difference) -> bool:
    """All methods of the path are told, not those of one route."""
    return difference.place == "headers.allow" and _named(difference.theirs) < _named(difference.ours)


def _named(allow: object) -> frozenset[str]:
    return frozenset(str(allow).split(", "))


def yaml_text(exchange: Exchange, difference: Difference) -> bool:
    """Another way to write the same values."""
    said = f"{difference.place.removesuffix('text')}says"
    return difference.place.endswith(".text") and all(
        not found.place.startswith(said) for found in exchange.differences
    )


def appends_to_seed(exchange: Exchange, _: Difference) -> bool:
    step = exchange.step
    if not isinstance(step, Request) or (step.method, exchange.statuses) != ("POST", (201, 201)):
        return False
    return any(seed in step.body for seed in SEED_IDS)


def replaces_seed(exchange: Exchange, _: Difference) -> bool:
    step = exchange.step
    if not isinstance(step, Request) or (step.method, exchange.statuses) != ("PUT", (200, 200)):
        return False
    return step.target.endswith(SEED_IDS)


def production_words(_: Exchange, difference: Difference) -> bool:
    return difference.place in ("body.detail", "epoch.detail") and "in production" in str(difference.theirs)


def storeless(exchange: Exchange, difference: Difference) -> bool:
    """The source of what was written, or its whole document."""
    if difference.place.endswith(".source") and (difference.ours, difference.theirs) == ("api", "filesystem"):
        return True
    places = ("body.text", "body.says", "body.models.")
    return exchange.flavor == "storeless" and difference.place.startswith(places)


def same_places(_: Exchange, difference: Difference) -> bool:
    if difference.place != "body.detail.details":
        return False
    one, two = ({str(row.get("loc")) for row in _maps(rows)} for rows in (difference.ours, difference.theirs))
    return one == two


def of_twins(exchange: Exchange, _: Difference) -> bool:
    """Of ids that differ in case alone, the second is refused."""
    ours, theirs = exchange.statuses
    return ours == 409 and theirs in (200, 201) and "conflicting_fields" in str(exchange.ours["body"])


def _maps(rows: object) -> list[dict[str, object]]:
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def is_evicted(exchange: Exchange, _: Difference) -> bool:
    body = exchange.ours["body"]
    return isinstance(body, dict) and body.get("error") == "idempotent_replay_evicted"


def restates_seed_pool(exchange: Exchange, _: Difference) -> bool:
    is_refused = "Pool on model" in str(exchange.theirs.get("body")) and exchange.statuses[1] == 422
    return is_refused and exchange.statuses[0] != 422 and "acme/old" in ids_of(exchange.step)


def has_lost_parent(exchange: Exchange, _: Difference) -> bool:
    """A profile with an adapter of its own extends one that is not beside it, or itself by a round way."""
    profiles = _profiles_in(exchange.step)
    parents = {name: str(one["extends"]) for name, one in profiles.items() if one.get("extends")}

    def is_lost(name: str) -> bool:
        seen = {name}
        while name in parents and (name := parents[name]) not in seen:
            seen.add(name)
        return name in parents or name not in profiles

    return any(one.get("adapter_path") and is_lost(name) for name, one in profiles.items())


def has_empty_adapter(exchange: Exchange, _: Difference) -> bool:
    return any(
        str(one.get("adapter_path", "x")).partition(":")[0] == "" for one in _profiles_in(exchange.step).values()
    )


def _profiles_in(step: object) -> Mapping[str, dict[str, object]]:
    said = said_by(step.body) if isinstance(step, Request) and step.is_write else None
    profiles = said.get("profiles") if isinstance(said, dict) else None
    found = profiles.items() if isinstance(profiles, dict) else ()
    return {str(name): profile for name, profile in found if isinstance(profile, dict)}


def names_odd_bundle(exchange: Exchange, _: Difference) -> bool:
    body = said_by(body_of(exchange.step) or "")
    bundle = body.get("bundle") if isinstance(body, dict) else "none"
    return bundle == "" or not isinstance(bundle, str)


def says_bearer(exchange: Exchange, _: Difference) -> bool:
    step = exchange.step
    if not isinstance(step, Request):
        return False
    sent = step.headers.get("Authorization", "") if step.token is None else f"Bearer {step.token}"
    return sent.strip().lower() == "bearer"


def _ranked(form: Mapping[str, object]) -> list[str]:
    body = form["body"]
    rows = body.get("bundles") if isinstance(body, dict) else None
    return sorted(map(str, rows)) if isinstance(rows, list) else []


def _error(form: Mapping[str, object]) -> object:
    body = form.get("body")
    detail = body.get("detail") if isinstance(body, dict) else None
    return detail.get("error") if isinstance(detail, dict) else None


def body_of(step: object) -> str | None:
    return step.body if isinstance(step, Request) else None


def ids_of(step: object) -> str:
    return f"{step.target}\n{step.body}" if isinstance(step, Request) else ""
