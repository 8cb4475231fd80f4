import json
import multiprocessing
import os
import pickle
from pathlib import Path
from typing import Any, Callable, Iterator
from unittest import mock

import numpy as np

import recordio
from recordio import streaming
from recordio.chunks import COMPRESSORS, native
from recordio.storage import Local, Remote

from .files import WRITTEN, InDirectory, chunk, ids, needs_written

COUNTS = [[3, 0, 2], [4], [], [1, 1, 1]]  # a chunk without records, and a shard without chunks


def picked(dataset: Any, queue: Any) -> None:
    queue.put(ids(dataset[[11, 0, 5, 5]]))


def write_numbers(directory: Path, first: int) -> None:
    """Replaces a dataset of 1,400 numbers in 70 files, more than stay open."""
    shards = []
    for i in range(70):
        name, at = "t-%05d-of-00070" % i, first + 20 * i
        data = b"".join(chunk([b"%08d" % k for k in range(k, k + 10)]) for k in (at, at + 10))
        new = directory / "new"
        new.write_bytes(data)
        os.utime(new, ns=(0, 10**18 + first * 10**9))
        os.replace(new, directory / name)
        shards.append({"name": name, "records": 20, "record_bytes": 160, "bytes": len(data), "digest": ""})
    m = {"format": "paddle-dataset", "version": 1, "name": "t", "records": 1400, "payload": "raw", "shards": shards}
    (directory / ".t.manifest").write_text(json.dumps(m))


def at_random(directory: Path) -> Iterator[int]:
    ds = recordio.Dataset(directory, cache_bytes=0)
    for i in np.random.default_rng(1).permutation(1400):
        yield int(ds[i])


def in_batches(directory: Path) -> Iterator[int]:
    ds = recordio.Dataset(directory, cache_bytes=0)
    for batch in np.random.default_rng(1).permutation(1400).reshape(14, 100):
        yield from map(int, ds[batch])


def in_workers(directory: Path) -> Iterator[int]:
    """Each process has a copy of the dataset, which may begin to read later."""
    ds = recordio.Dataset(directory)
    yield int(ds[0])
    yield from (int(r) for r in pickle.loads(pickle.dumps(ds))[1:])


def as_stream(shuffle: str) -> Callable[[Path], Iterator[int]]:
    return lambda directory: map(int, recordio.stream(directory, shuffle=shuffle, cache_bytes=0))


READERS: dict[str, Callable[[Path], Iterator[int]]] = {
    "random": at_random,
    "batches": in_batches,
    "workers": in_workers,
    "stream": as_stream("none"),
    "global": as_stream("global"),
    "block": as_stream("block:5"),
    "plain": lambda directory: map(int, recordio.recordio_reader(str(directory), 1, 0)()),
}


class Dataset(InDirectory):
    def test_by_number(self) -> None:
        directory = self.dataset(COUNTS)
        for pattern in (directory, directory / "t", str(directory) + "/t*", sorted(directory.glob("t*"))):
            ds = recordio.Dataset(pattern)
            self.assertEqual(len(ds), 12)
            self.assertEqual(ids(ds), list(range(12)))
            self.assertEqual(ids(ds[i] for i in range(-12, 12)), list(range(12)) * 2)
            self.assertEqual(ids(ds[2:9:3]), [2, 5, 8])
            self.assertEqual(ids(ds.__getitems__([11, 0, 11])), [11, 0, 11])
            self.assertEqual(ids(ds[np.array([4, 3])]), [4, 3])
            self.assertEqual(ds[[]], [])
            self.assertEqual(ids(ds.decode_batch(ds.read_batch([7, 1]))), [7, 1])
            for i in (12, -13):
                with self.assertRaisesRegex(IndexError, "record %d of 12" % i):
                    ds[i]
        self.assertIn("12 records in 4 files", repr(ds))
        self.assertTrue((directory / ".t-00000-of-00004.idx").exists())

    def test_what_is_no_number(self) -> None:
        ds: Any = recordio.Dataset(self.dataset(COUNTS))
        for wrong in ("3", ["3"], [1.5], 1.5, np.array([True] * 12), [None], b"3"):
            with self.assertRaises(TypeError):
                ds[wrong]
        for far in (2**70, [-(2**70)], [0, 2**63]):
            with self.assertRaises(IndexError):
                ds[far]
        self.assertEqual(ids(ds[np.array([3, 11], np.uint64)]), [3, 11])
        with self.assertRaisesRegex(ValueError, "cache_bytes=-1"):
            recordio.Dataset(self.dir / "t", cache_bytes=-1)

    def test_edited_manifest(self) -> None:
        """Types that a manifest cannot have, and columns that records lack, are errors."""
        directory = self.dataset(COUNTS)
        manifest = directory / ".t.manifest"
        m = json.loads(manifest.read_text())
        for kind in ("foo", "integer", "list<foo>", "Int"):
            manifest.write_text(json.dumps({**m, "columns": [{"name": "id", "type": kind}]}))
            with self.assertRaisesRegex(ValueError, "this package does not know it"):
                recordio.Dataset(directory)
        manifest.write_text(json.dumps({**m, "columns": [{"name": "day", "type": "date"}]}))
        with self.assertRaisesRegex(ValueError, "record 5: the record has no column 'day'|record 0: the record has no column 'day'"):
            recordio.Dataset(directory)[5]

    def test_one_file(self) -> None:
        path = self.dataset(COUNTS) / "t-00001-of-00004"
        self.assertEqual(ids(recordio.Dataset(path)), [5, 6, 7, 8])

    def test_processes(self) -> None:
        ds = recordio.Dataset(self.dataset(COUNTS))
        ds[0]
        for method in ("fork", "spawn", "forkserver"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            process = context.Process(target=picked, args=(ds, queue))
            process.start()
            self.assertEqual(queue.get(timeout=60), [11, 0, 5, 5], method)
            process.join()
        self.assertEqual(ids(pickle.loads(pickle.dumps(ds))), list(range(12)))

    def test_small_cache(self) -> None:
        ds = recordio.Dataset(self.dataset(COUNTS), cache_bytes=0)
        self.assertEqual(ids(ds[[3, 9, 4]]), [3, 9, 4])

    def test_without_manifest_bytes(self) -> None:
        (self.dir / "a").write_bytes(chunk([b"[1]", b"", b"\x80\x02."]))
        ds = recordio.Dataset(self.dir / "a")
        self.assertEqual(list(ds), [b"[1]", b"", b"\x80\x02."])
        self.assertEqual(recordio.Dataset(self.dir / "a", decode=len)[:], [3, 0, 3])
        with self.assertRaisesRegex(ValueError, r"a, record 1: "):
            recordio.Dataset(self.dir / "a", decode="json")[1]
        with self.assertRaisesRegex(ValueError, "no payload 'auto'"):
            recordio.Dataset(self.dir / "a", decode="auto")

    def test_json_of_numbers(self) -> None:
        (self.dir / "n").mkdir()
        directory = self.dataset([[1]], payload="json")
        self.assertEqual(recordio.Dataset(directory)[0], {"id": 0})

    def test_incomplete(self) -> None:
        directory = self.dataset(COUNTS)
        with self.assertRaisesRegex(ValueError, "3 of the 4 files of the dataset t are not among those named"):
            recordio.Dataset(str(directory) + "/t-00001*")
        (directory / "t-00003-of-00004").unlink()
        with self.assertRaisesRegex(ValueError, "1 of the 4 files of the dataset t are not among"):
            recordio.Dataset(str(directory) + "/t*")
        with self.assertRaisesRegex(FileNotFoundError, "t-00003-of-00004: the manifest lists this file"):
            recordio.Dataset(directory)
        (directory / "t-00003-of-00004").write_bytes(b"x")
        with self.assertRaisesRegex(recordio.RecordIOError, "the file has 1 bytes, and the manifest states"):
            recordio.Dataset(directory)
        (directory / "t-00003-of-00004").unlink()
        self.assertEqual(len(recordio.Dataset(str(directory) + "/t*", check=False)), 9)

    def test_stale(self) -> None:
        """A shard that an earlier run left is an error, as in paddlectl."""
        directory = self.dataset(COUNTS)
        for name in ("t-00007", "t-00004-of-00005"):
            (directory / name).write_bytes((directory / "t-00001-of-00004").read_bytes())
            for pattern in (directory, directory / "t", directory / "t*"):
                with self.assertRaisesRegex(ValueError, "1 files in .*/t are of another set than the manifest of t, the first is " + name):
                    recordio.Dataset(pattern)
            self.assertEqual(ids(recordio.Dataset(directory, check=False)), list(range(12)))
            (directory / name).unlink()
        for name in ("t-x", "t-1", ".t-00007.idx", "u-00007"):
            (directory / name).write_bytes(b"")
        self.assertEqual(len(recordio.Dataset(directory)), 12)

    def test_nothing_there(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "no file matches"):
            recordio.Dataset(self.dir / "x*")
        with self.assertRaisesRegex(FileNotFoundError, "No such file or directory: '.*x'"):
            recordio.Dataset(self.dir / "x")
        with self.assertRaisesRegex(FileNotFoundError, "pfs://nowhere/home/alice/x$"):
            recordio.Dataset("/pfs/nowhere/home/alice/x")
        for directory in (self.dir, "/"):
            with self.assertRaisesRegex(ValueError, "is a directory without a dataset"):
                recordio.Dataset(directory)
        with self.assertRaisesRegex(TypeError, "pattern=3: a path, a pattern or a list"):
            recordio.Dataset(3)  # type: ignore[arg-type]
        self.dataset([[1]])
        with self.assertRaisesRegex(ValueError, "not a manifest"):
            (self.dir / "t" / ".t.manifest").write_text("{}")
            recordio.Dataset(self.dir / "t")

    def test_changed(self) -> None:
        """A file that changes while it is read is an error that names it, not wrong records."""
        directory = self.dataset([[3, 3]])
        path = directory / "t-00000-of-00001"
        data = path.read_bytes()
        for change in (data[:30], data[:-1], data[:1] + b"x" + data[2:], data[:-1] + b"x", chunk([b"other"] * 6)):
            path.write_bytes(data)
            for idx in directory.glob(".*.idx"):
                idx.unlink()
            opened = recordio.Dataset(directory, cache_bytes=0)
            opened[5]
            read = iter(recordio.stream(directory, decode="raw"))
            path.write_bytes(change)
            if change[1] != b"x"[0]:  # records at random are found without the headers of chunks
                with self.assertRaisesRegex((recordio.ChangedError, recordio.RecordIOError), "t-00000-of-00001"):
                    opened[0], opened[5]
            with self.assertRaisesRegex((recordio.ChangedError, recordio.RecordIOError), "t-00000-of-00001"):
                list(read)

    def test_replaced(self) -> None:
        """A dataset that is replaced, by one with the same names, sizes and numbers, while it is read raises ChangedError.
        No reader returns records of both."""
        for name, read in READERS.items():
            with self.subTest(name), mock.patch.object(streaming, "_GROUP_RECORDS", 16):
                directory = self.dir / name
                directory.mkdir()
                write_numbers(directory, 0)
                records = read(directory)
                got = [next(records)]
                write_numbers(directory, 1400)
                with self.assertRaisesRegex(recordio.ChangedError, "t-000.*-of-00070"):
                    got += records
                self.assertLess(max(got), 1400)
                for index in directory.glob(".*.idx"):
                    index.unlink()
                self.assertEqual(sorted(read(directory)), list(range(1400, 2800)))

    def test_removed(self) -> None:
        directory = self.dataset([[3], [3]])
        ds = recordio.Dataset(directory)
        for path in directory.iterdir():
            path.unlink()
        with self.assertRaisesRegex(recordio.ChangedError, "t-00001-of-00002"):
            ds[4]

    def test_replaced_while_it_is_opened(self) -> None:
        """The files are those of the manifest."""
        directory = self.dataset([[3], [3]])
        manifest = directory / ".t.manifest"
        for change in (lambda: manifest.write_text(manifest.read_text() + " "), manifest.unlink):
            sizes = Local.sizes

            def replaced(storage: Local, paths: Any, change: Any = change, sizes: Any = sizes) -> Any:
                change()
                return sizes(storage, paths)

            with mock.patch.object(Local, "sizes", replaced), self.assertRaisesRegex(recordio.ChangedError, ".t.manifest"):
                recordio.Dataset(directory)

    def test_stale_index(self) -> None:
        """An index of another file is not used."""
        a, b = self.dataset([[2, 4]], "a"), self.dataset([[3, 3]], "b")
        recordio.Dataset(a)[0]
        (b / ".b-00000-of-00001.idx").write_bytes((a / ".a-00000-of-00001.idx").read_bytes())
        with self.assertRaisesRegex(recordio.RecordIOError, "is of another file: remove it"):
            recordio.Dataset(b)[0]
        (b / ".b-00000-of-00001.idx").write_bytes(b"damaged")
        self.assertEqual(ids(recordio.Dataset(b)[:]), list(range(6)))

    def test_stale_index_elsewhere(self) -> None:
        """Where a header costs a request, the chunks are compared with the index when they are first read."""
        a, b = self.dataset([[2, 4]], "a"), self.dataset([[3, 3]], "b")
        recordio.Dataset(a)[0]
        (b / ".b-00000-of-00001.idx").write_bytes((a / ".a-00000-of-00001.idx").read_bytes())
        for use in (lambda ds: ds[0], lambda ds: ds[[5, 1]], list):
            with self.assertRaisesRegex(recordio.RecordIOError, "b-00000-of-00001, chunk 0, offset 0: its index .* is of another file: remove it"):
                use(recordio.Dataset("local://%s" % b))
        ds = recordio.Dataset("local://%s" % a)
        with mock.patch.object(Remote, "ranges", autospec=True, side_effect=Remote.ranges) as ranges:
            self.assertEqual(ids(ds[[5, 1, 0, 5]]), [5, 1, 0, 5])
            self.assertEqual(ranges.call_count, 1)

    def test_views_are_read_only(self) -> None:
        """Who writes to a record does not change what others read."""
        for compressor in COMPRESSORS.values():
            with recordio.writer(self.dir / compressor, compressor) as w:
                w.write(bytes(100))
            for variant in (native, None):
                with mock.patch("recordio.dataset.native", variant):
                    (record,) = recordio.Dataset(self.dir / compressor).read_batch([0])
                self.assertTrue(record.readonly, compressor)

    def test_fork_while_a_thread_reads(self) -> None:
        """A forked process does not wait for the locks that threads of the first one held."""
        ds = recordio.Dataset(self.dataset(COUNTS), cache_bytes=0)
        context = multiprocessing.get_context("fork")
        storage: Any = ds.shards[0].storage
        with ds._blocks.lock, storage._lock:
            queue = context.Queue()
            process = context.Process(target=lambda: queue.put(ids(ds[[3, 1]])))
            process.start()
            self.assertEqual(queue.get(timeout=120), [3, 1])
            process.join()

    def test_read_only_directory(self) -> None:
        directory = self.dataset(COUNTS)
        shard = recordio.Dataset(directory).shards[0]
        os.mkdir(str(directory / ".t-00000-of-00004.idx"))  # it cannot be replaced by a file
        self.assertEqual(shard.index.first.tolist(), [0, 3, 5])
        self.assertEqual([p.name for p in directory.glob("*.tmp")], [])

    def test_damaged_before_it_is_indexed(self) -> None:
        """An index is made only of a file whose checksums are right."""
        directory = self.dataset(COUNTS)
        shard = directory / "t-00000-of-00004"
        data = bytearray(shard.read_bytes())
        data[-1] ^= 1
        shard.write_bytes(data)
        with self.assertRaisesRegex(recordio.RecordIOError, "t-00000-of-00004: chunk .*, offset .* checksum"):
            recordio.Dataset(directory)[0]
        self.assertFalse((directory / ".t-00000-of-00004.idx").exists())

    @needs_written
    def test_compressors_and_indexes(self) -> None:
        """Every record of the files of the Go writer, in order and at random; and the same index."""
        for path in sorted(WRITTEN.glob("*.*")):
            if path.name.startswith((".", "sample", "array")) or path.suffix in (".json", ".jsonl", ".goidx"):
                continue
            want = list(recordio.reader(str(path.with_suffix(".none"))))
            ds = recordio.Dataset(path, decode="raw")
            order = np.random.default_rng(1).permutation(len(ds))
            self.assertEqual(list(ds), want, path.name)
            self.assertEqual(ds[order], [want[i] for i in order], path.name)
            self.assertEqual(int(ds.shards[0].index.first[-1]), len(want))
            made = path.with_name("." + path.name + ".idx").read_bytes()
            if "index" not in path.name:  # Go's writer embeds the index, so the file has another size
                self.assertEqual(made, (WRITTEN / (path.name + ".goidx")).read_bytes(), path.name)
