"""Which cluster are pools kept in (§16.3)? The one whose API server a service account or a kubeconfig names."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

import attrs

from sie.kube.access import Access, find_access
from sie.kube.api import Kube
from sie.kube.client import open_kube
from sie.runtime.world import RunInThread


class OpenKube(Protocol):
    """`namespace` None is the one that comes with the access."""

    def __call__(self, namespace: str | None, run_in_thread: RunInThread, /) -> AbstractAsyncContextManager[Kube]: ...


@asynccontextmanager
async def open_found_kube(namespace: str | None, run_in_thread: RunInThread, /) -> AsyncIterator[Kube]:
    """Raises NoAccess."""
    async with open_kube(access_to(namespace), run_in_thread=run_in_thread) as kube:
        yield kube


def access_to(namespace: str | None, environ: Mapping[str, str] = os.environ) -> Access:
    """Raises NoAccess."""
    found = find_access(environ)
    return found if namespace is None else attrs.evolve(found, namespace=namespace)
