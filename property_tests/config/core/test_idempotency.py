"""Whatever the order of claims and ends, one key is one write, and a waiter gets what the owner got."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from sie.config.core.idempotency import Evicted, Flight, Idempotency, Mismatch, Replay, Run, Wait, fingerprint

keys = st.sampled_from("abcd")
claims = st.tuples(st.just("claim"), keys, st.sampled_from([b"1", b"2"]))
ends = st.tuples(st.sampled_from(["succeed", "fail", "cancel"]), st.integers(0, 3), st.just(b""))


@given(st.lists(st.one_of(claims, claims, ends), max_size=60), st.integers(1, 3))
def test_a_success_is_never_run_again(steps: list[tuple[str, str | int, bytes]], replays: int) -> None:
    held = Idempotency[int](replays=replays)
    flying: list[tuple[str, bytes, Flight[int]]] = []
    done: dict[str, tuple[bytes, int]] = {}
    runs = Counter[str]()
    for kind, which, made_of in steps:
        if kind == "claim":
            key = str(which)
            under_way = next((flight for name, _, flight in flying if name == key), None)
            match held.claim(key, made_of):
                case Run(flight):
                    assert key not in done
                    assert under_way is None
                    runs[key] += 1
                    flying.append((key, made_of, flight))
                case Wait(flight):
                    assert flight is under_way
                case Replay(answer):
                    assert done[key] == (made_of, answer)
                case Evicted():
                    assert done[key][0] == made_of
                    assert len(done) > replays
                case Mismatch():
                    assert made_of not in {known for name, known, _ in flying if name == key} | {
                        known for name, (known, _) in done.items() if name == key
                    }
        elif flying:
            key, owned, flight = flying.pop(int(which) % len(flying))
            held.end(
                flight, None if kind == "cancel" else 7, succeeded=kind == "succeed", was_cancelled=kind == "cancel"
            )
            assert flight.ended
            if kind == "succeed":
                done[key] = (owned, 7)


def test_the_target_counts_where_it_is_not_in_the_body() -> None:
    prints = {fingerprint("POST", "", b"x"), fingerprint("PUT", "a", b"x"), fingerprint("PUT", "b", b"x")}
    assert len(prints | {fingerprint("DELETE", "a", b""), fingerprint("DELETE", "b", b"")}) == 5
