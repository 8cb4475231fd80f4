"""Decodes MessagePack.

Arrays of numbers in the encoding of the package msgpack-numpy become numpy arrays if numpy is
installed; otherwise they stay dictionaries.
"""

from __future__ import absolute_import

import collections
import struct

ExtType = collections.namedtuple("ExtType", "code data")
"""A value of an application-specific type."""

_MAX_DEPTH = 100
_FIXED = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = dict(
    (tag, struct.Struct(">" + form))
    for tag, form in zip([0xCA, 0xCB, 0xCC, 0xCD, 0xCE, 0xCF, 0xD0, 0xD1, 0xD2, 0xD3], "fdBHIQbhiq")
)
_SIZES = dict((2 ** i, struct.Struct(">" + form)) for i, form in enumerate("BHI"))


def loads(data):
    """Decodes data (bytes), which must contain one value. Raises ValueError otherwise."""
    decoder = _Decoder(data)
    value = decoder.value(0)
    if decoder.pos != len(data):
        raise ValueError("msgpack: %d bytes behind the value" % (len(data) - decoder.pos))
    return value


class _Decoder(object):
    def __init__(self, data):
        self.data = data
        self.pos = 0

    def take(self, size):
        end = self.pos + size
        if end > len(self.data):
            raise ValueError("msgpack: cut off")
        part = self.data[self.pos : end]
        self.pos = end
        return part

    def unpack(self, form):
        return form.unpack(self.take(form.size))[0]

    def value(self, depth):
        if depth > _MAX_DEPTH:
            raise ValueError("msgpack: nested deeper than %d" % _MAX_DEPTH)
        tag = ord(self.take(1))
        if tag < 0x80:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag in _FIXED:
            return _FIXED[tag]
        if tag in _NUMBERS:
            return self.unpack(_NUMBERS[tag])
        return self.sized(tag, depth)

    def sized(self, tag, depth):
        if tag < 0x90:
            return self.map(tag & 0x0F, depth)
        if tag < 0xA0:
            return self.array(tag & 0x0F, depth)
        if tag < 0xC0:
            return self.text(tag & 0x1F)
        if 0xC4 <= tag <= 0xC6:
            return self.take(self.size(tag - 0xC4))
        if 0xC7 <= tag <= 0xC9:
            return self.ext(self.size(tag - 0xC7))
        if 0xD4 <= tag <= 0xD8:
            return self.ext(1 << (tag - 0xD4))
        if 0xD9 <= tag <= 0xDB:
            return self.text(self.size(tag - 0xD9))
        if 0xDC <= tag <= 0xDD:
            return self.array(self.size(tag - 0xDC + 1), depth)
        if 0xDE <= tag <= 0xDF:
            return self.map(self.size(tag - 0xDE + 1), depth)
        raise ValueError("msgpack: the byte 0xc1 is not used")

    def size(self, power):
        """Reads a size of 2**power bytes."""
        return self.unpack(_SIZES[2 ** power])

    def text(self, size):
        return self.take(size).decode("utf-8")

    def ext(self, size):
        code = self.unpack(_NUMBERS[0xD0])
        return ExtType(code, self.take(size))

    def array(self, count, depth):
        values = []
        while len(values) < count:  # a large count alone allocates no memory
            values.append(self.value(depth + 1))
        return values

    def map(self, count, depth):
        values = {}
        while count > 0:
            key = self.value(depth + 1)
            try:
                values[key] = self.value(depth + 1)
            except TypeError:
                raise ValueError("msgpack: a container as the key of a map")
            count -= 1
        return _array_of(values) if values.get(b"nd") is True else values


def _array_of(values):
    """Returns the numpy array that values describe, or values if numpy is not installed."""
    try:
        import numpy
    except ImportError:
        return values
    try:
        dtype = numpy.dtype(values[b"type"])
        if dtype.hasobject:
            raise ValueError("msgpack: an array of objects")
        return numpy.frombuffer(values[b"data"], dtype=dtype).reshape(values[b"shape"])
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError("msgpack: not an array: %s: %s" % (type(e).__name__, e))
