"""Which model documents are sent? Good ones of every shape, and ones that are wrong in one place or in their text."""

import json
import random
from collections.abc import Callable, Mapping

import attrs
import yaml

Config = dict[str, object]

ADAPTERS = ("acme.enc.small:Small", "acme.enc.big:Big", "acme.rank.one:Rank", "acme.gen:Gen")
LOST_ADAPTERS = ("acme.nobody:N", "acme.enc.small", ":X", "acme.enc.small:Small:x", "", "acme.enc.Small:Small", " ")
PROFILES = ("default", "fast", "big", "a.b", "A_1", "é", "x y", "a:b", "..", "", "default ", "p" * 129)
POOLS = ("team-a", "Team-A", " team-a ", "default", "Default", "", None, "_default", "_DEFAULT", "a b", "p" * 129, "ä")
WRONG_IDS = (
    *("../x", "a..b", "a\\b", "acme/a__b", "status", "acme/status", "/x", "-x", ".x", "", " x", "x y", "é/x"),
    *("a" * 300, "acme/_x", "a//b", "acme/", "a\nb", "acme/a\n", "x#y", "x?y=1", "x%20y"),
)
ALIAS_IDS = ("acme/a:b", "acme/a@1", "a:b", "acme/seed:fast")
ODD_VALUES: tuple[object, ...] = (
    *(None, 0, 1, -1, 1.0, 1.5, True, False, "", "x", "1", "true"),
    *([], {}, [1], ["x"], {"a": 1}, {"a": {}}, 10**20, float("nan"), float("inf"), "ü", "0x1f", "null"),
)
_OPTIONS: tuple[object, ...] = (
    *(None, {}, {"loadtime": {}}, {"loadtime": {}, "runtime": {}}, {"loadtime": {"a": 1}}, {"runtime": {"a": 0}}),
    *({"loadtime": {"a": 1.0, "b": [1, 2], "ü": "é"}}, {"loadtime": {"a": {"b": None}}, "runtime": {"c": True}}),
    *({"runtime": {"pooling": "mean", "normalize": False}}, {"flag": 0}, {"loadtime": None}, {"runtime": []}),
    *("text", [], 0, False, {"loadtime": {"a": 1e300, "b": -0.0, "c": 10**18}}, {"loadtime": {"": ""}}),
)
_TASKS: tuple[object, ...] = (
    *({"encode": {"dense": {"dim": 8}}}, {"score": {}}, {"extract": {}}, {}, None, {"encode": None, "score": None}),
    *({"encode": {"dense": {"dim": 8}, "sparse": {"dim": 10}, "multivector": None}}, {"encode": {"dense": {}}}),
    *({"encode": {"dense": {"dim": 0}}}, {"encode": {"dense": {"dim": 8.0}}}, {"encode": {"colbert": {"dim": 8}}}),
    *({"generate": {"context_length": 8, "max_output_tokens": 4}}, {"generate": {}}, {"generate": None}),
    {"generate": {"capabilities": {"grammar": ["regex"], "streaming": True}, "prewarm_grammars": []}},
    {"generate": {"prewarm_grammars": [{"name": "n", "kind": "regex", "value": "a+"}], "chat_template_kwargs": {}}},
)
_TOP: Mapping[str, tuple[object, ...]] = {
    "hf_id": ("acme/hub", None, "", 1),
    "hf_revision": ("0123456789abcdef0123456789abcdef01234567", None, "main", 7),
    "hf_tokenizer_dependencies": ({}, {"a": "b"}, {"a": 1}, None),
    "weights_path": ("/weights", None),
    "package_backed": (True, False, None),
    "remote_backed": (False, None),
    "routing": (None, {}, {"policy": "later"}),
    "inputs": ({"text": True}, {}, {"image": True, "text": False}, None, {"smell": True}, {"text": 1}),
    "max_sequence_length": (512, None, 0, 512.0, True, "512"),
    "description": ("unknown",),
    "name": ("acme/other",),
}
_FIELDS: Mapping[str, tuple[object, ...]] = {
    "max_batch_tokens": (1, 4096, None, 0, -1, 16.0, True, 10**20),
    "compute_precision": ("float16", "bfloat16", "float32", None, "int8", "FLOAT16"),
    "adaptive_batching": (None, {}, {"enabled": True, "gain": 1, "max_wait_ms": 2.5}, {"speed": 1}, {"gain": "x"}),
    "kv_budget_tokens": (None, 1024, 0),
    "admission_enabled": (None, True, 1),
    "max_output_tokens": (None, 1, 0),
    "chat_template_kwargs": (None, {}, {"a": [1]}),
    "grammar_profile": (None, "g"),
    "unknown_field": (1,),
}
RAW = (
    *("", " ", "null", "[]", "{}", "x", "1", "true", "a: b: c", "{", "- 1", "key: [", "\t", "a:\tb", "\0", "a: \x07"),
    *("\udcff\udcfe", "sie_id: \udce9", "%YAML 1.2\n---\n{}", "--- {}\n--- {}", "!!binary aGk=", "? [1]\n: 2"),
    *("!!python/object/apply:os.getpid []", "a: !thing 1", "a: &x 1\nb: *x", "a: *x", "\ufeff{}", "#", "...", "@"),
)
_TEXTS = (
    "{head}profiles: {{default: {{adapter_path: 'acme.enc.small:Small'}}, default: {{adapter_path: 'acme.gen:G'}}}}\n",
    "{head}{head}profiles: {{default: {{adapter_path: 'acme.enc.small:Small'}}}}\n",
    "{head}profiles: {{default: &d {{adapter_path: 'acme.gen:G'}}, fast: *d}}\n",
    "{head}profiles: {{default: {{adapter_path: 'acme.gen:G'}}, 1: {{extends: default}}}}\n",
    "{head}profiles: {{default: {{adapter_path: 'acme.gen:G'}}, yes: {{extends: default}}}}\n",
    "{head}hf_revision: 2020-01-01\nprofiles: {{default: {{adapter_path: 'acme.gen:G'}}}}\n",
    "{head}max_sequence_length: 0o17\nprofiles: {{default: {{adapter_path: 'acme.gen:G'}}}}\n",
    "{head}max_sequence_length: 1_0\nprofiles: {{default: {{adapter_path: 'acme.gen:G', max_batch_tokens: 017}}}}\n",
    "{head}profiles:\n  default:\n    adapter_path: 'acme.gen:G'\n    adapter_options: {{runtime: {{a: .nan}}}}\n",
    "{head}profiles:\n  default:\n    adapter_path: 'acme.gen:G'\n    adapter_options: {{runtime: {{a: 1e3, b: 5}}}}\n",
    "{head}profiles:\n  default:\n    adapter_path: acme.gen:G\n    adapter_options: {{runtime: {{1: a, true: b}}}}\n",
    "{head}profiles:\n  default:\n    adapter_path: acme.gen:G\n    adapter_options: {{runtime: {{d: 2020-01-01}}}}\n",
    "{head}profiles:\n  default:\n    <<: {{adapter_path: 'acme.gen:G'}}\n    max_batch_tokens: 4\n",
    "# said first\n{head}profiles: {{default: {{adapter_path: 'acme.gen:G'}}}}  # said last\n",
    "{head}profiles: {{default: {{adapter_path: !!str acme.gen:G}}}}\n",
    "{head}profiles: {{default: {{adapter_path: 'acme.gen:G', adapter_options: {{runtime: {{t: |\n  a\n}}}}}}}}\n",
)


class _Plain(yaml.SafeDumper):
    """Values that stand at two places are written twice, not as an alias."""

    def ignore_aliases(self, _: object) -> bool:
        return True


@attrs.frozen
class Documents:
    """Draws documents; each call goes on in the one row of chances."""

    chance: random.Random

    def good(self, sie_id: str) -> Config:
        names = self.chance.choice(
            (("default",), ("default",), ("default", "fast"), ("big",), ("default", "a.b", "A_1"))
        )
        config: Config = {"sie_id": sie_id, "profiles": {name: self._profile(name, names) for name in names}}
        if self.chance.random() < 0.3:
            config["pool"] = self.chance.choice(("team-a", "Team-A", "default", " b "))
        if self.chance.random() < 0.5:
            config["tasks"] = self.chance.choice(_TASKS[:3])
        if self.chance.random() < 0.3:
            name = self.chance.choice(("hf_id", "hf_revision", "weights_path", "inputs", "max_sequence_length"))
            config[name] = self.chance.choice(_TOP[name][:2])
        return config

    def _profile(self, name: str, names: tuple[str, ...]) -> Config:
        profile: Config = {"adapter_path": self.chance.choice(ADAPTERS)}
        if name != names[0] and self.chance.random() < 0.6:
            profile = {"extends": names[0]}
        if self.chance.random() < 0.4:
            profile["max_batch_tokens"] = self.chance.choice((1, 4096))
        if self.chance.random() < 0.3:
            profile["compute_precision"] = self.chance.choice(("float16", "float32"))
        if self.chance.random() < 0.4:
            profile["adapter_options"] = self.chance.choice(_OPTIONS[1:9])
        return profile

    def varied(self, config: Config) -> Config:
        """The same with one thing more, less or other: an append, a replay, a conflict, a mistake."""
        copy: Config = json.loads(json.dumps(config))
        vary: Callable[[Config], None] = self.chance.choice(
            (
                *(self._add_profile, self._add_profile, self._vary_profile, self._vary_profile, self._vary_top),
                *(self._vary_pool, self._odd_place, self._extend, self._drop, self._vary_adapter, self._name_profile),
            )
        )
        vary(copy)
        return copy

    def _add_profile(self, config: Config) -> None:
        name = self.chance.choice(PROFILES[:5])
        profiles = _profiles(config)
        profiles[name] = self.chance.choice(({"extends": "default"}, {"adapter_path": self.chance.choice(ADAPTERS)}))

    def _name_profile(self, config: Config) -> None:
        _profiles(config)[self.chance.choice(PROFILES)] = {"adapter_path": self.chance.choice(ADAPTERS)}

    def _vary_profile(self, config: Config) -> None:
        profile = self._some_profile(config)
        name = self.chance.choice((*_FIELDS, "adapter_options", "adapter_options", "adapter_options"))
        profile[name] = self.chance.choice(_FIELDS.get(name, _OPTIONS))

    def _vary_adapter(self, config: Config) -> None:
        self._some_profile(config)["adapter_path"] = self.chance.choice((*LOST_ADAPTERS, *ADAPTERS, None))

    def _extend(self, config: Config) -> None:
        """Dangling, round, chained, or well."""
        profile = self._some_profile(config)
        profile["extends"] = self.chance.choice(("default", "fast", "nowhere", "", None, "x y", 1))
        if self.chance.random() < 0.5:
            profile.pop("adapter_path", None)

    def _vary_top(self, config: Config) -> None:
        name = self.chance.choice((*_TOP, "tasks", "tasks"))
        config[name] = self.chance.choice(_TOP.get(name, _TASKS))

    def _vary_pool(self, config: Config) -> None:
        config["pool"] = self.chance.choice(POOLS)

    def _drop(self, config: Config) -> None:
        """A key less, and perhaps all in another order."""
        target = self.chance.choice((config, config, self._some_profile(config)))
        if target:
            del target[self.chance.choice(list(target))]

    def _odd_place(self, config: Config) -> None:
        """A value of another kind somewhere."""
        target: Config = config
        while True:
            key = self.chance.choice(list(target) or ["new"])
            inner = target.get(key)
            if not isinstance(inner, dict) or self.chance.random() < 0.3:
                target[key] = self.chance.choice(ODD_VALUES)
                return
            target = inner

    def _some_profile(self, config: Config) -> Config:
        found = [profile for profile in _profiles(config).values() if isinstance(profile, dict)]
        return self.chance.choice(found) if found else {}

    def text(self, config: Config) -> str:
        """In one of the ways to write it down."""
        if self.chance.random() < 0.2:
            config = dict(self.chance.sample(list(config.items()), len(config)))
        match self.chance.randrange(4):
            case 0:
                return json.dumps(config, ensure_ascii=self.chance.random() < 0.5)
            case 1:
                return yaml.dump(config, Dumper=_Plain, default_flow_style=True, allow_unicode=True, sort_keys=False)
            case _:
                return yaml.dump(config, Dumper=_Plain, allow_unicode=True, sort_keys=False)

    def written_by_hand(self, sie_id: str) -> str:
        return self.chance.choice(_TEXTS).format(head=f"sie_id: {sie_id}\n")


def _profiles(config: Config) -> Config:
    found = config.get("profiles")
    return found if isinstance(found, dict) else {}
