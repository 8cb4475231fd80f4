import hashlib
import json
import pickle
import random
import struct
import warnings

import msgpack

import recordio
from recordio import codecs
from recordio.damage import Damage

from .files import WRITTEN, InDirectory, chunk, ids, needs_written

CASES = 300


class Hostile(InDirectory):
    """Bad records and damaged files are errors that name the place, in bounded memory and time."""

    def refused(self, payload: str, record: bytes, why: str = "") -> None:
        path = self.dir / "bad"
        path.write_bytes(chunk([record]))
        with self.assertRaisesRegex(ValueError, "bad, record 0: " + why):
            recordio.Dataset(path, decode=payload)[0]
        (self.dir / ".bad.idx").unlink()

    def test_msgpack(self) -> None:
        heads = (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff")
        for record in (b"", b"\x01\x02", b"\x81\x90\x01", *heads):
            self.refused("msgpack", record)
        self.refused("msgpack", b"\xc1", "not MessagePack")
        self.refused("msgpack", b"\x91" * 100_000, "MessagePack that is nested too deeply")
        for kind, shape, data in (("V2000000000", [1], b"x"), ("<f4", [1 << 40], b"xxxx"), ("O", [1], b"x" * 8), ([1], 3, 1)):
            self.refused("msgpack", msgpack.packb({b"nd": True, b"type": kind, b"shape": shape, b"data": data}))

    def test_index(self) -> None:
        """An index whose checksum is right, and whose content is not, is an error or is not used."""
        r = random.Random(1)
        for compressor in ("none", "snappy"):
            path = self.dir / compressor
            with recordio.writer(path, compressor, 500) as w:
                for _ in range(40):
                    w.write(bytes(r.randrange(60)))
            recordio.Dataset(path)[0]
            stored = self.dir / (".%s.idx" % compressor)
            body, outcomes = stored.read_bytes()[:-4], [0, 0]
            for i in range(CASES):
                changed = bytearray(body)
                for _ in range(r.randrange(1, 3)):
                    at = r.randrange(8, len(changed))
                    changed[at : at + r.randrange(3)] = r.choice([r.randbytes(1), b"\xff" * r.randrange(11) + r.randbytes(1), b""])
                stored.write_bytes(changed + struct.pack("<I", codecs.crc32c(bytes(changed))))
                try:
                    lengths = list(map(len, recordio.Dataset(path)[:]))
                except recordio.RecordIOError:
                    lengths = []
                outcomes[bool(lengths)] += 1
                self.assertIn(len(lengths), (0, 40), i)
            self.assertTrue(all(outcomes), outcomes)

    def test_others(self) -> None:
        for record in (b"[" * 100_000, b"NaN", b"[-Infinity]"):
            self.refused("json", record)
        for record in (b"", b"\x80\x02cos\nsystem\n.", b"r\xff\xff\xff\x7f.", b"(" * 100_000, b"N.N.", b"\x80\x04\x95" + b"\xff" * 7 + b"\x7f."):
            self.refused("pickle", record)

    @needs_written
    def test_damage_as_in_go(self) -> None:
        """With each policy, the records of a damaged file are those of the Scanner in Go, and so is what it counts."""
        for line in (WRITTEN / "damaged.jsonl").read_text().splitlines():
            case = json.loads(line)
            data = bytearray((WRITTEN / case["File"]).read_bytes())
            data[case["At"]] ^= case["Mask"]
            path = self.dir / "damaged"
            path.write_bytes(data[: case["Size"]])
            for records in (recordio.reader(str(path)), recordio.stream(path, decode="raw")):
                count, failed = 0, False
                try:
                    for _ in records:
                        count += 1
                except recordio.RecordIOError:
                    failed = True
                self.assertEqual((count, failed), (case["Records"], case["Failed"]), case)
            for policy, want in case["Rest"].items():
                with warnings.catch_warnings(record=True) as told:
                    warnings.simplefilter("always")
                    with recordio.reader(str(path), on_damage=policy) as reader:
                        self.assertEqual(digest(list(reader)), want["Digest"], case)
                    self.assertEqual([type(w.message) for w in told], [recordio.DamageWarning] * want["Loss"]["Places"], case)
                    self.assertEqual(loss(reader.damage), want["Loss"], case)
                    dataset = recordio.Dataset(path, "raw", on_damage=policy)
                    self.assertEqual(len(told), want["Loss"]["Places"] + bool(want["Loss"]["Places"]), case)
                    for ds in (dataset, pickle.loads(pickle.dumps(dataset))):
                        self.assertEqual(digest(list(ds)), want["Digest"], case)
                        self.assertEqual(digest(ds[:]), want["Digest"], case)
                        self.assertEqual(loss(ds.damage), want["Loss"], case)
                    self.assertEqual(len(told), want["Loss"]["Places"] + bool(want["Loss"]["Places"]), case)

    def test_lost_without_a_trace(self) -> None:
        """A file that ends at a chunk, before its manifest says so."""
        directory = self.dataset([[3, 3], [2]])
        path = directory / "t-00000-of-00002"
        path.write_bytes(path.read_bytes()[: len(path.read_bytes()) // 2])
        with self.assertWarnsRegex(recordio.DamageWarning, "t-00000-of-00002: 1 damaged places: 3 records are left out, 0 saved"):
            records = recordio.stream(directory, on_damage="skip")
        self.assertEqual(ids(records), [0, 1, 2, 6, 7])
        self.assertEqual([d.lost for d in records.dataset.damage], [3])
        with self.assertRaisesRegex(ValueError, "on_damage='ignore'"):
            recordio.Dataset(directory, on_damage="ignore")


def digest(records: list[bytes]) -> str:
    h = hashlib.sha256()
    for r in records:
        h.update(b"%d:%b" % (len(r), r))
    return h.hexdigest()


def loss(damage: list[Damage]) -> dict[str, int]:
    return {
        "Places": len(damage),
        "Bytes": sum(d.bytes for d in damage),
        "Records": sum(d.lost or 0 for d in damage),
        "Saved": sum(d.saved for d in damage),
        "Unknown": sum(d.lost is None for d in damage),
    }
