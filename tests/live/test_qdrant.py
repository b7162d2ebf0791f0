"""The whole contract of a vector engine, asked of a real Qdrant server: QDRANT_URL, and QDRANT_API_KEY where it needs one.

Collections are made under names of their own and dropped again; what else the server holds is not looked at.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

import pytest

from bythebook.index.manifest import Manifest
from bythebook.index.qdrant_server.index import ServerIndex
from bythebook.index.vectors import VectorIndex
from tests.index import test_vectors
from tests.support.made_chunks import COLLECTION

URL, KEY = (
    os.environ.get("QDRANT_URL", ""),
    os.environ.get("QDRANT_API_KEY", ""),
)  # before the tests' environment is emptied
OFFLINE = pytest.mark.skipif(not URL, reason="QDRANT_URL is not set")
pytestmark = [pytest.mark.anyio, OFFLINE, pytest.mark.enable_socket]

CONTRACT = {name: test for name, test in vars(test_vectors).items() if name.startswith("test_")}
globals().update(CONTRACT, anyio_backend=test_vectors.anyio_backend, shelf=test_vectors.shelf)


class Apart:
    """The index under names that nobody else uses."""

    def __init__(self, index: ServerIndex, name: str) -> None:
        self._index = index
        self._own_name = name

    async def collections(self) -> Mapping[str, Manifest]:
        found = await self._index.collections()
        return {name.replace(self._own_name, COLLECTION): manifest for name, manifest in found.items()}

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._index, name)
        return lambda collection, *given, **named: method(self._name(collection), *given, **named)

    def _name(self, collection: str) -> str:
        return collection.replace(COLLECTION, self._own_name)


@pytest.fixture
async def index() -> AsyncIterator[VectorIndex]:
    name = f"test-{uuid4().hex[:12]}"
    real = await ServerIndex.open(URL, KEY, collection_name=name)
    apart: Any = Apart(real, name)
    yield apart
    for name in await apart.collections():
        await apart.drop(name)
    await real.close()
