"""Compares our config service with the published sie-config 0.10.1: `ci/compat config`, or with `--quick`.

Both run as real processes and get the same requests; every difference is one of spec/differences.md, or is told in a
JSON line whose `replay` shows it again. The summary counts how often each rule was needed.
"""

import argparse
import json
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import attrs
import trio

from ci.lib.compat_config_comparing import Comparison, Disagreement
from ci.lib.compat_config_drawing import LONG_RUN, draw_all
from ci.lib.compat_config_published import published_program
from ci.lib.compat_config_rules import RULES, one_sided
from ci.lib.compat_config_services import open_pair
from ci.lib.compat_config_steps import Request, from_text, to_text
from ci.lib.compat_config_steps import Sequence as Steps

SEQUENCES = 2000
QUICK_SEQUENCES = 100
SHRUNK = 5
"""So many disagreements are made smaller; the others are often the same."""
SHOWN_CHARACTERS = 400


def main(argv: Sequence[str]) -> int:
    options = arguments_of(argv)
    alone = one_sided()
    if alone:
        print(json.dumps({"compat": "config", "rules in one place only": alone}), flush=True)
        return 1
    logging.disable(logging.CRITICAL)  # a restart is no news here
    drawn = [from_text(options.replay.read_text())] if options.replay else draw_all(options.seed, options.sequences)
    published = published_program()
    folder = Path(tempfile.mkdtemp(prefix="compat-config-"))
    tally = trio.run(run, published, tuple(drawn), folder, not options.no_shrink)
    if not tally.disagreements:
        folder.rmdir()
    print(json.dumps(tally.line()), flush=True)
    return 1 if tally.disagreements else 0


def arguments_of(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ci/compat config", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sequences", type=int, default=SEQUENCES)
    parser.add_argument("--seed", default="0")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEQUENCES} sequences")
    parser.add_argument("--no-shrink", action="store_true", help="describe disagreements as they were found")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="the one sequence of this file")
    options = parser.parse_args(argv)
    if options.quick:
        options.sequences = QUICK_SEQUENCES
    return options


@attrs.define
class Tally:
    began: float = attrs.field(factory=time.monotonic)
    sequences: int = 0
    requests: int = 0
    restarts: int = 0
    disagreements: int = 0
    used: Counter[str] = attrs.field(factory=Counter)

    def line(self) -> Mapping[str, object]:
        never = [name for name in RULES if not self.used[name]] if self.sequences >= LONG_RUN else []
        return {
            "compat": "config",
            "sequences": self.sequences,
            "requests": self.requests,
            "restarts": self.restarts,
            "disagreements": self.disagreements,
            "rules": dict(sorted(self.used.items())),
            **({"never needed": never} if never else {}),
            "seconds": round(time.monotonic() - self.began, 1),
        }


async def run(published: Path, drawn: Iterable[Steps], folder: Path, shrinks: bool) -> Tally:
    tally = Tally()
    for flavor, sequences in groupby(drawn, lambda sequence: sequence.flavor):
        await look(published, flavor, sequences, tally, folder, shrinks)
    return tally


async def look(
    published: Path, flavor: str, sequences: Iterator[Steps], tally: Tally, folder: Path, shrinks: bool
) -> None:
    """All sequences of one flavor, in one pair of services."""
    with tempfile.TemporaryDirectory() as place:
        async with open_pair(published, Path(place), flavor) as pair:
            comparison = Comparison(pair)
            for sequence in sequences:
                tally.sequences += 1
                found = await comparison.compare(sequence)
                if found is None:
                    continue
                tally.disagreements += 1
                if shrinks and tally.disagreements <= SHRUNK:
                    found = await comparison.shrink(found)
                print(json.dumps(in_words(found, folder)), flush=True)
            tally.used += comparison.used
            tally.requests += comparison.steps - comparison.restarts
            tally.restarts += comparison.restarts


def in_words(found: Disagreement, folder: Path) -> Mapping[str, object]:
    path = folder / f"{found.sequence.name}.json"
    path.write_text(to_text(found.sequence), encoding="utf-8")
    step = found.step
    return {
        "sequence": found.sequence.name,
        "step": f"{found.number}: {step.method} {step.target}" if isinstance(step, Request) else "restart",
        "body": step.body[:SHOWN_CHARACTERS] if isinstance(step, Request) else "",
        "differences": {d.place: [_short(d.ours), _short(d.theirs)] for d in found.differences},
        "replay": f"ci/compat config --replay {path}",
    }


def _short(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
