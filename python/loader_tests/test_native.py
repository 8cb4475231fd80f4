import os
import random
import struct
import subprocess
import sys
import unittest
import zlib
from pathlib import Path
from typing import Any

import cramjam
import msgpack
import numpy as np

import recordio
from recordio import chunks, codecs, schema
from recordio.chunks import HEADER, NONE, SNAPPY, native
from recordio.codecs import STREAM

from .files import InDirectory

CASES = int(os.environ.get("RECORDIO_CASES", "3000"))
needs_native = unittest.skipUnless(native, "the extension is not built")


class Built(unittest.TestCase):
    def test_built(self) -> None:
        if native is None and os.environ.get("CI") == "true":
            self.fail("the extension is not built: it needs a C compiler and the headers of Python")


def framed(payload: bytes, compressor: int, count: int, crc: int | None = None) -> tuple[bytes, bytes]:
    """Returns the header of a chunk and the chunk."""
    header = HEADER.pack(0x01020304, zlib.crc32(payload) if crc is None else crc, compressor, len(payload), count)
    return header, header + payload


def snappied(data: bytes, r: random.Random) -> bytes:
    """Compresses data into frames, also of kinds that no writer makes."""
    out = STREAM
    while data:
        n = r.choice([1, 3, 200, 5000, 65536])
        part, data = data[:n], data[n:]
        kind, body = r.choice([(0, bytes(cramjam.snappy.compress_raw(part))), (1, part)])
        out += struct.pack("<I", len(body) + 4 << 8 | kind) + b"crc!" + body
        if r.random() < 0.2:
            out += r.choice([STREAM, struct.pack("<I", 3 << 8 | 0xFE) + b"pad", struct.pack("<I", 0x80)])
    return out


def in_python(chunk: bytes) -> list[bytes] | None:
    """Returns the records of a chunk as the plain reader does; None for damage."""
    header = chunks.parse_header(chunk[: HEADER.size])
    payload = chunk[HEADER.size :]
    if len(payload) < header.size or zlib.crc32(payload) != header.crc:
        return None
    try:
        return chunks._records(chunks.decompressed(payload, header.compressor), header.records)  # type: ignore[attr-defined,no-any-return]
    except recordio.RecordIOError:
        return None


@needs_native
class Chunks(InDirectory):
    def test_as_python(self) -> None:
        """Records of random chunks, intact and damaged, from memory and from a file."""
        r = random.Random(1)
        chunk, both = native.Chunk(), [0, 0]
        file = open(self.dir / "file", "w+b", buffering=0)
        self.addCleanup(file.close)
        for i in range(CASES):
            words = [r.randbytes(r.randrange(12)) for _ in range(r.randrange(1, 30))]
            records = [b"".join(r.choices(words, k=r.choice([0, 1, 10, 300]))) for _ in range(r.choice([1, 2, 50]))]
            data = b"".join(struct.pack("<I", len(d)) + d for d in records)
            compressor = r.choice([NONE, SNAPPY])
            payload = bytearray(good := data if compressor == NONE else snappied(data, r))
            count = max(1, len(records) + r.choice([0, 0, 0, 0, 1, -1, 1 << 30]))
            if r.random() < 0.5:  # damage that the checksum does not show
                for _ in range(r.randrange(4)):
                    if payload:
                        payload[r.randrange(len(payload))] ^= 1 << r.randrange(8)
                del payload[r.choice([len(payload), len(payload), r.randrange(len(payload) + 1)]) :]
            header, whole = framed(bytes(payload), compressor, count, r.choice([None, None, None, 7]))
            cut = whole[: r.choice([len(whole), len(whole), len(whole), r.randrange(len(whole) + 1)])]
            want = in_python(whole) if cut == whole else None
            file.seek(100)
            file.write(cut)
            file.truncate()
            for source, offset in ((cut, 0), (file.fileno(), 100)):
                loaded = chunk.load(source, header, offset)
                if loaded:
                    self.assertEqual(chunk.records(None), want, i)
                elif payload == good:
                    self.assertIsNone(want, i)
                both[loaded] += 1
        self.assertGreater(min(both), CASES // 4)

    def test_unframe(self) -> None:
        """Blocks of snappy frames, intact and damaged: the checksum of each frame counts."""
        r, found = random.Random(3), 0
        for i in range(CASES):
            data = b"".join(r.choices([b"word", b"\0" * 70, r.randbytes(9)], k=r.randrange(1, 40)))
            stored = bytearray(cramjam.snappy.compress(data))
            if r.random() < 0.5:
                stored[r.randrange(len(stored))] ^= 1 << r.randrange(8)
            start, end = (10, len(stored)) if r.random() < 0.9 else (r.randrange(len(stored)), r.randrange(len(stored)))
            size = len(data) + r.choice([0, 0, 0, 1, -1])
            out = native.unframe(bytes(stored), start, end, size)
            try:
                want = bytes(codecs.decompress(SNAPPY, memoryview(stored)[start:end], verify=True)) if 0 <= start <= end else b""
            except recordio.RecordIOError:
                self.assertIsNone(out, i)
                continue
            if out is not None:
                self.assertEqual((bytes(out), size), (want, len(want)), i)
                found += 1
            else:
                self.assertTrue(len(want) != size or start > end or start < 10, i)
        self.assertGreater(found, CASES // 4)
        for start, end, size in ((-1, 5, 1), (5, 4, 0), (0, 1 << 40, 3), (0, 3, -1), (0, 3, 1 << 40)):
            self.assertIsNone(native.unframe(b"abc", start, end, size))

    def test_what_is_not_allowed(self) -> None:
        chunk = native.Chunk()
        header, whole = framed(struct.pack("<I", 3) + b"abc", NONE, 1)
        self.assertTrue(chunk.load(whole, header))
        for numbers in (struct.pack("=q", 1), struct.pack("=q", -1), struct.pack("=q", 1 << 40)):
            with self.assertRaises(IndexError):
                chunk.records(numbers)
            with self.assertRaises(IndexError):
                chunk.values(numbers, None, None)
        self.assertEqual(chunk.records(struct.pack("=3q", 0, 0, 0)), [b"abc"] * 3)
        with self.assertRaises(OSError):
            chunk.load(1 << 20, header)
        self.assertEqual(chunk.records(None), [])
        for arguments in ((whole, b"short"), (-1, header), ("text", header), (1 << 70, header)):
            with self.assertRaises((ValueError, TypeError, OverflowError)):
                chunk.load(*arguments)
        huge = HEADER.pack(0x01020304, 0, SNAPPY, 0xFFFFFFFF, 0xFFFFFFFF)
        self.assertFalse(chunk.load(huge, huge))
        with self.assertRaises(TypeError):
            native.unpack((b"\1",), None, None)


def value(r: random.Random, depth: int = 0) -> Any:
    kinds = r.randrange(11 if depth < 4 else 8)
    if kinds < 3:
        return r.choice([0, 1, -1, 127, 128, -32, -33, 255, 256, 65535, 65536, -(1 << 63), (1 << 64) - 1, r.getrandbits(40), -r.getrandbits(31)])
    if kinds == 3:
        return r.choice([None, True, False])
    if kinds == 4:
        return r.choice([0.0, 1.5, -1e30, float("inf")])
    if kinds == 5:
        return "".join(r.choices("aé漢🎵", k=r.choice([0, 3, 31, 32, 300])))
    if kinds == 6:
        return r.randbytes(r.choice([0, 4, 255, 300]))
    if kinds == 7:
        array = np.arange(r.choice([1, 6, 6, 6, 0]), dtype=r.choice(["<f4", "<f4", "<i8", "|u1"]))
        kind = r.choice([array.dtype.str, array.dtype.str, array.dtype.str, "O", "nonsense"])
        shape = r.choice([[array.size], [array.size], [array.size, 1], [-1], [7], [1 << 62, 4], "x"])
        if depth < 4 and r.random() < 0.1:  # an array where another states its type or shape
            kind, shape = r.choice([(value(r, depth + 1), shape), (kind, value(r, depth + 1)), (kind, [value(r, depth + 1)])])
        return {b"nd": r.choice([True, True, True, False]), b"type": kind, b"kind": b"", b"shape": shape, b"data": array.tobytes()}
    if kinds == 8:
        return [value(r, depth + 1) for _ in range(r.choice([0, 2, 15, 16]))]
    keys: Any = ["id", "label", "x" * 40, b"raw", "é"] + ([1, None, 2.5] if r.random() < 0.2 else [])
    return {key: value(r, depth + 1) for key in r.sample(keys, k=r.randrange(5))}


def same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes() and a.flags.writeable and b.flags.writeable
    if isinstance(a, dict):
        return list(a) == list(b) and all(type(k) is type(m) for k, m in zip(a, b)) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    return a == b or a != a and b != b


@needs_native
class MessagePack(unittest.TestCase):
    def test_as_python(self) -> None:
        """Random values, intact and damaged, with arrays and without."""
        r = random.Random(2)
        decoded = {True: 0, False: 0}
        for i in range(CASES):
            record = bytearray(msgpack.packb(value(r), use_single_float=r.random() < 0.3))
            if r.random() < 0.5:
                for _ in range(r.randrange(3)):
                    record[r.randrange(len(record))] = r.randrange(256)
                del record[r.choice([len(record), r.randrange(len(record) + 1)]) :]
            for plain in (True, False):
                arrays = (None, None) if plain else (np.ndarray, schema._dtype)
                try:
                    want = msgpack.unpackb(record) if plain else schema._unpack(record)
                except Exception:
                    self.assertIsNone(native.unpack([bytes(record)], *arrays), i)
                    continue
                found = native.unpack([bytes(record)], *arrays)
                decoded[found is not None] += 1
                if found is not None:
                    self.assertTrue(same(found[0], want), (i, found, want))
                    self.assertEqual(repr(native.unpack([memoryview(record)], *arrays)), repr(found))
        self.assertGreater(decoded[True], CASES // 2)

    def test_hostile(self) -> None:
        heads = [tag + b"\xff\xff\xff\xff\x01" for tag in (b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9")]
        for record in (*heads, b"\x91" * 100_000, b"", b"\xc1", b"\x81\x90\x01"):
            self.assertIsNone(native.unpack([record], None, None))
            self.assertIsNone(native.unpack([b"\1", record], np.ndarray, schema._dtype))
        claims = b"".join(struct.pack(">BI", 0xDD, 900_000) for _ in range(90)) + bytes(1_000_000)
        before = peak()
        self.assertIsNone(native.unpack([claims], None, None))
        self.assertLess(peak() - before, 200 << 20)

    def test_arrays_in_arrays(self) -> None:
        """An array has a type and a shape, and no array states them, however often that is nested."""
        begin, middle = b"\x85\xc4\x02nd\xc3\xc4\x04type", b"\xc4\x04kind\xc4\x00\xc4\x05shape"
        array = begin + b"\xa3<f4" + middle + b"\x91\x01\xc4\x04data\xc4\x04abcd"
        for record in (
            begin * 100_000,
            (begin + b"\xa3<f4" + middle) * 100_000,
            begin + b"\xa3<f4" + middle + b"\x91" + begin + b"end",
            begin + array + array[len(begin) + 4 :],
            array.replace(b"\x91\x01", array),
            array.replace(b"<f4", b"3i4"),
            array.replace(b"\xc4\x02nd", b"\xc5\x00\x02nd"),
        ):
            self.assertIsNone(native.unpack([array, record], np.ndarray, schema._dtype))
        self.assertIsNotNone(native.unpack([array], np.ndarray, schema._dtype))

    def test_keys_are_shared(self) -> None:
        first, second = native.unpack([msgpack.packb({"some key": 1})] * 2, None, None)  # type: ignore[misc]
        self.assertIs(next(iter(first)), next(iter(second)))


def peak() -> int:
    """The most memory that this process had, in bytes."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines["VmHWM"].split()[0]) << 10


class Install(InDirectory):
    def test_without_compiler(self) -> None:
        """The package is installed without the extension, and reads the same."""
        here = Path(__file__).parents[1]
        source = self.dir / "source"
        source.mkdir()
        for name in ("setup.py", "pyproject.toml", "MANIFEST.in", "README.md", "cPickle.py"):
            (source / name).write_bytes((here / name).read_bytes())
        (source / "recordio").mkdir()
        for path in (here / "recordio").iterdir():
            if path.is_file() and path.suffix != ".so":
                (source / "recordio" / path.name).write_bytes(path.read_bytes())
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
        subprocess.run([*pip, "--target", self.dir / "lib", source], check=True, capture_output=True, env={**os.environ, "CC": "false"})
        directory = self.dataset([[3, 2], [4]])
        program = (
            "import recordio, recordio.chunks as chunks; print(chunks.native, [s['id'] for s in recordio.stream(%r)],"
            " [s['id'] for s in recordio.Dataset(%r)[[8, 1]]])" % (str(directory), str(directory))
        )
        run = [sys.executable, "-c", program]
        out = subprocess.run(run, check=True, capture_output=True, text=True, cwd=self.dir, env={**os.environ, "PYTHONPATH": str(self.dir / "lib")})
        self.assertEqual(out.stdout, "None [0, 1, 2, 3, 4, 5, 6, 7, 8] [8, 1]\n")
