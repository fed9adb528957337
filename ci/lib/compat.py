"""Compares our doubles with the real parts: `ci/compat broker`; each takes `--help`, `--quick` and more.

Everything is told in JSON lines; the exit status is 1 where a double and the real part disagree.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

from ci.lib import compat_broker, compat_catalogue, compat_config, compat_kube, compat_storage

DOUBLES: Mapping[str, Callable[[Sequence[str]], int]] = {
    "broker": compat_broker.main,
    "catalogue": compat_catalogue.main,
    "config": compat_config.main,
    "kube": compat_kube.main,
    "storage": compat_storage.main,
}


def main(argv: Sequence[str]) -> int:
    name, *rest = argv or ("--help",)
    if name in DOUBLES:
        return DOUBLES[name](rest)
    print(__doc__, f"Doubles: {', '.join(DOUBLES)}.", sep="\n")
    return 0 if name in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
