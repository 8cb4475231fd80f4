"""The ways to decode a sample, by name."""

from __future__ import absolute_import

import json

from . import msgpack, restricted
from .errors import PickleError

_PROTO = b"\x80"  # begins every pickle of protocol 2 and later


_JSON = (b"{", b"[", b'"')  # begin the containers and texts of JSON, and no pickle


def _json(data):
    try:
        return json.loads(data.decode("utf-8"))
    except RuntimeError:  # RecursionError, which Python 2 does not know
        raise ValueError("JSON that nests too deep")


def auto(data):
    """Decodes what is a pickle, MessagePack or JSON (an object, array or text), whichever
    it is.

    They cannot be confused. A pickle has two bytes or more and begins with _PROTO or,
    before protocol 2, with a byte below it, but none of _JSON. As MessagePack such a byte
    is a whole value: a small number, or the empty map.
    """
    if len(data) > 1 and data[:1] in _JSON:
        return _json(data)
    if len(data) > 1 and data[:1] <= _PROTO:
        return restricted.loads(data)
    return msgpack.loads(data)


_DECODERS = {
    "auto": auto,
    "pickle": restricted.loads,
    "msgpack": msgpack.loads,
    "json": _json,
    "raw": lambda data: data,
}


def decoder_of(decode):
    """Returns decode itself if it is a function, else the decoder of that name."""
    if callable(decode):
        return decode
    if decode not in _DECODERS:
        raise ValueError("no decoder %r: %s, or a function of bytes" % (decode, ", ".join(sorted(_DECODERS))))
    return _DECODERS[decode]


def decoded(decode, record, path, number):
    """Decodes record number of the file path. What a decoder of this module cannot read is
    said with both, and with what else may be meant; a function of others speaks for
    itself."""
    try:
        return decode(record)
    except ValueError as e:
        if decode not in _DECODERS.values():
            raise
        failure = PickleError if isinstance(e, PickleError) else ValueError
        text = "%s, record %d: %s" % (path, number, e)
        if decode is auto:
            text += ' (a record is taken for pickle, MessagePack or JSON by how it begins; decode="json" or "raw" says what it is)'
        raise failure(text)
