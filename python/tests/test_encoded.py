# -*- coding: utf-8 -*-
import base64
import os
import unittest

import recordio

from .files import WRITTEN, has_numpy, needs_written
from .test_trainers import of_document

SAMPLES = 300


def sample(i, raw):
    return {
        u"id": i,
        u"price": i / 8.0,
        u"name": u"house é %d" % i,
        u"raw": raw(bytes(bytearray([i % 256, 255, 0]))),
        u"big": 2 ** 63 + i,
        u"tags": [None, i % 2 == 0, -i, {}],
    }


def in_base64(data):
    return base64.b64encode(data).decode("ascii")


@needs_written
class Encoded(unittest.TestCase):
    """Samples that the encoders of convert wrote."""

    def path(self, name):
        path = os.path.join(WRITTEN, name)
        self.assertTrue(os.path.exists(path), name)
        return path

    def test_samples(self):
        for name, decode, raw in (("pickle", "auto", bytes), ("msgpack", "auto", bytes), ("json", "json", in_base64)):
            reader = recordio.recordio_reader(self.path("sample." + name), 1, 0, decode=decode)
            self.assertEqual(list(reader()), [sample(i, raw) for i in range(SAMPLES)], name)

    def test_reader_of_the_document(self):
        got = list(of_document(self.path("sample.pickle"), 1, 0)())
        self.assertEqual(got, [sample(i, bytes) for i in range(SAMPLES)])

    @unittest.skipUnless(has_numpy(), "numpy is not installed")
    def test_arrays(self):
        import numpy

        for name in ("pickle", "msgpack"):
            got = list(recordio.recordio_reader(self.path("array." + name), 1, 0, decode="auto")())
            self.assertEqual(len(got), SAMPLES)
            for i, (features, price) in enumerate(got):
                want = (i + numpy.arange(6, dtype="<f4")).reshape(2, 3)
                numpy.testing.assert_array_equal(features, want)
                self.assertEqual((features.dtype, price), (want.dtype, i))
