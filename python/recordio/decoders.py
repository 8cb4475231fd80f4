"""The ways to decode a sample, by name."""

from __future__ import absolute_import

import json

from . import msgpack, restricted
from .errors import PickleError

_PROTO = b"\x80"  # the first byte of every pickle of protocol 2 and later


_JSON = (b"{", b"[", b'"')  # the first bytes of containers and texts in JSON, and of no pickle


def _no_constant(name):
    raise ValueError("JSON has no %s" % name)


_JSON_DECODER = json.JSONDecoder(parse_constant=_no_constant)


def json_value(text):
    """Decodes a text. NaN and infinite numbers, which Python accepts in JSON, are errors."""
    try:
        return _JSON_DECODER.decode(text)
    except RuntimeError:  # RecursionError, which Python 2 does not have
        raise ValueError("JSON that is nested too deeply")


def _json(data):
    return json_value(data.decode("utf-8"))


def auto(data):
    """Detects and decodes a pickle, MessagePack or JSON (an object, array or text).

    The three are unambiguous. A pickle has at least two bytes and begins with _PROTO or, before
    protocol 2, with a smaller byte that is not in _JSON. In MessagePack such a byte is a
    complete value: a small number or the empty map. A number of one byte may also be JSON.
    """
    if len(data) == 1 and data < _PROTO:
        raise ValueError("a record of one byte: a number of MessagePack or of JSON")
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
    """Returns decode if it is a function, or else the decoder with that name."""
    if callable(decode):
        return decode
    if decode not in _DECODERS:
        raise ValueError("no decoder %r: %s, or a function of bytes" % (decode, ", ".join(sorted(_DECODERS))))
    return _DECODERS[decode]


def decoded(decode, record, path, number):
    """Decodes the record with the given number of the file path. Errors of this module's
    decoders name both and suggest other decoders; errors of the caller's function pass
    unchanged."""
    try:
        return decode(record)
    except ValueError as e:
        if decode not in _DECODERS.values():
            raise
        failure = PickleError if isinstance(e, PickleError) else ValueError
        text = "%s, record %d: %s" % (path, number, e)
        if decode is auto:
            text += ' (a record is taken for pickle, MessagePack or JSON by how it begins; decode="msgpack", "json" or "raw" says what it is)'
        raise failure(text)
