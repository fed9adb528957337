"""What became of all requests of one run: counted as they end, and whether that is good enough. Pure."""

from collections import Counter
from collections.abc import Mapping

import attrs

from ci.lib.processes_asking import Ask
from ci.lib.processes_judging import Judged, Verdict, quantile, share

LEFT = Judged("left", "left")
TOLD_AT_MOST = 20


class AnsweredTwice(Exception):
    """A request was counted a second time: the program itself is wrong then."""


@attrs.define(eq=False)
class Tally:
    """`verdicts` by number of the request; `again` what made clients ask again. `ids` are the gateway's names of
    answers: each is new; `served` counts answers by worker. `dropped` counts connections that were lost though the
    gateway lived.
    """

    verdicts: dict[int, Verdict] = attrs.field(factory=dict)
    by_kind: Counter[str] = attrs.field(factory=Counter)
    said: Counter[str] = attrs.field(factory=Counter)
    again: Counter[str] = attrs.field(factory=Counter)
    asked_again: int = 0
    waits_s: list[float] = attrs.field(factory=list)
    ids: set[str] = attrs.field(factory=set)
    ids_twice: int = 0
    strays: int = 0
    dropped: int = 0
    served: Counter[str] = attrs.field(factory=Counter)
    texts: int = 0
    short: list[Mapping[str, object]] = attrs.field(factory=list)

    def answered(self, request_id: str | None, *, by: str | None = None) -> None:
        """`by` the worker that the answer names."""
        if by is not None:
            self.served[by] += 1
        if request_id is not None:
            self.ids_twice += request_id in self.ids
            self.ids.add(request_id)

    def ended(self, ask: Ask, judged: Judged, again: Counter[str], wait_s: float) -> None:
        if ask.number in self.verdicts:
            raise AnsweredTwice(f"request {ask.number}")
        self.verdicts[ask.number] = judged.verdict
        self.by_kind[f"{ask.kind}: {judged.verdict}"] += 1
        self.said[judged.said] += 1
        self.again += again
        self.asked_again += bool(again)
        self.waits_s.append(wait_s)
        self.texts += len(ask.texts) if judged.said == "200" else 0
        if judged.verdict in ("wrong", "refused"):
            row = {"request": ask.number, "kind": ask.kind, "verdict": judged.verdict, "said": judged.said}
            self.short.append({**row, "again": dict(again), "wait_s": round(wait_s, 2)})

    def count(self, verdict: Verdict) -> int:
        return sum(found == verdict for found in self.verdicts.values())

    def holds(self, requests: int, *, may_refuse: bool) -> bool:
        """Each request has one end, and a right one; one that may be asked again is good enough where work is kept in
        memory.
        """
        allowed = {"right", "left", "refused"} if may_refuse else {"right", "left"}
        is_once = len(self.verdicts) == requests and not self.ids_twice and not self.strays
        return is_once and allowed.issuperset(self.verdicts.values())

    def figures(self, seconds: float) -> Mapping[str, object]:
        done = len(self.verdicts)
        return {
            "done": done,
            "right": self.count("right"),
            "left": self.count("left"),
            "refused": self.count("refused"),
            "wrong": self.count("wrong"),
            "asked_again": self.asked_again,
            "requests_per_s": round(done / seconds, 1) if seconds else None,
        }

    def summary(self, requests: int, seconds: float) -> Mapping[str, object]:
        return {
            **self.figures(seconds),
            "texts_per_s": round(self.texts / seconds, 1) if seconds else None,
            "not_ended": requests - len(self.verdicts),
            "answered_twice": self.ids_twice + self.strays,
            "dropped_by_a_living_gateway": self.dropped,
            "refused_rate": share(self.count("refused"), requests),
            "asked_again_rate": share(self.asked_again, requests),
            "asked_again_after": dict(self.again.most_common()),
            "ended_with": dict(self.said.most_common()),
            "by_kind": dict(sorted(self.by_kind.items())),
            "wait_s": {
                "median": quantile(self.waits_s, 0.5),
                "p99": quantile(self.waits_s, 0.99),
                "longest": quantile(self.waits_s, 1.0),
            },
            "short": self.short[:TOLD_AT_MOST],
        }
