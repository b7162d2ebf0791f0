"""A Dask cluster as an executor. The only file that imports Dask, which is an extra."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bythebook.embedding.parallel import Spread
from bythebook.errors import Unavailable, missing_extra

CONNECT_SECONDS = 10


@asynccontextmanager
async def open_cluster(scheduler: str) -> AsyncIterator[Spread]:
    """Connects to a cluster, with one slot for each of its workers' threads. Workers need this version of this program."""
    try:
        from distributed import Client, KilledWorker
        from distributed.comm.core import CommClosedError
    except ImportError as error:
        raise missing_extra("DASK_SCHEDULER", "Dask", "dask") from error
    try:
        client = await asyncio.to_thread(Client, scheduler, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise Unavailable(
            f"The Dask scheduler at {scheduler} does not answer. Check that it runs, and check DASK_SCHEDULER."
        ) from error
    try:
        slots = sum((await asyncio.to_thread(client.nthreads)).values())
        if not slots:
            raise Unavailable(f"The Dask scheduler at {scheduler} has no workers. Start some: dask worker {scheduler}")
        executor = client.get_executor(pure=False)  # type: ignore[no-untyped-call]
        yield Spread(executor=executor, slots=slots, failures=(KilledWorker, CommClosedError, TimeoutError))
    finally:
        await asyncio.to_thread(client.close)
