"""A client of the gateway in the standard library: texts in, one matrix of vectors out, a few requests at a time."""

import http.client
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from urllib.parse import urlsplit

import attrs
import numpy as np
from numpy.typing import NDArray

TEXTS_A_REQUEST = 16
REQUESTS_AT_ONCE = 4
ANSWER_WITHIN_S = 150.0

Vectors = NDArray[np.float32]


class Refused(Exception):
    """The gateway answered something else than vectors."""


@attrs.frozen
class Embedder:
    gateway: str
    model: str

    def embed(self, texts: Sequence[str]) -> Vectors:
        """`[texts, dims]`. Raises Refused."""
        body = json.dumps({"items": [{"text": text} for text in texts]})
        place = urlsplit(self.gateway)
        connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=ANSWER_WITHIN_S)
        with closing(connection):
            connection.request("POST", f"/v1/encode/{self.model}", body, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            answer = reply.read()
        if reply.status != http.client.OK:
            raise Refused(f"{reply.status} {answer.decode(errors='replace')}")
        return np.array([item["dense"]["values"] for item in json.loads(answer)["items"]], np.float32)

    def embed_all(self, texts: Sequence[str], on_progress: Callable[[int], None]) -> Vectors:
        """In the order of the texts. `on_progress` is told how many are done."""
        batches = [texts[at : at + TEXTS_A_REQUEST] for at in range(0, len(texts), TEXTS_A_REQUEST)]
        done = 0
        with ThreadPoolExecutor(REQUESTS_AT_ONCE) as pool:
            asked = [pool.submit(self.embed, batch) for batch in batches]
            for answered in as_completed(asked):
                done += len(answered.result())
                on_progress(done)
        return np.concatenate([answered.result() for answered in asked])
