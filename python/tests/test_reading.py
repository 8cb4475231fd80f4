import gzip
import hashlib
import io
import json
import os
import unittest

import recordio
from recordio import chunks

from .files import GOLDEN, WRITTEN, InDirectory, chunk, needs_written, payload, records_chunk


def digest(records):
    """The digest that the index of the golden files states."""
    h, count = hashlib.sha256(), 0
    for record in records:
        h.update(("%d:" % len(record)).encode() + record)
        count += 1
    return count, h.hexdigest()


def gzipped(data):
    f = io.BytesIO()
    with gzip.GzipFile(fileobj=f, mode="wb") as z:
        z.write(data)
    return f.getvalue()


class Golden(unittest.TestCase):
    """Files that the original library wrote."""

    def test_golden(self):
        with io.open(os.path.join(GOLDEN, "index.json"), encoding="utf-8") as f:
            index = json.load(f)
        self.assertGreater(len(index), 20)
        for entry in index:
            got = digest(recordio.reader(os.path.join(GOLDEN, entry["File"])))
            self.assertEqual(got, (entry["Records"], entry["RecordsSHA256"]), entry["File"])


@needs_written
class Written(unittest.TestCase):
    def test_written(self):
        with io.open(os.path.join(WRITTEN, "index.json"), encoding="utf-8") as f:
            index = json.load(f)
        self.assertGreater(len(index), 2)
        for entry in index:
            got = digest(recordio.reader(os.path.join(WRITTEN, entry["File"])))
            self.assertEqual(got, (entry["Records"], entry["RecordsSHA256"]), entry["File"])


class Reading(InDirectory):
    def read(self, data):
        return list(recordio.reader(self.write("f", data)))

    def test_empty_file(self):
        self.assertEqual(self.read(b""), [])

    def test_read_until_none(self):
        r = recordio.reader(self.write("f", records_chunk([b"a", b""]) + records_chunk([b"b"])))
        got = [r.read() for _ in range(5)]
        self.assertEqual(got, [b"a", b"", b"b", None, None])

    def test_usual_loop_passes_empty_records(self):
        r = recordio.reader(self.write("f", records_chunk([b"", b"a", b"", b"b", b""])))
        got = []
        while True:
            d = r.read()
            if not d:
                break
            got.append(d)
        self.assertEqual(got, [b"", b"a", b"", b"b", b""])

    def test_chunks_without_records_are_metadata(self):
        other = chunk(b"anything", 0, compressor=77)
        self.assertEqual(self.read(other + records_chunk([b"a"]) + other), [b"a"])

    def test_gzip_of_two_members(self):
        parts = [gzipped(payload([b"a"])), gzipped(payload([b"b"]))]
        self.assertEqual(self.read(chunk(b"".join(parts), 2, compressor=2)), [b"a", b"b"])

    def test_closed(self):
        with recordio.reader(self.write("f", records_chunk([b"a", b"b"]))) as r:
            self.assertEqual(r.read(), b"a")
        self.assertIsNone(r.read())

    def test_no_such_file(self):
        with self.assertRaises(EnvironmentError):
            recordio.reader(os.path.join(self.dir, "none"))


class Damage(InDirectory):
    RECORDS = [b"one", b"", b"three"]

    def read(self, data):
        """Returns the records before the damage, and the damage."""
        got = []
        r = recordio.reader(self.write("f", data))
        try:
            for record in r:
                got.append(record)
        except recordio.RecordIOError as e:
            with self.assertRaises(recordio.RecordIOError):
                r.read()
            return got, str(e)
        return got, None

    def test_every_bit(self):
        good = records_chunk(self.RECORDS)
        for i in range(8 * len(good)):
            bad = bytearray(good)
            bad[i // 8] ^= 1 << i % 8
            got, error = self.read(good + bytes(bad) + good)
            self.assertEqual(got, self.RECORDS, "bit %d" % i)
            self.assertIsNotNone(error, "bit %d" % i)

    def test_every_length(self):
        good = records_chunk(self.RECORDS)
        for n in range(1, len(good)):
            got, error = self.read(good + good[:n])
            self.assertEqual(got, self.RECORDS, n)
            self.assertIn("cut off", error, n)

    def test_messages(self):
        good = payload(self.RECORDS)
        tests = {
            b"\n": "cut off",
            b"no RecordIO file at all": "not a RecordIO file",
            chunk(good, 2): "follow the last of 2 records",
            chunk(good, 4): "states 4 records",
            chunk(good, 1 << 31): "states 2147483648 records",
            chunk(good[:-1], 3): "a record of 5 bytes where 4 are left",
            chunk(good, 3, compressor=1): "not a snappy stream",
            chunk(good, 3, compressor=2): "gzip",
            chunk(good, 3, compressor=0x5A530001): "chunk 0, offset 0: compressor zstd is not supported without the extra [fast]: install paddle-recordio[fast], or rewrite the file with none, snappy or gzip (paddlectl recordio recompress)",
            records_chunk([b"x"])[:12] + b"\xff\xff\xff\xff" + b"\x01\x00\x00\x00": "at most",
        }
        for data, says in tests.items():
            got, error = self.read(data)
            self.assertEqual(got, [])
            self.assertIn(says, error)
            self.assertIn(os.path.join(self.dir, "f"), error)
            self.assertEqual("salvage saves the rest" in error, "zstd" not in error, error)

    def test_bomb(self):
        limit, chunks.MAX_CHUNK = chunks.MAX_CHUNK, 1 << 16
        self.addCleanup(setattr, chunks, "MAX_CHUNK", limit)
        bomb = gzipped(b"\0" * (1 << 20))
        self.assertIn("more than 65536 bytes", self.read(chunk(bomb, 1, compressor=2))[1])


if __name__ == "__main__":
    unittest.main()
