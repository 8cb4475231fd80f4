import unittest

import recordio
from recordio.sets import check_sets

from .files import InDirectory, records_chunk


class Sets(InDirectory):
    # Names, and what is wrong with them; "" if nothing is.
    TESTS = [
        ("a-0-of-2 a-1-of-2", ""),
        ("a-0-of-1 a-1-of-1", ""),  # the number of the last file
        ("a-00000-of-00001", ""),
        ("a-0-of-2 a-1-of-2 b-0-of-1 x y-00007", ""),
        ("1-of-2/x-0-of-2 1-of-2/x-1-of-2", ""),
        ("a-0-of-7-0 a-0-of-7-1", ""),  # pieces of one shard
        ("a-0-of-3 a-2-of-3", "1 of the 3 files of a-0-of-3 are missing, the first is number 1"),
        ("a-0-of-999999999999999999", "the first is number 1"),
        ("a-0-of-2 a-1-of-2 a-0-of-3", "mixed in, or there twice: a-0-of-3"),
        ("a-0-of-7 a-2-of-7 a-0-of-3", "5 of the 7 files"),
        ("a-0-of-2 a-1-of-2 a-1-of-2.bak", "there twice: a-1-of-2.bak"),
        ("a-0-of-2 a-1-of-2 a-01-of-02", "there twice: a-1-of-2"),
        ("a-0-of-2 a-1-of-2 a-00001", "mixed in, or there twice: a-00001"),
        ("a-0-of-2 a-1-of-2 a-1-of-2-0", "there twice: a-1-of-2-0"),
        ("a-0-of-1 a-1-of-9 a-2-of-8 a-3-of-7 a-4-of-6", "files of a-1-of-9 are missing"),
    ]

    def test_names(self):
        for names, want in self.TESTS:
            try:
                check_sets(sorted(names.split()))
            except ValueError as e:
                self.assertTrue(want and want in str(e), "%s: %s" % (names, e))
                self.assertIn("check=False", str(e))
            else:
                self.assertEqual(want, "", names)

    def test_readers(self):
        for name in ("h-00000-of-00003", "h-00000-of-00002"):  # one is missing, one is stale
            self.write(name, records_chunk([b"\x01"]))
        pattern = self.dir + "/h-*"
        for reader in (
            recordio.recordio_reader(pattern, 1, 0),
            recordio.cluster_files_reader(pattern, 1, 0, loader=lambda f: [1]),
        ):
            with self.assertRaisesRegex(ValueError, "are missing"):
                list(reader())
        self.assertEqual(list(recordio.recordio_reader(pattern, 1, 0, check=False)()), [b"\x01", b"\x01"])
        self.assertEqual(list(recordio.cluster_files_reader(pattern, 1, 0, loader=lambda f: [1], check=False)()), [1, 1])


class Messages(InDirectory):
    """What cannot be read is named, with its place and the way out."""

    def test_payload(self):
        path = self.write("a", records_chunk([b"[1]", b"!no sample"]))
        with self.assertRaisesRegex(recordio.PickleError, "a, record 1: not a pickle.*decode=.msgpack., .json. or .raw."):
            list(recordio.recordio_reader(path, 1, 0, decode="auto")())
        with self.assertRaisesRegex(ValueError, "a, record 1: .*"):
            list(recordio.recordio_reader(path, 1, 0, decode="json")())

        def own(data):
            raise ValueError("mine")

        with self.assertRaisesRegex(ValueError, "^mine$"):
            list(recordio.recordio_reader(path, 1, 0, decode=own)())

    def test_json(self):
        path = self.write("a", records_chunk([b'{"a": [1]}', b"[1, 2]", b'"x"']))
        self.assertEqual(list(recordio.recordio_reader(path, 1, 0, decode="auto")()), [{"a": [1]}, [1, 2], "x"])

    def test_pickled_list(self):
        path = self.write("a.pickle", b"no pickle")
        with self.assertRaisesRegex(recordio.PickleError, "a.pickle: not a pickle"):
            list(recordio.cluster_files_reader(path, 1, 0)())

    def test_damage(self):
        good = records_chunk([b"one"])
        index = records_chunk([])
        path = self.write("a", good + index + good[:-1] + b"x")
        want = "a: chunk 2, offset %d: it does not match its checksum .paddlectl recordio verify" % len(good + index)
        with self.assertRaisesRegex(recordio.RecordIOError, want):
            list(recordio.reader(path))


if not hasattr(unittest.TestCase, "assertRaisesRegex"):  # Python 2
    unittest.TestCase.assertRaisesRegex = unittest.TestCase.assertRaisesRegexp
