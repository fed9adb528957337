"""The whole road on real text: `ci/demo` brings the system up, embeds a thousand passages over HTTP, asks three
questions of them, checks the answers, and stops. `ci/demo --keep` leaves the system up until Ctrl-C.

The text is the documentation of Python's own library, so it is on any machine.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from ci.lib.corpus import CorpusTooSmall, Passage, read_corpus
from ci.lib.demo_client import Embedder, Refused, Vectors
from ci.lib.demo_model import cache_folder, fetch_checkpoint, token_counter
from ci.lib.demo_questions import QUESTIONS, Question, best
from ci.lib.demo_system import NotReady, System, running_system
from sie.adapters.api import LoadFailed, Progress, Report
from sie.cli.settings import DEFAULT_MODEL

BAR_WIDTH = 40
LINES_INSTEAD_OF_A_BAR = 10


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="ci/demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave the system up until Ctrl-C, on port 8080")
    options = parser.parse_args(argv)
    try:
        return run(keep=options.keep)
    except (CorpusTooSmall, LoadFailed, NotReady, Refused) as error:
        print(f"ci/demo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def run(*, keep: bool) -> int:
    say("weights: looking for them on this machine")
    checkpoint = fetch_checkpoint(told_downloads())
    passages = read_corpus(token_counter(checkpoint))
    say(f"corpus: {len(passages)} passages of Python's documentation")
    with tempfile.TemporaryDirectory(prefix="sie-demo-") as state:
        port = "8080" if keep else "0"
        with running_system(["--port", port, "--state-dir", state, "--cache-dir", str(cache_folder())]) as system:
            say(f"sie up: ready in {system.seconds:.1f} s at {system.gateway}")
            right = ask(Embedder(system.gateway, DEFAULT_MODEL), passages)
            if keep:
                with suppress(KeyboardInterrupt):
                    stay(system)
    say("stopped")
    return 0 if right else 1


def ask(embedder: Embedder, passages: Sequence[Passage]) -> bool:
    """Embed everything, print the answers, and return whether each is the expected one."""
    started = time.monotonic()
    vectors = embedder.embed_all([passage.text for passage in passages], progress(len(passages)))
    took_s = time.monotonic() - started
    say(f"embedded {len(passages)} texts in {took_s:.1f} s: {len(passages) / took_s:.0f} texts/s")
    asked = embedder.embed([question.text for question in QUESTIONS])
    right = [answer(question, vector, vectors, passages) for question, vector in zip(QUESTIONS, asked, strict=True)]
    return all(right)


def answer(question: Question, vector: Vectors, vectors: Vectors, passages: Sequence[Passage]) -> bool:
    hits = best(vector, vectors, passages)
    right = hits[0].passage.name == question.expected
    print(f"\n{question.text}")
    for hit in hits:
        print(f"  {hit.similarity:.3f}  {hit.passage.text}")
    print(f"  {'right' if right else 'WRONG'}: {question.expected} was to come first", flush=True)
    return right


def progress(total: int) -> Callable[[int], None]:
    """A bar on a terminal, a few lines elsewhere."""
    told = 0

    def bar(done: int) -> None:
        filled = BAR_WIDTH * done // total
        print(
            f"\r[{'#' * filled}{'.' * (BAR_WIDTH - filled)}] {done}/{total}",
            end="\n" if done == total else "",
            flush=True,
        )

    def lines(done: int) -> None:
        nonlocal told
        if done * LINES_INSTEAD_OF_A_BAR // total > told:
            told = done * LINES_INSTEAD_OF_A_BAR // total
            say(f"embedded {done}/{total}")

    return bar if sys.stdout.isatty() else lines


def stay(system: System) -> None:
    say(
        f"\nThe system stays up at {system.gateway}; its logs are in {system.logs}. Try it from another terminal:\n"
        f"  curl -s {system.gateway}/v1/encode/{DEFAULT_MODEL} -H 'Content-Type: application/json' "
        """-d '{"items": [{"text": "What is a passage?"}]}'\n"""
        f"  curl -s {system.gateway}/health\n"
        f"Ctrl-C, or `kill {system.process.pid}`, stops it."
    )
    system.process.wait()


def told_downloads() -> Report:
    """A line for each new amount, in MiB."""
    last = ""

    def tell(progress: Progress) -> None:
        nonlocal last
        amount = f" {progress.done >> 20} of {progress.total >> 20} MiB" if progress.total else ""
        line = f"weights: {progress.phase}{amount}"
        if progress.phase == "downloading" and line != last:
            last = line
            say(line)

    return tell


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
