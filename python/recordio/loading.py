"""The records of one chunk in memory."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .chunks import NONE, SNAPPY, native
from .index import Chunk, Ints

_RECORD_BYTES = 40  # of memory for an object of bytes, besides its contents


class Loaded(Protocol):
    """The records of a chunk, by the bytes of an array of their numbers in it."""

    @property
    def nbytes(self) -> int: ...
    def records(self, numbers: bytes, /) -> list[bytes]: ...
    def values(self, numbers: bytes, ndarray: Any, dtype_of: Any, /) -> list[Any] | None: ...


class Cut:
    """Records that Python has cut out of a chunk."""

    def __init__(self, cut: list[bytes]) -> None:
        self.cut = cut

    @functools.cached_property
    def nbytes(self) -> int:
        return sum(map(len, self.cut)) + _RECORD_BYTES * len(self.cut)

    def records(self, numbers: bytes, /) -> list[bytes]:
        return list(map(self.cut.__getitem__, np.frombuffer(numbers, np.int64).tolist()))

    def values(self, numbers: bytes, ndarray: Any, dtype_of: Any, /) -> None:
        """It decodes nothing: see native.Chunk."""


@dataclass
class Part:
    """Some of the records of a chunk, which need not become bytes before they are decoded."""

    chunk: Loaded
    numbers: Ints

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.records())

    def records(self) -> list[bytes]:
        return self.chunk.records(self.numbers.tobytes())

    def values(self, ndarray: Any, dtype_of: Any) -> list[Any] | None:
        return self.chunk.values(self.numbers.tobytes(), ndarray, dtype_of)


class Scratch:
    """Memory for one chunk after the other: filling fresh memory takes several times as long."""

    def __init__(self) -> None:
        self.buffer = io.BytesIO()

    def room(self, size: int) -> memoryview:
        """Returns the first size bytes, behind which there is at least one more."""
        if self.buffer.getbuffer().nbytes <= size:
            self.buffer = io.BytesIO(bytes(size + 1))
        return self.buffer.getbuffer()[:size]


@dataclass
class Memory:
    """Memory of chunks, to be used again."""

    stored: Scratch = field(default_factory=Scratch)
    data: Scratch = field(default_factory=Scratch)
    free: list[native.Chunk] = field(default_factory=list)

    def take(self, chunk: Chunk, load: Callable[[native.Chunk, bytes], bool]) -> native.Chunk | None:
        """Returns the chunk that load fills; None if it does not."""
        if native is None or chunk.compressor not in (NONE, SNAPPY):
            return None
        loaded = self.free.pop() if self.free else native.Chunk()
        if load(loaded, chunk.header):
            return loaded
        self.free.append(loaded)
        return None

    def give(self, loaded: Loaded) -> None:
        if native is not None and isinstance(loaded, native.Chunk):
            self.free.append(loaded)
