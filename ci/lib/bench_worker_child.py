"""The backend child of `ci/bench worker`: says what is made beforehand, after the time that it is told to take.

Run as `python -m ci.lib.bench_worker_child --socket PATH --load-s S --batch-s S`, or with `--echo BYTES`: then it
says its number, answers so many bytes, whatever they are, with the answer of a batch, and is no backend.
"""

import argparse
import os
from functools import partial

import trio

from ci.lib.bench_dispatch_facts import answer_blob
from ci.lib.bench_worker_facts import encode_items
from sie.wire.ipc import READ_BYTES, Answer, EncodeBatch, Finished, FrameReader, Hello, ItemOutcome, LoadModel, frame


async def serve(stream: trio.abc.Stream, load_s: float, batch_s: float) -> None:
    reader, outcome = FrameReader(), ItemOutcome(result_msgpack=answer_blob(), input_tokens=12)
    await stream.send_all(frame(Hello(device="cpu", pid=os.getpid())))
    while data := await stream.receive_some(READ_BYTES):
        for request in reader.receive(bytes(data)):
            seconds = {LoadModel: load_s, EncodeBatch: batch_s}.get(type(request), 0.0)
            if seconds:
                await trio.sleep(seconds)
            await stream.send_all(frame(answer_to(request, outcome)))


def answer_to(request: object, outcome: ItemOutcome) -> Answer:
    assert isinstance(request, LoadModel | EncodeBatch)
    if isinstance(request, LoadModel):
        return Finished(id=request.id)
    return Finished(id=request.id, outcomes=(outcome,) * len(request.items), tokenization_ms=0.1, inference_ms=1.0)


def batch_answer() -> bytes:
    """Its frame."""
    batch = EncodeBatch(id=1, serving_id="", items=encode_items())
    return frame(answer_to(batch, ItemOutcome(result_msgpack=answer_blob(), input_tokens=12)))


async def echo(stream: trio.abc.Stream, asked: int) -> None:
    answer, got = batch_answer(), 0
    await stream.send_all(str(os.getpid()).encode())
    while data := await stream.receive_some():
        got += len(data)
        if got == asked:
            got = 0
            await stream.send_all(answer)


async def run(options: argparse.Namespace) -> None:
    async with await trio.open_unix_socket(options.socket) as stream:
        talk = partial(echo, stream, options.echo) if options.echo else None
        await (talk or partial(serve, stream, options.load_s, options.batch_s))()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", required=True)
    parser.add_argument("--load-s", type=float, default=0.0)
    parser.add_argument("--batch-s", type=float, default=0.0)
    parser.add_argument("--echo", type=int)
    trio.run(run, parser.parse_args())
