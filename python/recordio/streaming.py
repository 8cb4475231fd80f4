"""The records of an epoch in order, for one of several ranks."""

from __future__ import annotations

import itertools
import operator
import os
import sys
import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator, NamedTuple, Sequence

import numpy as np

from .codecs import Buffer
from .dataset import CACHE_BYTES, Dataset
from .errors import RecordIOError
from .index import Ints
from .loading import Cut, Loaded, Memory, Part
from .order import Order, Walk, fingerprint, order_of, parse_shuffle
from .shards import Pattern, Shard

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

_GROUP_RECORDS, _GROUP_BYTES = 8192, 16 << 20  # located at a time
_DECODED_RECORDS, _DECODED_BYTES = 1024, 128 << 10  # decoded at a time: they stay in the caches, and malloc keeps their memory
_PAUSE = 1e-6  # seconds
_RANKS = (("RANK", "WORLD_SIZE"), ("PADDLE_TRAINER_ID", "PADDLE_TRAINERS_NUM"), ("PADDLE_INIT_TRAINER_ID", "PADDLE_INIT_NUM_GRADIENT_SERVERS"))


def stream(
    pattern: Pattern,
    world_size: int | None = None,
    rank: int | None = None,
    seed: int = 0,
    epoch: int = 0,
    shuffle: str = "none",
    equal: str = "exact",
    cursor: int = 0,
    *,
    batch_size: int = 1,
    decode: str | Callable[[bytes], Any] | None = None,
    cache_bytes: int = CACHE_BYTES,
    check: bool = True,
    on_damage: str = "fail",
) -> Stream:
    """Returns the records of one rank in the order of ``paddlectl dataset shard --policy order`` with
    the same options, as an iterable that torch and paddle accept as an IterableDataset:

        records = recordio.stream("/data/housing", seed=1, epoch=e, shuffle="block:16", equal="drop", batch_size=32)
        loader = torch.utils.data.DataLoader(records, batch_size=32, num_workers=4)

    shuffle is "none", "global" or "block:WINDOW[:LANES]"; equal is "exact", "drop" or "pad". rank and
    world_size default to RANK and WORLD_SIZE, the variables of PaddlePaddle, or 0 of 1.

    batch_size is that of the DataLoader: its workers take whole batches in turn, so the order is the
    same with any number of workers. cursor, the number of records that all ranks together have had,
    resumes an epoch with any number of ranks and workers: each record comes exactly once. To resume
    with the same numbers, state_dict and load_state_dict work with torchdata's StatefulDataLoader.

    on_damage is "fail", "skip" or "salvage", as for Dataset; the attribute dataset.damage has what was left out.

    Memory is bounded by cache_bytes for the decompressed chunks that a shuffle returns to, five
    chunks more (the one in use, up to two ahead, and what the thread works with), and about 16 MiB of records.
    """
    if rank is None or world_size is None:
        if rank is not None or world_size is not None:
            raise ValueError("rank and world_size need each other")
        rank, world_size = rank_of(os.environ)
    dataset = Dataset(pattern, decode, cache_bytes=cache_bytes, check=check, on_damage=on_damage)
    return _class()(dataset, world_size, rank, seed, epoch, shuffle, equal, cursor, batch_size)


def rank_of(environ: Any) -> tuple[int, int]:
    """Returns rank and world size from the environment; 0 of 1 if it states none."""
    for names in _RANKS:
        texts = [environ.get(name, "").strip() for name in names]
        if not any(texts):
            continue
        if not all(t.isascii() and t.isdigit() for t in texts):
            raise ValueError("%s=%r, %s=%r: two numbers are needed" % (names[0], texts[0], names[1], texts[1]))
        return int(texts[0]), int(texts[1])
    return 0, 1


class Stream:
    """See stream."""

    def __init__(
        self,
        dataset: Dataset,
        world_size: int,
        rank: int,
        seed: int = 0,
        epoch: int = 0,
        shuffle: str = "none",
        equal: str = "exact",
        cursor: int = 0,
        batch_size: int = 1,
    ) -> None:
        numbers = {"world_size": world_size, "rank": rank, "seed": seed, "epoch": epoch, "cursor": cursor, "batch_size": batch_size}
        for name, value in numbers.items():
            if not hasattr(value, "__index__"):
                raise TypeError("%s=%r: an integer is needed" % (name, value))
        self.dataset, self.seed, self.epoch, self.batch_size = dataset, int(seed), int(epoch), int(batch_size)
        kind, window, lanes = parse_shuffle(shuffle)
        self.shuffle = "block:%d:%d" % (window, lanes) if kind == "block" else kind
        if batch_size < 1:
            raise ValueError("batch_size=%d: at least 1" % batch_size)
        self._walk = Walk(len(dataset), cursor, rank, world_size, equal)
        self._end = self._resume = 0  # records that are decoded; that the next iteration leaves out
        self._values: Iterator[Any] = iter(())  # the rest of those decoded last
        self._order: Order | None = None
        self._fingerprint = ""

    @property  # type: ignore[misc]
    def __class__(self) -> type[Stream]:
        """What isinstance finds: also the IterableDataset of a framework that is imported after the call of stream."""
        return _class()

    def __len__(self) -> int:
        """The number of records of this rank, from the cursor on."""
        return len(self._walk)

    def cursor_after(self, steps: int) -> int:
        """The cursor when every rank has done this number of steps: to resume from it, pass it to
        stream, with any number of ranks. A step is one record of each rank."""
        return self._walk.cursor_after(steps)

    def __iter__(self) -> Iterator[Any]:
        self._end, self._values, self._resume = self._resume, iter(()), 0
        return itertools.chain.from_iterable(self._lists(self._end))

    @property
    def _read(self) -> int:
        """The number of records that the iterator has yielded."""
        return self._end - operator.length_hint(self._values)

    def _lists(self, read: int) -> Iterator[Iterator[Any]]:
        """Yields iterators of decoded records. Chained, they need no Python for each record."""
        decode = self.dataset.decode_batch
        for numbers, records in self._reading(self._groups(read, *_worker())):
            values = decode(records, numbers)
            self._values = iter(values)
            self._end += len(values)
            yield self._values

    def _blocks(self) -> list[int]:
        if not self.shuffle.startswith("block"):
            return []
        return [c.records for s in self.dataset.shards for c in s.chunks.chunks]

    def order(self) -> Order:
        """The order of the epoch."""
        if self._order is None:
            self._order = order_of(self.shuffle, len(self.dataset), self._blocks(), self.seed, self.epoch)
        return self._order

    def _groups(self, read: int, worker: int, workers: int) -> Iterator[Ints]:
        """Yields the numbers of the records of one worker, from its record number read on."""
        size = self.batch_size
        each = _record_bytes(self.dataset)
        group = max(1, min(_GROUP_RECORDS, int(_GROUP_BYTES / each)))
        total = len(self._walk)
        order = self.order()
        while True:
            own = np.arange(read, read + group, dtype=np.int64)
            steps = (own // size * workers + worker) * size + own % size
            steps = steps[steps < total]
            if len(steps):
                yield order.at(self._walk.positions(steps))
            if len(steps) < group:
                return
            read += group

    def _reading(self, groups: Iterable[Ints]) -> Iterator[tuple[Ints, Sequence[Buffer] | Part]]:
        dataset = self.dataset
        if self.shuffle == "global" and len(dataset) * _record_bytes(dataset) > dataset.cache_bytes:
            return ((numbers, dataset.read_batch(numbers)) for numbers in groups)
        keep = 0 if self.shuffle == "none" else dataset.cache_bytes
        step = max(1, min(_DECODED_RECORDS, int(_DECODED_BYTES / _record_bytes(dataset))))
        return _Chunks(dataset.shards, dataset.starts, keep, step).records(groups)

    def state_dict(self) -> dict[str, Any]:
        """The position in the epoch, after the record that was yielded last. dataset, shuffle, seed,
        epoch and cursor are those of ``paddlectl dataset shard --state``; with several workers the
        cursor is that of the start."""
        worker, workers = _worker()
        walk = self._walk
        return {
            **self._identity(),
            "cursor": walk.cursor_after(self._read) if workers == 1 else walk.cursor,
            "start": walk.cursor,
            "world_size": walk.world_size,
            "rank": walk.rank,
            "equal": walk.equal,
            "batch_size": self.batch_size,
            "workers": workers,
            "worker": worker,
            "read": self._read,
        }

    def _identity(self) -> dict[str, Any]:
        if not self._fingerprint:
            self._fingerprint = fingerprint([(s.name, s.records) for s in self.dataset.shards], self._blocks())
        return {"dataset": self._fingerprint, "shuffle": self.shuffle, "seed": self.seed, "epoch": self.epoch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues after a state_dict of the same rank and worker. The next iteration begins there."""
        walk = self._walk
        for name, value in self._identity().items():
            if state[name] != value:
                raise ValueError("the state has %s %s, and this stream has %s" % (name, state[name], value))
        worker, workers = _worker()
        mine = (walk.world_size, walk.rank, walk.equal, self.batch_size, workers, worker)
        names = ("world_size", "rank", "equal", "batch_size", "workers", "worker")
        for name, value in zip(names, mine):
            if state[name] != value:
                raise ValueError("the state has %s %s, and this stream has %s: to change it, begin with cursor=" % (name, state[name], value))
        self._walk = Walk(walk.records, state["start"], walk.rank, walk.world_size, walk.equal)
        self._end = self._resume = state["read"]
        self._values = iter(())

    def __reduce__(self) -> tuple[Any, ...]:
        walk = self._walk
        state = {"_end": self._read, "_resume": self._resume, "_fingerprint": self._fingerprint}
        args = (self.dataset, walk.world_size, walk.rank, self.seed, self.epoch, self.shuffle, walk.equal, walk.cursor, self.batch_size)
        return _again, args, state


def _again(*args: Any) -> Stream:
    return _class()(*args)


def _record_bytes(dataset: Dataset) -> float:
    """The mean size of a record, about."""
    total = sum(s.stated["record_bytes"] if s.stated else s.chunks.size for s in dataset.shards)
    return max(1.0, total / max(1, len(dataset)))


def _class() -> type[Stream]:
    """Returns Stream as a subclass of the IterableDataset of each framework that is imported: their
    DataLoaders ask for it."""
    modules = [sys.modules.get(name) for name in ("torch.utils.data", "paddle.io")]
    bases = tuple(m.IterableDataset for m in modules if m is not None)
    if bases not in _classes:
        _classes[bases] = type("Stream", (Stream, *bases), {"__module__": __name__})
    return _classes[bases]


_classes: dict[tuple[Any, ...], type[Stream]] = {(): Stream}


def _worker() -> tuple[int, int]:
    """Returns the number of this worker of a DataLoader, and of all workers."""
    for name in ("torch.utils.data", "paddle.io"):
        module = sys.modules.get(name)
        info = module.get_worker_info() if module is not None else None
        if info is not None:
            return info.id, info.num_workers
    return 0, 1


_Key = tuple[int, int]  # shard, chunk


class _Plan(NamedTuple):
    """Which chunks hold the records of a group."""

    numbers: Ints
    chunks: list[_Key]  # in the order of their first use
    bounds: list[int]  # which of the records are in each chunk, and
    local: Ints  # their numbers there, sorted by chunk
    order: Ints | None  # the position of these in the group; None if they are sorted already


class _Chunks:
    """Reads records chunk by chunk, with a thread that reads and decompresses the next chunks."""

    def __init__(self, shards: list[Shard], starts: Ints, keep: int, step: int) -> None:
        self.shards, self.starts, self.keep, self.step = shards, starts, keep, step
        self.ahead = 2 if keep else 1  # in order, a second chunk ahead saves no time and needs fresh memory
        self.kept: OrderedDict[_Key, Loaded] = OrderedDict()
        self.bytes = 0
        self.memory = Memory()
        self.loading: dict[_Key, Future[Loaded]] = {}
        self.pauses = False

    def records(self, groups: Iterable[Ints]) -> Iterator[tuple[Ints, Sequence[Buffer] | Part]]:
        """Yields records with their numbers. A part is valid until the next is taken."""
        from concurrent.futures import ThreadPoolExecutor

        pool = ThreadPoolExecutor(1, "recordio")
        try:
            plans: deque[_Plan] = deque()
            coming: deque[_Key] = deque()
            source = (self._plan(numbers) for numbers in groups)
            while True:
                while len(plans) < 2 and (plan := next(source, None)) is not None:
                    plans.append(plan)
                    coming.extend(plan.chunks)
                if not plans:
                    return
                for numbers, part in self._take(pool, coming, plans.popleft()):
                    yield numbers, part
                    if self.pauses and not all(f.done() for f in self.loading.values()):
                        time.sleep(_PAUSE)  # decoding never lets the thread run, which only starts the next call of a library
        finally:
            pool.shutdown(wait=True, cancel_futures=True)

    def _plan(self, numbers: Ints) -> _Plan:
        if (numbers[1:] >= numbers[:-1]).all():
            return self._plan_sorted(numbers)
        shards = np.searchsorted(self.starts, numbers, "right") - 1
        local = numbers - self.starts[shards]
        chunks = np.empty_like(local)
        for shard in np.unique(shards).tolist():
            here = shards == shard
            first = self.shards[shard].chunks.first
            chunks[here] = np.searchsorted(first, local[here], "right") - 1
            local[here] -= first[chunks[here]]
        distinct, at, which = np.unique(shards << 32 | chunks, return_index=True, return_inverse=True)
        by_use = np.argsort(at)
        turn = np.empty_like(by_use)
        turn[by_use] = np.arange(len(by_use))
        which = turn[which.reshape(-1)]
        order = np.argsort(which, kind="stable")
        bounds = np.searchsorted(which[order], np.arange(len(by_use) + 1)).tolist()
        return _Plan(numbers, [(k >> 32, k & 0xFFFFFFFF) for k in distinct[by_use].tolist()], bounds, local[order], order)

    def _plan_sorted(self, numbers: Ints) -> _Plan:
        local, bounds, keys = numbers.copy(), [0], []
        while (at := bounds[-1]) < len(numbers):
            shard = int(np.searchsorted(self.starts, numbers[at], "right")) - 1
            first = self.shards[shard].chunks.first + self.starts[shard]
            chunk = int(np.searchsorted(first, numbers[at], "right")) - 1
            end = at + int(np.searchsorted(numbers[at:], first[chunk + 1]))
            local[at:end] -= first[chunk]
            keys.append((shard, chunk))
            bounds.append(end)
        return _Plan(numbers, keys, bounds, local, None)

    def _take(self, pool: ThreadPoolExecutor, coming: deque[_Key], plan: _Plan) -> Iterator[tuple[Ints, Sequence[Buffer] | Part]]:
        """Yields the records, or those before the first one of a damaged chunk."""
        found: list[bytes] = []
        failure = None
        for i, key in enumerate(plan.chunks):
            start, end = plan.bounds[i : i + 2]
            coming.popleft()
            try:
                chunk = self._get(pool, key, coming)
            except RecordIOError as e:
                failure = e
                break
            if plan.order is None:
                step = _DECODED_RECORDS if isinstance(chunk, Cut) else self.step  # of those, the records are in memory already
                for k in range(start, end, step):
                    stop = min(k + step, end)
                    yield plan.numbers[k:stop], Part(chunk, plan.local[k:stop])
            else:
                found += chunk.records(plan.local[start:end].tobytes())
        if plan.order is not None:
            back = np.argsort(plan.order)
            out = [found[k] for k in (back if failure is None else back[: plan.order[len(found)]]).tolist()]
            for k in range(0, len(out), self.step):
                yield plan.numbers[k : k + self.step], out[k : k + self.step]
        if failure is not None:
            raise failure

    def _get(self, pool: ThreadPoolExecutor, key: _Key, coming: deque[_Key]) -> Loaded:
        if key in self.kept:
            self.kept.move_to_end(key)
        else:
            future = self.loading.pop(key, None) or pool.submit(self._load, key)
            self.kept[key] = loaded = future.result()
            self.bytes += loaded.nbytes if self.keep else 0
            while self.bytes >= self.keep and len(self.kept) > 1:
                old = self.kept.popitem(last=False)[1]
                self.bytes -= old.nbytes if self.keep else 0
                self.memory.give(old)
        for ahead in coming:
            if len(self.loading) >= self.ahead:
                break
            if ahead not in self.kept and ahead not in self.loading:
                self.loading[ahead] = pool.submit(self._load, ahead)
        return self.kept[key]

    def _load(self, key: _Key) -> Loaded:
        loaded = self.shards[key[0]].load(key[1], self.memory)
        self.pauses = isinstance(loaded, Cut)
        return loaded
