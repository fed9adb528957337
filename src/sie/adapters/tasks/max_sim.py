"""MaxSim, the score of late interaction (Khattab and Zaharia, 2020): how near is each token of a query to a text?"""

import numpy as np

from sie.adapters.api import Vector


def max_sim(query: Vector, text: Vector) -> float:
    """The largest product of each token of `query [tokens, dims]` with one of `text [tokens, dims]`, added up.

    A text without tokens scores 0.
    """
    return float((query @ text.T).max(axis=1).sum(dtype=np.float64)) if len(text) else 0.0
