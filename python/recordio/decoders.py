"""The ways to decode a sample, by name."""

from __future__ import absolute_import

import json

from . import msgpack, restricted

_PROTO = b"\x80"  # begins every pickle of protocol 2 and later


def auto(data):
    """Decodes what is a pickle or MessagePack, whichever it is.

    The two cannot be confused. A pickle has two bytes or more and begins with _PROTO or,
    before protocol 2, with a byte below it. As MessagePack such a byte is a whole value:
    a small number, or the empty map.
    """
    if len(data) > 1 and data[:1] <= _PROTO:
        return restricted.loads(data)
    return msgpack.loads(data)


_DECODERS = {
    "auto": auto,
    "pickle": restricted.loads,
    "msgpack": msgpack.loads,
    "json": lambda data: json.loads(data.decode("utf-8")),
    "raw": lambda data: data,
}


def decoder_of(decode):
    """Returns decode itself if it is a function, else the decoder of that name."""
    if callable(decode):
        return decode
    if decode not in _DECODERS:
        raise ValueError("no decoder %r: %s, or a function of bytes" % (decode, ", ".join(sorted(_DECODERS))))
    return _DECODERS[decode]
