import datetime
import io
import os
import pickle
from pathlib import Path
from typing import Any, Iterator
from unittest import mock

import numpy as np

import recordio
from recordio.shards import find

from .files import WRITTEN, InDirectory, needs_written


class Writer(InDirectory):
    def test_what_is_no_record(self) -> None:
        with recordio.writer(self.dir / "f") as w:
            for wrong in (3, "text", None, [1]):
                with self.assertRaisesRegex(TypeError, "a record is bytes"):
                    w.write(wrong)  # type: ignore[arg-type]
        self.assertEqual(len(recordio.Dataset(self.dir / "f")), 0)

    def test_json_keys(self) -> None:
        """A key that JSON would turn into text is an error."""
        for wrong in ({1: 2}, [{"a": {None: 1}}], ({True: 1},)):
            with self.assertRaisesRegex(TypeError, "JSON has no key"):
                recordio.convert(self.dir / "x", [wrong], 100, "t", payload="json")
        self.assertEqual(list((self.dir / "x").iterdir()), [])

    @needs_written
    def test_same_as_go(self) -> None:
        """Files of the Go writer, written again: the same bytes without compression and with snappy, and
        the same chunks and records with gzip and zstd."""
        for name in ("none", "mixed", "small", "empty"):
            records = list(recordio.Dataset(WRITTEN / (name + ".none"), decode="raw"))
            for variant, compressor, size in (
                ("none", "none", 32 << 20),
                ("none-chunks", "none", 1000),
                ("snappy", "snappy", 32 << 20),
                ("snappy-chunks", "snappy", 100_000),
                ("gzip", "gzip", 100_000),
                ("zstd", "zstd", 100_000),
            ):
                want, got = WRITTEN / ("%s.%s" % (name, variant)), self.dir / ("%s.%s" % (name, variant))
                with recordio.writer(got, compressor, size) as w:
                    for record in records:
                        w.write(record)
                if compressor in ("none", "snappy"):
                    self.assertEqual(got.read_bytes(), want.read_bytes(), got.name)
                chunks = [[c.records for c in find(p).shards[0].chunks.chunks] for p in (got, want)]
                self.assertEqual(chunks[0], chunks[1], got.name)
                ds = recordio.Dataset(got, decode="raw")
                self.assertEqual((list(ds), ds[:]), (records, records), got.name)

    def test_atomic(self) -> None:
        path = self.dir / "a"
        with self.assertRaises(ZeroDivisionError), recordio.writer(path) as w:
            w.write(b"x")
            raise ZeroDivisionError
        self.assertEqual(os.listdir(self.dir), [])
        w = recordio.writer(path)
        w.write(b"x")
        self.assertFalse(path.exists())
        w.close()
        w.close()
        self.assertEqual(os.listdir(self.dir), ["a"])
        self.assertEqual(path.stat().st_mode & 0o777, 0o666 & ~recordio_umask())
        with self.assertRaisesRegex(ValueError, "a: the writer is closed"):
            w.write(b"y")

    def test_full_disk(self) -> None:
        w = recordio.writer(self.dir / "a")
        w.write(b"x")
        with mock.patch("os.fsync", side_effect=OSError(28, "No space left on device")), self.assertRaises(OSError):
            w.close()
        with self.assertRaisesRegex(ValueError, "a: a write failed, and the file was given up"):
            w.close()
        self.assertEqual(os.listdir(self.dir), [])

    def test_failed_write(self) -> None:
        """After a write that failed the file would have half a chunk: nothing more is written, and no file appears."""
        w = recordio.writer(self.dir / "a", chunk_size=10)
        w.write(b"0123456789")
        with mock.patch.object(w._out, "write", side_effect=OSError(28, "No space left on device")), self.assertRaisesRegex(OSError, "No space"):
            w.write(b"x")
        for again in (lambda: w.write(b"x"), w.close):
            with self.assertRaisesRegex(ValueError, "a: a write failed, and the file was given up"):
                again()
        self.assertEqual(os.listdir(self.dir), [])

    def test_refused(self) -> None:
        for options in ({"compressor": "lz4"}, {"chunk_size": 0}):
            with self.assertRaises(ValueError):
                recordio.writer(self.dir / "a", **options)

    def test_elsewhere(self) -> None:
        import fsspec

        fs = fsspec.filesystem("memory")
        self.addCleanup(fs.rm, "/d", recursive=True)
        recordio.convert("memory://d", lambda: range(10), 4, "t", payload="msgpack")
        self.assertEqual(list(recordio.stream("memory://d")), list(range(10)))
        self.assertEqual(recordio.Dataset("memory://d/t-*")[[9, 0]], [9, 0])
        with self.assertRaises(FileExistsError):
            recordio.convert("memory://d", lambda: range(10), 4, "t")


def recordio_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


class Convert(InDirectory):
    def counts(self, n: int, line_count: int) -> list[int]:
        with_name = self.dir / ("%d-%d" % (n, line_count))
        paths = recordio.convert(with_name, lambda: ((i, [1.5]) for i in range(n)), line_count, "t")
        self.assertEqual(paths, [str(p) for p in sorted(with_name.glob("t-*"))])
        ds = recordio.Dataset(with_name)
        self.assertEqual(list(ds), [(i, [1.5]) for i in range(n)])
        return [len(s) for s in ds.shards]

    def test_like_paddle(self) -> None:
        for n, line_count, want in ((10, 4, [5, 4, 1]), (9, 4, [5, 4, 0]), (4, 4, [4]), (0, 4, [0]), (3, 1, [2, 1, 0])):
            self.assertEqual(self.counts(n, line_count), want)

    def test_payloads(self) -> None:
        sample = {"a": np.arange(6, dtype="<f4").reshape(2, 3), "b": b"x", "c": [1, None, "é"]}
        for payload in ("pickle", "msgpack"):
            recordio.convert(self.dir, [sample], 1, payload, payload=payload)
            got = recordio.Dataset(self.dir / payload)[0]
            np.testing.assert_array_equal(got["a"], sample["a"])
            self.assertEqual((got["a"].dtype, got["a"].flags.writeable, got["b"], got["c"]), (np.float32, True, b"x", [1, None, "é"]))
        recordio.convert(self.dir, [[1, "\u2028"], 3], 1, "j", payload="json")
        self.assertEqual(recordio.Dataset(self.dir / "j")[:], [[1, "\u2028"], 3])

    def test_what_a_payload_lacks(self) -> None:
        for payload, sample in (
            ("msgpack", datetime.date(2024, 1, 1)),
            ("msgpack", {1, 2}),
            ("msgpack", np.array(["a"])),
            ("msgpack", 1 << 70),
            ("msgpack", np.datetime64("2024-01-01", "ns")),
            ("msgpack", np.datetime64("NaT")),
            ("msgpack", np.timedelta64(1, "ns")),
            ("msgpack", "\ud800"),
            ("json", "\ud800"),
            ("json", b"x"),
            ("json", float("nan")),
            ("raw", "text"),
            ("pickle", io.StringIO()),
            ("pickle", datetime.date(2024, 1, 1)),
            ("pickle", [print]),
            ("pickle", np.array([{}])),
        ):
            with self.assertRaisesRegex((TypeError, ValueError, OverflowError), "^sample 1: "):
                recordio.convert(self.dir, [b"", sample] if payload == "raw" else [0, sample], 1, "t", payload=payload)
            self.assertEqual(os.listdir(self.dir), [])

    def test_prefix(self) -> None:
        """Prefixes that paddlectl refuses."""
        for prefix in ("", ".t", "a/b", "a\\b", "a\nb", "a\x7f", "\ufffd"):
            with self.assertRaisesRegex(ValueError, "name_prefix"):
                recordio.convert(self.dir, [0], 1, prefix)
        self.assertEqual(os.listdir(self.dir), [])

    def test_fails_in_the_middle(self) -> None:
        def reader() -> Iterator[Any]:
            yield from range(10)
            raise OSError("gone")

        with self.assertRaisesRegex(OSError, "gone"):
            recordio.convert(self.dir, reader, 2, "t")
        self.assertEqual(os.listdir(self.dir), [])

    def test_exists(self) -> None:
        recordio.convert(self.dir, range(3), 2, "t")
        before = {p.name: p.read_bytes() for p in Path(self.dir).iterdir()}
        with self.assertRaisesRegex(FileExistsError, "the dataset exists: remove it first"):
            recordio.convert(self.dir, range(3), 2, "t")
        self.assertEqual({p.name: p.read_bytes() for p in Path(self.dir).iterdir()}, before)
        (self.dir / ".t.manifest").unlink()
        with self.assertRaisesRegex(FileExistsError, "is of no dataset"):
            recordio.convert(self.dir, range(3), 2, "t")

    def test_pickles_of_python_2(self) -> None:
        recordio.convert(self.dir, [(1, "é")], 1, "t")
        with recordio.reader(str(self.dir / "t-00000")) as records:
            self.assertEqual(next(records), pickle.dumps((1, "é"), 2))
