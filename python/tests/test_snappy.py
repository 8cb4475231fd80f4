import random
import unittest

from recordio import RecordIOError, snappy

STREAM = b"\xff\x06\x00\x00sNaPpY"


def frame(kind, body):
    n = len(body)
    return bytes(bytearray([kind, n & 255, n >> 8 & 255, n >> 16])) + body


class Blocks(unittest.TestCase):
    def test_blocks(self):
        tests = {
            b"\x00": b"",
            b"\x05\x10Hello": b"Hello",
            b"\x05\xf0\x04Hello": b"Hello",  # the length in one byte, two, three, four
            b"\x05\xf4\x04\x00Hello": b"Hello",
            b"\x05\xf8\x04\x00\x00Hello": b"Hello",
            b"\x05\xfc\x04\x00\x00\x00Hello": b"Hello",
            b"\x06\x04ab\x01\x02": b"ababab",  # copies, near and overlapping
            b"\x05\x00a\x01\x01": b"aaaaa",
            b"\x04\x04ab\x06\x02\x00": b"abab",
            b"\x04\x04ab\x07\x02\x00\x00\x00": b"abab",
            b"\x07\x04ab\x12\x02\x00": b"abababa",
        }
        for block, want in tests.items():
            self.assertEqual(snappy.decode_block(block), want, block)

    def test_refused(self):
        tests = [
            b"",
            b"\x80",
            b"\x80\x80\x80\x80\x80\x01",
            b"\x81\x80\x04",  # 65537 bytes
            b"\x05\x10Hell",
            b"\x04\x10Hello",
            b"\x06\x10Hello",
            b"\x05\xf0",
            b"\x04\x04ab\x01",
            b"\x04\x04ab\x06\x02",
            b"\x04\x04ab\x07\x02\x00",
            b"\x04\x04ab\x06\x03\x00",  # before the beginning
            b"\x04\x04ab\x06\x00\x00",  # offset 0
        ]
        for block in tests:
            with self.assertRaises(RecordIOError):
                snappy.decode_block(block)
                self.fail(block)

    def test_garbage_raises_nothing_else(self):
        r = random.Random(1)
        for _ in range(3000):
            data = bytes(bytearray(r.randrange(256) for _ in range(r.randrange(40))))
            for decode in (snappy.decode_block, lambda d: snappy.decode_stream(STREAM + d, 1 << 20)):
                try:
                    self.assertLessEqual(len(decode(data)), 1 << 20)
                except RecordIOError:
                    pass


class Streams(unittest.TestCase):
    def test_frames(self):
        data = (
            STREAM
            + frame(0x01, b"\0\0\0\0ab")
            + frame(0x99, b"skipped")
            + frame(0xFE, b"\0\0")
            + STREAM
            + frame(0x00, b"\0\0\0\0" + b"\x05\x10Hello")
        )
        self.assertEqual(snappy.decode_stream(data, 7), b"abHello")
        with self.assertRaises(RecordIOError):
            snappy.decode_stream(data, 6)

    def test_refused(self):
        tests = [
            b"",
            frame(0x01, b"\0\0\0\0ab"),  # no beginning
            STREAM + b"\x01\x06\x00",
            STREAM + frame(0x01, b"\0\0\0\0ab")[:-1],
            STREAM + frame(0x01, b"\0\0"),
            STREAM + frame(0x02, b"\0\0\0\0"),
            STREAM + frame(0x01, b"\0" * (4 + 65537)),
        ]
        for data in tests:
            with self.assertRaises(RecordIOError):
                snappy.decode_stream(data, 1 << 20)
                self.fail(data[:40])
