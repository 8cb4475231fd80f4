import multiprocessing
import os
import pickle
import random
import signal
import sys
import time
import tracemalloc
import types
from typing import Any
from unittest import mock

import recordio
from recordio import streaming

from .files import InDirectory, chunk, ids

COUNTS = [[5, 7, 1], [20], [], [3, 3, 3, 3], [40, 2]]
TOTAL = 87


def in_worker(worker: int, workers: int) -> Any:
    return mock.patch.object(streaming, "_worker", lambda: (worker, workers))


def deliver(records: streaming.Stream, pipe: Any) -> None:
    for record in records:
        pipe.send(record["id"])
        if records.dataset[0]["id"]:
            raise AssertionError
    time.sleep(0 if records._walk.rank else 600)  # rank 0 is killed


class Stream(InDirectory):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.dataset(COUNTS)

    def stream(self, *args: Any, **kwargs: Any) -> streaming.Stream:
        return recordio.stream(self.path, *args, **kwargs)

    def test_orders(self) -> None:
        for shuffle in ("none", "global", "block:2", "block:3:2"):
            for cache in (0, 1 << 20):
                got = [ids(self.stream(3, r, seed=5, shuffle=shuffle, cache_bytes=cache)) for r in range(3)]
                want = self.stream(3, 0, seed=5, shuffle=shuffle).order().at(streaming.np.arange(TOTAL)).tolist()
                self.assertEqual(got, [want[0::3], want[1::3], want[2::3]], shuffle)

    def test_framework_imported_later(self) -> None:
        """A stream is an IterableDataset also for a framework that was imported after it was made."""

        class IterableDataset:
            pass

        stream = self.stream()
        self.assertNotIsInstance(stream, IterableDataset)
        for name in ("torch.utils.data", "paddle.io"):
            module = types.SimpleNamespace(IterableDataset=IterableDataset, get_worker_info=lambda: None)
            with mock.patch.dict(sys.modules, {name: module}):
                for each in (stream, self.stream(), pickle.loads(pickle.dumps(stream))):
                    self.assertIsInstance(each, IterableDataset)
                    self.assertIsInstance(each, streaming.Stream)
                    self.assertEqual(ids(each), list(range(TOTAL)))

    def test_arguments(self) -> None:
        wrong: Any
        for wrong in ({"seed": 1.5}, {"epoch": None}, {"cursor": "0"}, {"world_size": "2", "rank": 0}, {"batch_size": 2.0}):
            with self.assertRaisesRegex(TypeError, "an integer is needed"):
                self.stream(**wrong)
        for wrong in (True, None, "all", "block", 3):
            with self.assertRaisesRegex(ValueError, "shuffle"):
                self.stream(shuffle=wrong)

    def test_equal(self) -> None:
        self.assertEqual([len(self.stream(4, r, equal="drop")) for r in range(4)], [21] * 4)
        self.assertEqual([len(list(self.stream(4, r, equal="pad"))) for r in range(4)], [22] * 4)
        self.assertEqual(ids(self.stream(4, 3, equal="pad"))[-1], 0)

    def batches(self, stream: streaming.Stream, workers: int) -> list[int]:
        """What a DataLoader makes of several workers: their batches in turn."""
        queues = []
        for w in range(workers):
            with in_worker(w, workers):
                samples = ids(pickle.loads(pickle.dumps(stream)))
            queues.append([samples[i : i + stream.batch_size] for i in range(0, len(samples), stream.batch_size)])
        out: list[int] = []
        while any(queues):
            for q in queues:
                out += q.pop(0) if q else []
        return out

    def test_any_number_of_workers(self) -> None:
        for batch in (1, 4, 50):
            stream = self.stream(2, 1, seed=3, shuffle="block:2:2", batch_size=batch)
            want = ids(stream)
            for workers in (1, 2, 3, 7):
                self.assertEqual(self.batches(stream, workers), want)

    def test_elastic(self) -> None:
        """Training with 3 ranks, killed after any number of steps, goes on with 5, then with 2: every
        record exactly once."""
        r = random.Random(1)
        for shuffle in ("none", "global", "block:2:3"):
            for _ in range(20):
                cursor, seen = 0, []
                for world, last in ((3, False), (5, False), (2, True)):
                    streams = [self.stream(world, rank, seed=9, shuffle=shuffle, cursor=cursor, batch_size=4) for rank in range(world)]
                    steps = TOTAL if last else r.randrange(0, 12)
                    for s in streams:
                        seen += ids(v for v, _ in zip(s, range(steps)))
                    cursor = streams[0].cursor_after(steps)
                    self.assertEqual({s.cursor_after(steps) for s in streams}, {cursor})
                self.assertEqual(sorted(seen), list(range(TOTAL)))
                self.assertEqual(cursor, TOTAL)

    def test_killed_worker(self) -> None:
        """A worker that is killed in the middle of an epoch disturbs no other, and what it has not delivered comes exactly once."""
        context = multiprocessing.get_context("fork")
        for shuffle in ("none", "global", "block:2"):
            streams = [self.stream(2, rank, seed=2, shuffle=shuffle) for rank in range(2)]
            for s in streams:
                s.dataset[0], next(iter(s))  # files and threads of the parent
            pipes = [context.Pipe(False) for _ in streams]
            workers = [context.Process(target=deliver, args=(s, w)) for s, (_, w) in zip(streams, pipes)]
            for worker in workers:
                worker.start()
            seen = [pipes[r][0].recv() for _ in range(11) for r in range(2)]
            workers[0].kill()
            workers[0].join()
            self.assertEqual(workers[0].exitcode, -signal.SIGKILL)
            seen += [pipes[1][0].recv() for _ in range(len(streams[1]) - 11)]
            workers[1].join()
            self.assertEqual(workers[1].exitcode, 0)
            again = self.stream(2, 0, seed=2, shuffle=shuffle, cursor=streams[0].cursor_after(11))
            self.assertEqual(sorted(seen + ids(again)), list(range(TOTAL)))

    def test_state(self) -> None:
        for at in (0, 1, 13, 43):
            for workers in (1, 3):
                for w in range(workers):
                    with in_worker(w, workers):
                        first = self.stream(2, 1, seed=4, epoch=2, shuffle="global", cursor=1, batch_size=3)
                        want = ids(first)
                        read = iter(first)
                        for _ in range(min(at, len(want))):
                            next(read)
                        state = pickle.loads(pickle.dumps(first.state_dict()))
                        again = self.stream(2, 1, seed=4, epoch=2, shuffle="global", cursor=0, batch_size=3)
                        again.load_state_dict(state)
                        self.assertEqual(again.state_dict(), state)
                        self.assertEqual(ids(again), want[at:])
                        self.assertEqual(ids(again), want)  # the next iteration is the whole epoch again

    def test_state_of_another(self) -> None:
        state = self.stream(2, 1, seed=4).state_dict()
        for other, text in (
            (self.stream(3, 1, seed=4), "world_size 2, .* 3: to change it, begin with cursor="),
            (self.stream(2, 0, seed=4), "rank 1"),
            (self.stream(2, 1, seed=5), "seed 4"),
            (self.stream(2, 1, seed=4, shuffle="global"), "shuffle none"),
            (recordio.stream(self.dataset([[3]], "u"), 2, 1, seed=4), "dataset [0-9a-f]{16}"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                other.load_state_dict(state)
        with in_worker(0, 2), self.assertRaisesRegex(ValueError, "workers 1"):
            self.stream(2, 1, seed=4).load_state_dict(state)

    def test_rank_of_environment(self) -> None:
        both = {"RANK": "1", "WORLD_SIZE": "4", "PADDLE_TRAINER_ID": "2", "PADDLE_TRAINERS_NUM": "3"}
        self.assertEqual(streaming.rank_of({}), (0, 1))
        self.assertEqual(streaming.rank_of(both), (1, 4))
        self.assertEqual(streaming.rank_of({k: v for k, v in both.items() if "P" in k}), (2, 3))
        old = {"PADDLE_INIT_TRAINER_ID": "5", "PADDLE_INIT_NUM_GRADIENT_SERVERS": "6"}
        self.assertEqual(streaming.rank_of(old), (5, 6))
        with self.assertRaisesRegex(ValueError, "WORLD_SIZE=''"):
            streaming.rank_of({"RANK": "1"})
        with mock.patch.dict(os.environ, both):
            self.assertEqual(ids(self.stream()), list(range(1, TOTAL, 4)))
        with self.assertRaisesRegex(ValueError, "rank 4 of 4"):
            self.stream(4, 4)
        with self.assertRaisesRegex(ValueError, "need each other"):
            self.stream(4)

    def test_stopped_early(self) -> None:
        """An iterator that is dropped ends its thread."""
        import threading

        before = threading.active_count()
        for _ in range(20):
            next(iter(self.stream()))
        self.assertEqual(threading.active_count(), before)

    def test_memory(self) -> None:
        """However slow the reader of a stream is, the thread reads one chunk ahead and no more if it does not shuffle."""
        size, many = 1 << 20, 24
        data = b"".join(chunk([bytes(1000)] * (size // 1004)) for _ in range(many))
        (self.dir / "big").write_bytes(data)
        records = iter(recordio.stream(self.dir / "big"))
        next(records)
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for i, _ in enumerate(records):
            if i % 5000 == 0:
                time.sleep(0.02)  # for what a thread without a bound would read
        self.assertEqual(i, many * (size // 1004) - 2)
        self.assertLess(tracemalloc.get_traced_memory()[1], streaming._GROUP_RECORDS * 1050 + 4 * size)

    def test_malformed_record(self) -> None:
        (self.dir / "bad").write_bytes(recordio_chunk := (self.path / "t-00001-of-00005").read_bytes())
        self.assertTrue(recordio_chunk)
        with self.assertRaisesRegex(ValueError, r"bad, record 0: "):
            list(recordio.stream(self.dir / "bad", decode="json"))
