"""Files for the tests."""

import os
import shutil
import struct
import tempfile
import unittest
import zlib

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "recordio", "testdata", "golden")
WRITTEN = os.environ.get("RECORDIO_WRITTEN")  # files that the Go writer made just before
needs_written = unittest.skipUnless(WRITTEN, "go test ./python writes the files for this test")


def has_numpy():
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


def payload(records):
    return b"".join(struct.pack("<I", len(r)) + r for r in records)


def chunk(stored, count, compressor=0):
    """Returns a chunk of a payload as stored."""
    head = (0x01020304, zlib.crc32(stored) & 0xFFFFFFFF, compressor, len(stored), count)
    return struct.pack("<5I", *head) + stored


def records_chunk(records):
    return chunk(payload(records), len(records))


class InDirectory(unittest.TestCase):
    """A test with a directory of its own, self.dir."""

    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def write(self, name, data):
        path = os.path.join(self.dir, name)
        with open(path, "wb") as f:
            f.write(data)
        return path
