# -*- coding: utf-8 -*-
import collections
import os
import pickle
import pickletools
import struct
import sys
import unittest

from recordio import PickleError, decoders, memo, msgpack, restricted

from .files import has_numpy

VALUE = {u"a": [1, -2, 2 ** 70, 1.5, None, True], "b": (u"é", b"\xff\x00", ()), 3: {4, 5}, 6: frozenset([7]), 8: 1j}


class Attack(object):
    def __reduce__(self):
        return os.system, ("echo ran",)


class Pickles(unittest.TestCase):
    def test_data(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for value in (VALUE, collections.OrderedDict([(1, 2)]), b"", b"x", [[]], 2 ** 2000):
                self.assertEqual(restricted.loads(pickle.dumps(value, protocol)), value, protocol)

    def test_of_python_2(self):
        # pickle.dumps([u'\xe9', 'ab', (1, 2L)], protocol) there
        for data in (
            b"(lp1\nV\xe9\np2\naS'ab'\np3\na(I1\nL2L\ntp4\na.",
            b"\x80\x02]q\x00(X\x02\x00\x00\x00\xc3\xa9q\x01U\x02abq\x02K\x01\x8a\x01\x02\x86q\x03e.",
        ):
            self.assertEqual(restricted.loads(data), [u"é", "ab", (1, 2)])
        self.assertEqual(restricted.loads(b"U\x01\xff."), "\xff")  # any byte of a str

    def test_nothing_is_called(self):
        attacks = [pickle.dumps(Attack(), p) for p in range(pickle.HIGHEST_PROTOCOL + 1)]
        attacks += [
            b"cos\nsystem\n(S'echo ran'\ntR.",
            b"(S'echo ran'\nios\nsystem\n.",
            b"c__builtin__\neval\n(S'1'\ntR.",
            b"cbuiltins\ngetattr\n.",
            b"c_codecs\nencode\n(Vx\nS'zip'\ntR.",
            b"cnumpy\nndarray\n((I9\ntt\x81.",
            b"cnumpy\nload\n.",
            b"cnumpy.core.multiarray\nfromfile\n.",
        ]
        for data in attacks:
            with self.assertRaises(PickleError):
                restricted.loads(data)
                self.fail(data)

    def test_damaged(self):
        for data in (b"", b".", b"\x80\xff.", b"garbage", b"\x80\x02]q\x00(", b"X\xff\xff\xff\x7fa.", b"Vx\nS'y'\nb."):
            with self.assertRaises(PickleError):
                restricted.loads(data)
                self.fail(data)


class Memo(unittest.TestCase):
    """A pickle may put values aside under any index, and takes memory for all below."""

    def test_few_bytes_take_little_memory(self):
        for data in (
            b"\x80\x02K\x01r\xff\xff\xff\x7f.",
            b"I1\np2147483647\n.",
            b"I1\np99999999999999999999999999\n.",
            b"\x80\x04\x95\x08\x00\x00\x00\x00\x00\x00\x00K\x01r\x00\x00\x00\x08.",
        ):
            with self.assertRaises(PickleError) as caught:
                restricted.loads(data)
                self.fail(data)
            self.assertIn("puts a value aside", str(caught.exception))

    def test_wherever_it_stands(self):
        values = [VALUE, list(range(300)), [0.5] * 9, (b"x" * 300, u"y" * 23, u"z" * 24, "r\x7f\x7f\x7f\x7f", -1, 70000), [[[]], {}]]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for value in values:
                data = pickle.dumps(value, protocol)
                for _, _, at in pickletools.genops(data):
                    for put in (b"r\xff\xff\xff\x7f", b"p2147483647\n"):
                        with self.assertRaises(PickleError) as caught:
                            memo.check(data[:at] + put + data[at:])
                            self.fail((protocol, value, at))
                        self.assertIn("puts a value aside", str(caught.exception))

    def test_what_is_only_text(self):
        for data in (b"r\xff\xff\xff\x7f", b"p2147483647\n", b".r\xff\xff\xff\x7f"):
            text = data.decode("latin1")
            for value in (text, [text, 1, text], data, text * 9, data * 99):
                for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                    self.assertEqual(restricted.loads(pickle.dumps(value, protocol)), value)
        with self.assertRaisesRegex(PickleError, "5 bytes behind the pickle"):
            restricted.loads(pickle.dumps(1) + b"r\xff\xff\xff\x7f")


class CPickle(unittest.TestCase):
    def test_alias(self):
        import cPickle

        self.assertEqual(cPickle.loads(cPickle.dumps(VALUE, 2)), VALUE)
        self.assertEqual(cPickle.loads(b"U\x01\xff."), "\xff")
        self.assertGreaterEqual(cPickle.HIGHEST_PROTOCOL, 2)


def kind(value):
    """Tells apart what compares equal in one of the Pythons: 1 and True, "a" and b"a"."""
    return [isinstance(value, t) for t in (bool, float, bytes, type(u""))]


class MsgPack(unittest.TestCase):
    def test_values(self):
        tests = {
            b"\xc0": None,
            b"\xc2": False,
            b"\xc3": True,
            b"\x00": 0,
            b"\x7f": 127,
            b"\xe0": -32,
            b"\xff": -1,
            b"\xcc\xff": 255,
            b"\xcd\x01\x00": 256,
            b"\xce\x00\x01\x00\x00": 65536,
            b"\xcf" + b"\xff" * 8: 2 ** 64 - 1,
            b"\xd0\x80": -128,
            b"\xd1\x80\x00": -32768,
            b"\xd2\x80\x00\x00\x00": -(2 ** 31),
            b"\xd3\x80" + b"\x00" * 7: -(2 ** 63),
            b"\xca\x3f\xc0\x00\x00": 1.5,
            b"\xcb" + struct.pack(">d", 0.1): 0.1,
            b"\xa2\xc3\xa9": u"é",
            b"\xd9\x01a": u"a",
            b"\xda\x00\x01a": u"a",
            b"\xdb\x00\x00\x00\x01a": u"a",
            b"\xc4\x01\xff": b"\xff",
            b"\xc5\x00\x01\xff": b"\xff",
            b"\xc6\x00\x00\x00\x01\xff": b"\xff",
            b"\x92\x01\x90": [1, []],
            b"\xdc\x00\x01\x01": [1],
            b"\xdd\x00\x00\x00\x01\x01": [1],
            b"\x81\xa1a\x80": {u"a": {}},
            b"\xde\x00\x01\xa1a\x01": {u"a": 1},
            b"\xdf\x00\x00\x00\x01\xa1a\x01": {u"a": 1},
            b"\xd4\x05x": msgpack.ExtType(5, b"x"),
            b"\xd8\xff" + b"x" * 16: msgpack.ExtType(-1, b"x" * 16),
            b"\xc7\x01\x05x": msgpack.ExtType(5, b"x"),
            b"\xc8\x00\x01\x05x": msgpack.ExtType(5, b"x"),
            b"\xc9\x00\x00\x00\x01\x05x": msgpack.ExtType(5, b"x"),
        }
        for data, want in tests.items():
            got = msgpack.loads(data)
            self.assertEqual((got, kind(got)), (want, kind(want)), data)

    def test_refused(self):
        tests = [
            b"",
            b"\xc1",
            b"\x01\x01",
            b"\xcd\x01",
            b"\xa2a",
            b"\xa1\xff",  # not UTF-8
            b"\xdd\xff\xff\xff\xff\x01",
            b"\xdf\xff\xff\xff\xff\x01\x01",
            b"\xc6\xff\xff\xff\xffa",
            b"\x81\x90\x01",  # an array as a key
            b"\x91" * 200 + b"\x01",
        ]
        for data in tests:
            with self.assertRaises(ValueError):
                msgpack.loads(data)
                self.fail(data)

    def test_every_cut(self):
        data = b"\x84\xa1a\xcd\x01\x00\xa1b\x92\xc4\x02xy\xd4\x05z\xa1c\xcb" + struct.pack(">d", 0.1) + b"\x07\xd9\x01q"
        msgpack.loads(data)
        for n in range(len(data)):
            with self.assertRaises(ValueError):
                msgpack.loads(data[:n])


class Auto(unittest.TestCase):
    def test_pickles(self):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for value in (VALUE, None, True, 0, 40, -1, 1.5, b"", u"", u"(", (), [], {}, (1,), {u"a": 1}, set()):
                self.assertEqual(decoders.auto(pickle.dumps(value, protocol)), value, protocol)

    def test_msgpack(self):
        values = [b"\x80", b"\xff", b"\xc0", b"\x93(K\x01", b"\x81\xa1a."]
        for data in values:
            self.assertEqual(decoders.auto(data), msgpack.loads(data), data)
        for data in [b"", b"\xc1"] + [bytes(bytearray([b])) for b in range(0x80)]:  # a digit may also be JSON
            with self.assertRaises(ValueError):
                decoders.auto(data)

    def test_json_of_no_numbers(self):
        for data in (b"[NaN]", b'{"a": -Infinity}', b"[Infinity]"):
            with self.assertRaisesRegex(ValueError, "JSON has no -?(NaN|Infinity)"):
                decoders.decoder_of("json")(data)

    def test_deep_json(self):
        for data in (b"[" * 100000, b'{"a":' * 100000):
            with self.assertRaises(ValueError):
                decoders.auto(data)


# numpy.array([[1, 2], [3, 4]], "<f4"), as convert writes it
MSGPACK_ARRAY = (
    b"\x85\xc4\x02nd\xc3\xc4\x04type\xa3<f4\xc4\x04kind\xc4\x00\xc4\x05shape\x92\x02\x02\xc4\x04data\xc4\x10"
    + struct.pack("<4f", 1, 2, 3, 4)
)


class Arrays(unittest.TestCase):
    @unittest.skipIf(has_numpy(), "numpy is installed")
    def test_without_numpy(self):
        self.assertEqual(msgpack.loads(MSGPACK_ARRAY)[b"shape"], [2, 2])
        with self.assertRaisesRegex(PickleError, "numpy is not installed"):
            restricted.loads(b"cnumpy\ndtype\n.")

    @unittest.skipUnless(has_numpy(), "numpy is not installed")
    def test_with_numpy(self):
        import numpy

        for data in (b"\x81\xc4\x02nd\xc3", MSGPACK_ARRAY.replace(b"\xa3<f4", b"\xa3<q7"), MSGPACK_ARRAY.replace(b"\xa3<f4", b"\x93\x01\x02\x03")):
            with self.assertRaises(ValueError):
                msgpack.loads(data)
                self.fail(data)
        want = numpy.array([[1, 2], [3, 4]], "<f4")
        numpy.testing.assert_array_equal(msgpack.loads(MSGPACK_ARRAY), want)
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            got = restricted.loads(pickle.dumps([want, numpy.float32(1.5), want.dtype], protocol))
            numpy.testing.assert_array_equal(got[0], want)
            self.assertEqual(got[1:], [numpy.float32(1.5), want.dtype])

    @unittest.skipUnless(has_numpy(), "numpy is not installed")
    def test_kinds_of_arrays(self):
        import numpy

        values = [
            numpy.arange(6, dtype=">i4").reshape(2, 3),
            numpy.asfortranarray(numpy.ones((2, 3), "<f8")),
            numpy.array([], "<f4"),
            numpy.array([u"é", u"ab"]),
            numpy.array([b"x", b"yz"]),
            numpy.array(["2020-01-02"], "M8[25s]"),
            numpy.array([3], "m8[ns]"),
            numpy.array([(1, [2.0, 3.0], u"x")], [("a", ">i2"), ("b", "<f8", (2,)), ("c", "U3")]),
            numpy.array([1, u"a", None, (2,)], object),
            numpy.array(5.0),
            numpy.array([True, False]),
        ]
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            for want in values:
                data = pickle.dumps({"x": (want, [want, want.dtype]), "y": collections.OrderedDict(z=want)}, protocol)
                got = restricted.loads(data)
                self.assertIs(type(got["x"][0]), numpy.ndarray)
                self.assertIs(got["x"][0], got["x"][1][0])
                self.assertIs(got["x"][0], got["y"]["z"])
                self.assertEqual(got["x"][1][1], want.dtype)
                self.assertEqual(got["x"][0].dtype, pickle.loads(data)["x"][0].dtype)
                self.assertEqual(got["x"][0].flags.f_contiguous, want.flags.f_contiguous)
                numpy.testing.assert_array_equal(got["x"][0], want)
                if want.dtype != object:
                    scalar = want.ravel()[:1].copy()
                    if len(scalar):
                        self.assertEqual(restricted.loads(pickle.dumps(scalar[0], protocol)), scalar[0])
            loop = [values[0]]
            loop.append(loop)
            got = restricted.loads(pickle.dumps(loop, protocol))
            self.assertIs(got[1], got)
            numpy.testing.assert_array_equal(got[0], values[0])

    @unittest.skipUnless(has_numpy(), "numpy is not installed")
    def test_states_that_lie(self):
        """numpy takes bytes of the pickle for addresses of objects if their flags say so."""
        head = b"\x80\x02cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85U\x01b\x87R(K\x01K\x01\x85"
        plain = b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK"
        beyond = b"NU\x01a\x85}U\x01acnumpy\ndtype\nU\x02f8K\0K\x01\x87RM\xe8\x03\x86sK\x08K\x01K"
        for kind, state in ((b"O8", plain), (b"V8", beyond)):
            for flags in (b"\0", b"\x3f"):
                data = head + b"cnumpy\ndtype\nU\x02" + kind + b"K\0K\x01\x87R(K\x03U\x01|" + state + flags + b"tb\x89U\x08AAAAAAAAtb."
                with self.assertRaises(PickleError):
                    restricted.loads(data)
                    self.fail((kind, flags))


if sys.version_info[0] < 3:
    unittest.TestCase.assertRaisesRegex = unittest.TestCase.assertRaisesRegexp
