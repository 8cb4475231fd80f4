"""Retries are those of the Go client (pfs/retry)."""

import asyncio
import time

import pytest

from recordio.remote import service
from recordio.remote.filesystem import PfsFileSystem
from recordio.remote.protocol import INTEGRITY, LIMIT, NOT_EXIST, UNAUTHENTICATED, UNAVAILABLE, Failure


def attempts(*outcomes, total=5, anonymous=False):
    """Returns how many attempts were made, and the failure at the end, if any."""
    left, made = list(outcomes), []

    async def attempt():
        made.append(time.monotonic())
        if left:
            raise left.pop(0)

    try:
        asyncio.run(service._retry(attempt, total, anonymous))
        return len(made), None
    except Failure as e:
        return len(made), e


def test_repeated():
    assert attempts(Failure(UNAVAILABLE), Failure(LIMIT), Failure(UNAVAILABLE)) == (4, None)
    assert attempts(*[Failure(INTEGRITY, damaged=True)] * 3) == (4, None)
    assert attempts(Failure(UNAUTHENTICATED)) == (2, None)  # with another token


@pytest.mark.parametrize(
    "made, outcomes",
    [
        (1, [Failure(NOT_EXIST)]),
        (1, [Failure(INTEGRITY)]),
        (1, [Failure(LIMIT, held=True)]),
        (1, [Failure(UNAVAILABLE, final=True)]),
        (4, [Failure(INTEGRITY, damaged=True)] * 4),
        (2, [Failure(UNAUTHENTICATED)] * 2),
    ],
)
def test_not_repeated(made, outcomes):
    assert attempts(*outcomes) == (made, outcomes[-1])


def test_time_ends():
    began = time.monotonic()
    made, failure = attempts(*[Failure(UNAVAILABLE)] * 100, total=0.5)
    assert failure and 1 < made < 100
    assert time.monotonic() - began >= 0.4


def test_asynchronous():
    """Programs of asyncio use the same file system."""

    async def main():
        fs = PfsFileSystem(asynchronous=True, skip_instance_cache=True)
        path = "local/home/alice/asynchronous"
        try:
            await asyncio.gather(*[fs._pipe_file("%s/%d" % (path, i), b"%d" % i) for i in range(20)])
            return await asyncio.gather(*[fs._cat_file("%s/%d" % (path, i)) for i in range(20)])
        finally:
            await fs._rm(path, recursive=True)
            for s in fs._services.values():
                await s.close()

    assert asyncio.run(main()) == [b"%d" % i for i in range(20)]
