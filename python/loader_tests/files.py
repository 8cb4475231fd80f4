"""Files for the tests."""

import json
import os
import struct
import tempfile
import unittest
import zlib
from pathlib import Path
from typing import Any

import msgpack

WRITTEN = Path(os.environ.get("RECORDIO_WRITTEN", "/nonexistent"))  # files that the Go test made just before
needs_written = unittest.skipUnless(WRITTEN.exists(), "go test ./python writes the files for this test")


def chunk(records: list[bytes]) -> bytes:
    payload = b"".join(struct.pack("<I", len(r)) + r for r in records)
    return struct.pack("<5I", 0x01020304, zlib.crc32(payload), 0, len(payload), len(records)) + payload


class InDirectory(unittest.TestCase):
    """A test with a directory of its own."""

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.dir = Path(directory.name)

    def dataset(self, counts: list[list[int]], name: str = "t", payload: str = "msgpack") -> Path:
        """Writes a dataset whose record i is {"id": i}, with these numbers of records in the chunks of
        each shard, and returns its directory."""
        at, shards = 0, []
        directory = self.dir / name
        directory.mkdir()
        for i, chunks in enumerate(counts):
            data = b""
            for n in chunks:
                data += chunk([self.record(k, payload) for k in range(at, at + n)])
                at += n
            shard = "%s-%05d-of-%05d" % (name, i, len(counts))
            (directory / shard).write_bytes(data)
            shards.append({"name": shard, "records": sum(chunks), "record_bytes": 1 + len(data), "bytes": len(data), "digest": ""})
        m = {"format": "paddle-dataset", "version": 1, "name": name, "records": at, "payload": payload, "shards": shards}
        (directory / (".%s.manifest" % name)).write_text(json.dumps(m))
        return directory

    def record(self, k: int, payload: str) -> bytes:
        value: Any = {"id": k}
        return bytes(msgpack.packb(value)) if payload == "msgpack" else json.dumps(value).encode()


def ids(samples: Any) -> list[int]:
    return [s["id"] for s in samples]
