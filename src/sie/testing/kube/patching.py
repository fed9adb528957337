"""What becomes of a document under a merge patch (RFC 7396) or a JSON patch (RFC 6902)?

A strategic merge patch of a ConfigMap or a Lease is a merge patch: neither has a list that merges by key.
"""

from collections.abc import Mapping

from sie.testing.kube.resources import Document


class BadPatch(ValueError):
    """Is no patch at all: 400."""


class FailedPatch(ValueError):
    """A JSON patch that does not apply, as one whose `test` fails: 422."""


def merged(target: object, patch: object) -> object:
    if not isinstance(patch, Mapping):
        return patch
    result: Document = dict(target) if isinstance(target, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def json_patched(target: object, patch: object) -> object:
    if not isinstance(patch, list):
        raise BadPatch("a JSON patch is a list")
    for step in patch:
        if not isinstance(step, Mapping) or not isinstance(step.get("path"), str):
            raise BadPatch("each step has an op and a path")
        target = _stepped(target, str(step.get("op")), _tokens(str(step["path"])), step)
    return target


def _stepped(target: object, op: str, path: list[str], step: Mapping[str, object]) -> object:
    match op:
        case "add":
            return _written(target, path, step.get("value"), exists=False)
        case "replace":
            return _written(target, path, step.get("value"), exists=True)
        case "remove":
            return _removed(target, path)
        case "test":
            if _found(target, path) != step.get("value"):
                raise FailedPatch(f"testing value /{'/'.join(path)} failed")
            return target
        case "copy" | "move":
            source = _tokens(str(step.get("from")))
            value = _found(target, source)
            return _written(_removed(target, source) if op == "move" else target, path, value, exists=False)
        case _:
            raise BadPatch(f"unexpected kind: {op}")


def _tokens(path: str) -> list[str]:
    return [token.replace("~1", "/").replace("~0", "~") for token in path.split("/")[1:]]


def _found(target: object, path: list[str]) -> object:
    for token in path:
        if isinstance(target, Mapping) and token in target:
            target = target[token]
        elif isinstance(target, list) and token.isdigit() and int(token) < len(target):
            target = target[int(token)]
        else:
            raise FailedPatch(f"/{'/'.join(path)} does not exist")
    return target


def _written(target: object, path: list[str], value: object, *, exists: bool) -> object:
    if not path:
        return value
    if exists:
        _found(target, path)
    key, *rest = path
    if isinstance(target, Mapping):
        if rest:
            _found(target, [key])
        return {**target, key: _written(target.get(key), rest, value, exists=exists)}
    if isinstance(target, list):
        return _written_in_list(target, key, rest, value, exists=exists)
    raise FailedPatch(f"{key!r} has no parent")


def _written_in_list(target: list[object], key: str, rest: list[str], value: object, *, exists: bool) -> object:
    at = len(target) if key == "-" else int(key) if key.isdigit() else -1
    if at < 0 or at > len(target) or (at == len(target) and (rest or exists)):
        raise FailedPatch(f"{key!r} is no index")
    if rest:
        return [*target[:at], _written(target[at], rest, value, exists=exists), *target[at + 1 :]]
    return [*target[:at], value, *target[at + 1 if exists else at :]]


def _removed(target: object, path: list[str]) -> object:
    _found(target, path)
    if not path:
        raise FailedPatch("the whole document cannot be removed")
    key, *rest = path
    if isinstance(target, Mapping):
        others = {name: value for name, value in target.items() if name != key}
        return {**others, key: _removed(target[key], rest)} if rest else others
    if isinstance(target, list):
        at = int(key)
        return [*target[:at], *([_removed(target[at], rest)] if rest else []), *target[at + 1 :]]
    raise FailedPatch(f"{key!r} has no parent")
