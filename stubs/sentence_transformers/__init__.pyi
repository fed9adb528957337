# The part that spec/golden/make_minilm.py calls. The library is installed only where the golden vectors are made.
import numpy as np
from numpy.typing import NDArray

class SentenceTransformer:
    max_seq_length: int | None
    def __init__(self, model_name_or_path: str, *, device: str) -> None: ...
    def encode(self, sentences: str, *, convert_to_numpy: bool) -> NDArray[np.float32]: ...
