"""The order in which the records of an epoch are visited: that of the Go package shard, whose
documentation has the formulas. Functions take and return arrays of int64."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Sequence

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_GLOBAL, _BLOCKS, _WINDOW = 1, 2, 3  # what a key is for
_ROUNDS = 10


def _mix(x: int) -> int:
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) & _MASK
    return x ^ x >> 31


def _mix_all(x: _Words) -> _Words:
    x = (x ^ x >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ x >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    out: _Words = x ^ x >> np.uint64(31)
    return out


def _derive(*parts: int) -> int:
    key = 0
    for part in parts:
        key = (_mix(((key + _GOLDEN) & _MASK) ^ _mix((part + _GOLDEN) & _MASK)) + _GOLDEN) & _MASK
    return _mix(key)


class _Permutation:
    """A pseudo-random bijection on 0..n-1: a Feistel network, repeated until the result is in range."""

    def __init__(self, n: int, key: int) -> None:
        width = (n - 1).bit_length() if n > 1 else 0
        self.n, self.left, self.right = n, (width + 1) // 2, width // 2
        self.keys = [np.uint64((key + i * _GOLDEN) & _MASK) for i in range(_ROUNDS)]

    def at(self, i: Ints) -> Ints:
        if self.n <= 1:
            return np.zeros_like(i)
        x = self._network(i.astype(np.uint64))
        while (out := x >= np.uint64(self.n)).any():
            x[out] = self._network(x[out])
        return x.astype(np.int64)

    def _network(self, x: _Words) -> _Words:
        left, right = x >> np.uint64(self.right), x & np.uint64((1 << self.right) - 1)
        for i in range(0, _ROUNDS, 2):
            left = left ^ _mix_all(right ^ self.keys[i]) >> np.uint64(64 - self.left)
            if self.right:  # a shift by 64 bits gives 0
                right = right ^ _mix_all(left ^ self.keys[i + 1]) >> np.uint64(64 - self.right)
        out: _Words = left << np.uint64(self.right) | right
        return out


class Order(Protocol):
    """A sequence of all records of a dataset."""

    def at(self, positions: Ints) -> Ints: ...


class _Sequential:
    def at(self, positions: Ints) -> Ints:
        return positions


class _Block:
    """Blocks in random order, shuffled together in windows, and read in lanes."""

    def __init__(self, blocks: Ints, window: int, lanes: int, seed: int, epoch: int) -> None:
        self.starts = np.concatenate([[0], np.cumsum(blocks, dtype=np.int64)])
        self.blocks = _Permutation(len(blocks), _derive(_BLOCKS, seed, epoch)).at(np.arange(len(blocks)))
        self.before = np.concatenate([[0], np.cumsum(blocks[self.blocks], dtype=np.int64)])
        self.window, self.lanes, self.key = window, lanes, _derive(_WINDOW, seed, epoch)

    def at(self, positions: Ints) -> Ints:
        total = int(self.starts[-1])
        lane, step = positions % self.lanes, positions // self.lanes
        shuffled = self._shuffled(total // self.lanes * lane + np.minimum(lane, total % self.lanes) + step)
        place = self._place(shuffled)
        out: Ints = self.starts[self.blocks[place]] + shuffled - self.before[place]
        return out

    def _shuffled(self, positions: Ints) -> Ints:
        windows = self._place(positions) // self.window
        out = np.empty_like(positions)
        for w in np.unique(windows).tolist():
            first = int(self.before[w * self.window])
            end = int(self.before[min((w + 1) * self.window, len(self.blocks))])
            here = windows == w
            out[here] = first + _Permutation(end - first, _derive(self.key, w)).at(positions[here] - first)
        return out

    def _place(self, positions: Ints) -> Ints:
        return np.searchsorted(self.before[1:], positions, side="right")


def parse_shuffle(text: str) -> tuple[str, int, int]:
    """Returns the kind of a shuffle (none, global or block), the window and the lanes of the last."""
    words = text.split(":") if isinstance(text, str) else [""]
    if text in ("none", "global"):
        return text, 0, 1
    if words[0] == "block" and len(words) in (2, 3) and all(w.isascii() and w.isdigit() and 0 < int(w) < 1 << 31 for w in words[1:]):
        return "block", int(words[1]), int(words[2]) if len(words) == 3 else 1
    raise ValueError('shuffle=%r: "none", "global", or "block:16:4" for windows of 16 chunks in 4 lanes' % (text,))


def order_of(shuffle: str, records: int, blocks: Sequence[int], seed: int, epoch: int) -> Order:
    """Returns the order of an epoch. blocks are the records of each chunk, for block shuffles."""
    kind, window, lanes = parse_shuffle(shuffle)
    for name, value in (("seed", seed), ("epoch", epoch)):
        if not 0 <= value <= _MASK:
            raise ValueError("%s=%d: from 0 to 2**64-1" % (name, value))
    if kind == "global":
        return _Permutation(records, _derive(_GLOBAL, seed, epoch))
    if kind == "block":
        return _Block(np.asarray(blocks, np.int64), window, lanes, seed, epoch)
    return _Sequential()


@dataclass(frozen=True)
class Walk:
    """The steps of one rank through the records from a cursor to the end of the epoch."""

    records: int  # of the dataset
    cursor: int  # records that all ranks together have had before
    rank: int
    world_size: int
    equal: str

    def __post_init__(self) -> None:
        if not 0 <= self.rank < self.world_size:
            raise ValueError("rank %d of %d: ranks run from 0 to %d" % (self.rank, self.world_size, self.world_size - 1))
        if self.equal not in ("exact", "drop", "pad"):
            raise ValueError('equal=%r: "exact", "drop" or "pad"' % (self.equal,))
        if not 0 <= self.cursor <= self.records:
            raise ValueError("cursor %d: the dataset has %d records" % (self.cursor, self.records))

    def __len__(self) -> int:
        """The number of steps."""
        steps, rest = divmod(self.records - self.cursor, self.world_size)
        if self.equal == "drop":
            return steps
        return steps + (rest > 0 if self.equal == "pad" else self.rank < rest)

    def positions(self, steps: Ints) -> Ints:
        """Positions in the order. Those beyond its end, which only pad uses, wrap around."""
        at = self.cursor + steps * self.world_size + self.rank
        return np.where(at < self.records, at, (at - self.records) % max(1, self.records))

    @property
    def end(self) -> int:
        """The cursor at the end of the epoch."""
        return self.records - ((self.records - self.cursor) % self.world_size if self.equal == "drop" else 0)

    def cursor_after(self, steps: int) -> int:
        """The cursor when all ranks have done this number of steps."""
        return min(self.cursor + steps * self.world_size, self.end)


def fingerprint(files: Sequence[tuple[str, int]], blocks: Sequence[int]) -> str:
    """Identifies the numbering of records: FNV-1a over the names and records of files, and blocks."""
    text = b"".join(name.encode("utf-8", "surrogateescape") + b"\0%d\n" % records for name, records in files)
    text += b"".join(b"%d\n" % n for n in blocks)
    h = 0xCBF29CE484222325
    for byte in text:
        h = (h ^ byte) * 0x100000001B3 & _MASK
    return "%016x" % h
