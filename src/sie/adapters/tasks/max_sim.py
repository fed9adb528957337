"""MaxSim, the score of late interaction (Khattab and Zaharia, 2020): how near is each token of a query to a text?"""

from collections.abc import Sequence

import numpy as np

from sie.adapters.api import Vector


def max_sim(query: Vector, texts: Sequence[Vector]) -> Vector:
    """float32 `[texts]`: the largest product of each token of `query` (`[tokens, dims]`) with one of the text, summed.

    A text without tokens scores 0.
    """
    scores = [(query @ text.T).max(axis=1).sum(dtype=np.float64) if len(text) else 0.0 for text in texts]
    return np.array(scores, np.float32)
