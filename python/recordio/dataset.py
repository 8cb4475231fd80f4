"""Records by their number."""

from __future__ import annotations

import operator
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence, overload

import numpy as np
import numpy.typing as npt

from .chunks import HEADER, NONE, SNAPPY, native
from .codecs import Buffer, crc32c, decompress
from .errors import PickleError, RecordIOError
from .index import Chunk, Index, Ints
from .loading import Part
from .schema import Decoder
from .shards import Pattern, Shard, apply, check_sizes, find, repaired
from .storage import ForkLock, Range

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

    from .damage import Damage

CACHE_BYTES = 256 << 20
_BLOCK_BITS = 40  # the number of a shard and that of a block in it are one number, the key of the block


class Dataset:
    """The records of a dataset, a file or files that match a pattern, by number:

        dataset = recordio.Dataset("/data/housing")
        len(dataset), dataset[7], dataset[[1, 5, 3]]

    Records are decoded as the manifest of the dataset says; without a manifest they are bytes, unless
    decode says "msgpack", "pickle", "json", "raw" or is a function of bytes. It is a map-style dataset
    for the DataLoaders of torch and paddle, with any sampler and any number of workers, and a data
    source for Grain.

    Decompressed blocks of at most cache_bytes stay in memory, and 4 bytes a record for positions.
    Random access uses the index beside a file (.NAME.idx). The first access makes a missing index and
    keeps it there if the directory can be written.

    With on_damage="skip", the dataset is without its damaged chunks, and with "salvage" without the records in them
    that no checksum proves. Every file is then read once at the start. A DamageWarning names each damaged file, and
    the list damage describes the places. With "fail", a file with damaged headers has the records before them; what
    follows counts as one record if no manifest states the number, and reading that raises RecordIOError.
    """

    def __init__(
        self,
        pattern: Pattern,
        decode: str | Callable[[bytes], Any] | None = None,
        *,
        cache_bytes: int = CACHE_BYTES,
        check: bool = True,
        on_damage: str = "fail",
    ) -> None:
        if operator.index(cache_bytes) < 0:
            raise ValueError("cache_bytes=%d: at least 0" % cache_bytes)
        self._pattern, self._decode, self.cache_bytes = pattern, decode, cache_bytes
        found = find(pattern, check)
        if check and on_damage == "fail":
            check_sizes(found)
        repairs = repaired(found.shards, on_damage)
        self.damage: list[Damage] = []
        if repairs is not None:
            self.damage = repairs.damage
            apply(repairs, found.shards)
        self.shards, self.columns = found.shards, found.columns
        self.payload, self._source = found.payload, found.source
        self.starts: Ints = np.cumsum([0] + [s.records for s in self.shards], dtype=np.int64)
        self._begin()

    def _begin(self) -> None:
        self._decoder = Decoder(self._decode, self.payload, self.columns, self._source)
        self._blocks = _Blocks(self.shards, self.cache_bytes)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __repr__(self) -> str:
        return "recordio.Dataset(%r, %d records in %d files)" % (self._pattern, len(self), len(self.shards))

    @overload
    def __getitem__(self, item: int) -> Any: ...
    @overload
    def __getitem__(self, item: slice | Sequence[int]) -> list[Any]: ...
    def __getitem__(self, item: int | slice | Sequence[int]) -> Any:
        if isinstance(item, slice):
            return self.__getitems__(range(*item.indices(len(self))))
        if isinstance(item, (Sequence, np.ndarray)):
            return self.__getitems__(item)
        return self.__getitems__([operator.index(item)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The records with these numbers, decoded. It reads them in one batch."""
        return self.decode_batch(self.read_batch(indices), indices)

    def __iter__(self) -> Iterator[Any]:
        from .streaming import Stream

        return iter(Stream(self, 1, 0))

    def read_batch(self, indices: Sequence[int] | Ints) -> list[memoryview]:
        """The bytes of the records with these numbers, as views of decompressed blocks. They are read-only."""
        numbers = _numbers(indices)
        if len(numbers) and not -len(self) <= numbers.min() <= numbers.max() < len(self):
            raise IndexError("record %d of %d" % (next(i for i in numbers.tolist() if not -len(self) <= i < len(self)), len(self)))
        numbers = np.where(numbers < 0, numbers + len(self), numbers).astype(np.int64)
        return self._blocks.read(numbers, self.starts)

    def decode_batch(self, records: Sequence[Buffer] | Part, indices: Sequence[int] | Ints | None = None) -> list[Any]:
        """Decodes records; indices are their numbers, for messages."""
        try:
            return self._decoder(records)
        except ValueError as e:
            first = self._decoder.first_malformed(records)
            place = "record %d of a batch" % first if indices is None else self.place(int(indices[first]))
            raise (PickleError if isinstance(e, PickleError) else ValueError)("%s: %s" % (place, e))

    def place(self, number: int) -> str:
        """Names the file of a record, and its number there."""
        number += len(self) if number < 0 else 0
        shard = int(np.searchsorted(self.starts, number, "right")) - 1
        return "%s, record %d" % (self.shards[shard].path, number - self.starts[shard])

    def to_arrow(self) -> pyarrow.Table:
        """All records as a table, with the types of the manifest."""
        from .arrow import table

        return table(self)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_decoder", "_blocks")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()


def _numbers(indices: Sequence[int] | Ints) -> npt.NDArray[Any]:
    """Returns record numbers as an array, also those that fit into no type. Raises TypeError for anything else."""
    numbers = np.asarray(indices).reshape(-1)
    if numbers.dtype.kind == "b":
        raise TypeError("a mask is not a list of record numbers: use numpy.flatnonzero(mask)")
    if numbers.dtype.kind in "iu" or not len(numbers):
        return numbers
    return np.array([operator.index(i) for i in np.asarray(indices, object).ravel()], object)


class _Blocks:
    """A cache of decompressed blocks, which threads may share."""

    def __init__(self, shards: list[Shard], most: int) -> None:
        self.lock = ForkLock()  # guards bytes and kept
        self.shards, self.most, self.bytes = shards, most, 0
        self.kept: OrderedDict[int, memoryview] = OrderedDict()
        self.compared: set[tuple[int, int]] = set()  # shard and chunk

    def read(self, numbers: Ints, starts: Ints) -> list[memoryview]:
        order = np.argsort(numbers, kind="stable")
        shards = np.searchsorted(starts, numbers[order], "right") - 1
        firsts, lasts, begins, ends = np.empty((4, len(order)), np.int64)
        bounds = np.flatnonzero(np.diff(shards, prepend=-1)).tolist()
        for at, end in zip(bounds, [*bounds[1:], len(order)]):
            shard = int(shards[at])
            located = self._locate(shard, numbers[order[at:end]] - starts[shard])
            firsts[at:end], lasts[at:end], begins[at:end], ends[at:end] = located
        keys = shards << _BLOCK_BITS | firsts
        blocks = self._blocks(np.unique(keys[firsts == lasts]).tolist() + _spanned(keys, lasts - firsts))
        found = [blocks[key][a:b] for key, a, b in zip(keys.tolist(), begins.tolist(), ends.tolist())]
        for i in np.flatnonzero(lasts > firsts).tolist():
            found[i] = _joined([blocks[int(keys[i]) + k] for k in range(int(lasts[i] - firsts[i]) + 1)], int(begins[i]), int(ends[i]))
        return list(map(found.__getitem__, np.argsort(order).tolist()))

    def _locate(self, shard: int, local: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Returns first and last block, and start and end in these blocks of each record."""
        x = self.shards[shard].index
        ends = x.ends[local]
        chunk = x.first.searchsorted(local, "right") - 1
        begin = np.where(local == x.first[chunk], x.data[chunk], x.ends[local - 1]) + 4
        last = x.block_data.searchsorted(ends, "left") - 1
        first = np.minimum(x.block_data.searchsorted(begin, "right") - 1, last)  # an empty record may begin where its block ends
        base = x.block_data[first]
        return first, last, begin - base, ends - base

    def _blocks(self, keys: list[int]) -> dict[int, memoryview]:
        """Returns blocks from the cache, and reads the others."""
        out: dict[int, memoryview] = {}
        missing: dict[int, None] = {}
        with self.lock:
            for key, data in zip(keys, map(self.kept.get, keys)):
                if data is None:
                    missing[key] = None
                else:
                    out[key] = data
            if self.bytes > self.most // 4 * 3:  # the order matters soon
                for key in out:
                    self.kept.move_to_end(key)
        fetched = self._fetch([(key >> _BLOCK_BITS, key & (1 << _BLOCK_BITS) - 1) for key in missing])
        with self.lock:
            for key, data in zip(missing, fetched):
                out[key] = data
                if key not in self.kept:
                    self.kept[key] = data
                    self.bytes += len(data)
            while self.bytes > self.most and self.kept:
                self.bytes -= len(self.kept.popitem(last=False)[1])
        return out

    def _fetch(self, keys: list[tuple[int, int]]) -> list[memoryview]:
        """Reads blocks. Those of one file that follow each other are read together, and all ranges of
        all files in one call."""
        if not keys:
            return []
        ranges: list[Range] = []
        inside: list[tuple[int, int]] = []  # the range of each block, and its start there
        for shard, block in keys:
            x, path = self.shards[shard].index, self.shards[shard].path
            at = int(x.block_at[block])
            end = at + int(x.block_size[block])
            if ranges and ranges[-1][0] == path and ranges[-1][2] == at:
                ranges[-1] = (path, ranges[-1][1], end)
            else:
                ranges.append((path, at, end))
            inside.append((len(ranges) - 1, at - ranges[-1][1]))
        new = self._not_compared(keys)
        headers = [(self.shards[shard].path, c.offset, c.offset + HEADER.size) for (shard, _), c in new.items()]
        read = self.shards[keys[0][0]].storage.ranges(ranges + headers)
        for (shard, _), chunk, header in zip(new, new.values(), read[len(ranges) :]):
            try:
                self.shards[shard].check_header(chunk, header)
            except RecordIOError as e:
                raise self.shards[shard].error(e, chunk)
        self.compared.update(new)
        return [self._block(key, read[r], at) for key, (r, at) in zip(keys, inside)]

    def _not_compared(self, keys: list[tuple[int, int]]) -> dict[tuple[int, int], Chunk]:
        """Returns the chunks of blocks that only a stored index has located: it may be that of an earlier file."""
        found = {}
        for shard, block in keys:
            x = self.shards[shard].index
            if x is self.shards[shard].chunks:
                number = _chunk_of(x, block)
                if (shard, number) not in self.compared:
                    found[shard, number] = x.chunks[number]
        return found

    def _block(self, key: tuple[int, int], read: bytes, at: int) -> memoryview:
        shard, block = self.shards[key[0]], key[1]
        x = shard.index
        chunk = x.chunks[_chunk_of(x, block)]
        size = int(x.block_size[block])
        if native is not None and chunk.compressor == SNAPPY:
            found = native.unframe(read, at, at + size, int(x.block_data[block + 1] - x.block_data[block]))
            if found is not None:
                return memoryview(found).toreadonly()
        stored = memoryview(read)[at:]
        try:
            if len(stored) < size:
                raise RecordIOError("the file was cut off while it was read")
            data = decompress(chunk.compressor, stored[:size], verify=True)
            if chunk.compressor == NONE:  # one of several blocks that were read together
                data = memoryview(data.tobytes())
            wrong = len(data) != x.block_data[block + 1] - x.block_data[block]
            if wrong or chunk.compressor == NONE and crc32c(data) != x.block_sum[block]:
                raise RecordIOError("a block does not match its checksum: it is damaged, or the file has changed since it was indexed")
        except RecordIOError as e:
            raise shard.error(e, chunk)
        return data.toreadonly()


def _chunk_of(x: Index, block: int) -> int:
    return int(x.data.searchsorted(x.block_data[block], "right")) - 1


def _joined(blocks: list[memoryview], start: int, end: int) -> memoryview:
    """Returns what is from start to end in blocks that follow each other. The first and the last have some of it."""
    blocks[-1] = blocks[-1][: end - sum(map(len, blocks[:-1]))]
    return memoryview(b"".join([blocks[0][start:], *blocks[1:]]))


def _spanned(keys: Ints, more: Ints) -> list[int]:
    """Returns the keys of all blocks of the records that are in more than one."""
    return [k for key, n in zip(keys[more > 0].tolist(), more[more > 0].tolist()) for k in range(key, key + n + 1)]
