"""What every adapter has that runs a network on tokens, whatever its task."""

import attrs
from tokenizers import Tokenizer

from sie.adapters.api import Footprint
from sie.adapters.running import Network


@attrs.frozen(eq=False)
class Loaded:
    _tokenizer: Tokenizer
    _network: Network

    @property
    def footprint(self) -> Footprint:
        return self._network.footprint

    def warm_up(self) -> None:
        self._network.warm_up()
