import json

import msgpack

import recordio

from .files import WRITTEN, InDirectory, chunk, needs_written


class Hostile(InDirectory):
    """Bad records and damaged files are errors that name the place, in bounded memory and time."""

    def refused(self, payload: str, record: bytes) -> None:
        path = self.dir / "bad"
        path.write_bytes(chunk([record]))
        with self.assertRaisesRegex(ValueError, "bad, record 0: "):
            recordio.Dataset(path, decode=payload)[0]
        (self.dir / ".bad.idx").unlink()

    def test_msgpack(self) -> None:
        heads = (b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdb\x7f\xff\xff\xff")
        for record in (b"", b"\xc1", b"\x01\x02", b"\x91" * 100_000, b"\x81\x90\x01", *heads):
            self.refused("msgpack", record)
        for kind, shape, data in (("V2000000000", [1], b"x"), ("<f4", [1 << 40], b"xxxx"), ("O", [1], b"x" * 8), ([1], 3, 1)):
            self.refused("msgpack", msgpack.packb({b"nd": True, b"type": kind, b"shape": shape, b"data": data}))

    def test_others(self) -> None:
        self.refused("json", b"[" * 100_000)
        for record in (b"", b"\x80\x02cos\nsystem\n.", b"r\xff\xff\xff\x7f.", b"(" * 100_000, b"\x80\x04\x95" + b"\xff" * 7 + b"\x7f."):
            self.refused("pickle", record)

    @needs_written
    def test_damage_as_in_go(self) -> None:
        """The reader returns as many records of a damaged file as the Scanner in Go, before its error."""
        for line in (WRITTEN / "damaged.jsonl").read_text().splitlines():
            case = json.loads(line)
            data = bytearray((WRITTEN / case["File"]).read_bytes())
            data[case["At"]] ^= case["Mask"]
            path = self.dir / "damaged"
            path.write_bytes(data[: case["Size"]])
            count, failed = 0, False
            with recordio.reader(str(path)) as records:
                try:
                    for _ in records:
                        count += 1
                except recordio.RecordIOError:
                    failed = True
            self.assertEqual((count, failed), (case["Records"], case["Failed"]), case)
