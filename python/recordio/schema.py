"""From the bytes of records to values, by the payload and the column types of the manifest. The
grammar of types is in docs/datasets.md."""

from __future__ import annotations

import base64
import datetime
import decimal
import functools
import json
import re
from typing import Any, Callable, Iterable, Sequence

import msgpack  # type: ignore[import-untyped]
import numpy as np

from . import restricted
from .chunks import native
from .codecs import Buffer
from .decoders import json_value
from .loading import Part

Convert = Callable[[Any], Any]
DecodeBatch = Callable[[Sequence[Buffer]], list[Any]]

_TYPE = re.compile(r"([A-Za-z]+\d*)(?:<(.*)>)?((?:\[[^\]]*\])*)(?:\((\d+),(\d+)\))?", re.DOTALL)
_FIELD = re.compile(r'\s*("(?:[^"\\]|\\.)*"|[^\s"]+) (.*)', re.DOTALL)
_UNITS = {"s": 1_000_000, "ms": 1000, "us": 1}
_SCALARS = {"int": "int64", "float": "float64", "bool": "bool"}
_NUMPY = re.compile(r"u?int\d+|float\d+|complex\d+|bool|[USV]\d+")
_WORDS = (
    *("int", "float", "bool", "text", "bytes", "null", "skip", "date", "time", "duration", "timestamp", "decimal"),
    *("list", "map", "struct", "datetime64", "timedelta64"),
)
_MOST_DEPTH = 64


# --- types


class Type:
    """A parsed type: its word, its parameters in <> and [], and the precision of a decimal."""

    def __init__(self, text: str, depth: int = 0) -> None:
        match = _TYPE.fullmatch(text)
        if match is None or depth > _MOST_DEPTH:
            raise ValueError("the manifest has the type %.80r: this package does not know it" % text)
        self.text, self.word = text, match.group(1)
        if self.word not in _WORDS and not _NUMPY.fullmatch(self.word):
            raise ValueError("the manifest has the type %.80r: this package does not know it" % text)
        inner, brackets = match.group(2), re.findall(r"\[([^\]]*)\]", match.group(3) or "")
        self.precision = (int(match.group(4)), int(match.group(5))) if match.group(4) else None
        self.unit, self.zone = "", ""
        if self.word in ("time", "duration", "timestamp", "datetime64", "timedelta64") and brackets:
            self.unit, _, self.zone = brackets.pop(0).partition(",")
        self.shape = [None if n == "?" else int(n) for n in brackets[0].split(",") if n] if brackets else None
        self.element = Type(inner, depth + 1) if inner is not None and self.word in ("list", "map") else None
        self.fields = [_field(part, depth + 1) for part in _split(inner)] if inner is not None and self.word == "struct" else []

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype of an element of an array; None if it has none."""
        if self.word in ("datetime64", "timedelta64"):
            return np.dtype("%s[%s]" % (self.word, self.unit) if self.unit else self.word)
        if self.word == "struct":
            parts = [(name, t.dtype, tuple(t.shape or ())) for name, t in self.fields]
            return None if any(d is None for _, d, _ in parts) else np.dtype(parts)
        name = _SCALARS.get(self.word, self.word)
        return np.dtype(name) if _NUMPY.fullmatch(name) else None


def _field(text: str, depth: int) -> tuple[str, Type]:
    match = _FIELD.fullmatch(text)
    if match is None:
        raise ValueError("the manifest has the field %.80r: this package does not know it" % text)
    name = match.group(1)
    return (json.loads(name) if name.startswith('"') else name), Type(match.group(2), depth)


def _split(text: str) -> list[str]:
    """Splits the fields of a struct at its own commas."""
    parts, depth, start, quoted, i = [], 0, 0, False, 0
    while i < len(text):
        c = text[i]
        if c == "\\" and quoted:
            i += 1
        elif c == '"':
            quoted = not quoted
        elif not quoted:
            depth += (c in "<[(") - (c in ">])")
            if c == "," and depth == 0:
                parts.append(text[start:i])
                start = i + 1
        i += 1
    return parts + [text[start:]] if text else []


# --- values


def converter(t: Type, payload: str) -> Convert | None:
    """Returns a function that restores values of the type from those of a record; None if they are
    the same."""
    make = _made(t, payload)
    return None if make is None else lambda value: None if value is None else make(value)


def _made(t: Type, payload: str) -> Convert | None:
    if t.word == "bytes" or t.word[0] in "SV" and t.word[1:].isdigit() and t.shape is None:
        return base64.b64decode if payload == "json" else None
    if t.word in _TIMES:
        return _TIMES[t.word](t)
    if t.word == "decimal":
        return decimal.Decimal
    if t.word == "list" and t.element is not None:
        return _list(t.element, payload)
    if t.word == "map" and t.element is not None:
        each = converter(t.element, payload)
        return None if each is None else lambda value: {k: each(v) for k, v in value.items()}
    if t.word == "struct" and t.shape is None:
        return _struct(t, payload)
    dtype = t.dtype
    if dtype is None or t.shape is None and t.word in ("float16", "float32", *_SCALARS):
        return None
    return _scalar(dtype) if t.shape is None else _array(dtype, payload)


def _list(element: Type, payload: str) -> Convert | None:
    dtype = element.dtype if element.shape is None and element.word in _LISTED or element.word.startswith("datetime") else None
    each = converter(element, payload)

    def convert(value: Any) -> Any:
        if dtype is not None and None not in value:
            try:
                return np.array(value, dtype)
            except OverflowError:
                return value
        return value if each is None else [each(v) for v in value]

    return convert if dtype is not None or each is not None else None


_LISTED = ("int", "float", "bool", "float16", "float32", *("%sint%d" % (u, n) for u in ("", "u") for n in (8, 16, 32, 64)), "float64")


def _struct(t: Type, payload: str) -> Convert | None:
    each = [(name, c) for name, c in ((name, converter(f, payload)) for name, f in t.fields) if c is not None]

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        for name, c in each:
            if name in value:
                value[name] = c(value[name])
        return value

    return convert if each else None


def _scalar(dtype: np.dtype[Any]) -> Convert | None:
    if dtype.kind in "mM":
        unit = np.datetime_data(dtype)
        of: Any = np.datetime64 if dtype.kind == "M" else np.timedelta64
        return lambda value: of(int(value), unit)
    if dtype.kind == "c":
        return lambda value: dtype.type(value if isinstance(value, complex) else np.asarray(value)[()])
    return None


def _array(dtype: np.dtype[Any], payload: str) -> Convert:
    if dtype.kind == "V" and dtype.names:
        return lambda value: np.array(_tuples(value, dtype), dtype)
    if dtype.kind in "mM":
        return lambda value: np.array(value, np.int64).view(dtype)
    if dtype.kind in "SV" and payload == "json":
        return lambda value: np.array(_decoded(value), dtype)
    return lambda value: value if isinstance(value, np.ndarray) and value.dtype == dtype else np.array(value, dtype)


def _decoded(value: Any) -> Any:
    return [_decoded(v) for v in value] if isinstance(value, list) else base64.b64decode(value)


def _tuples(value: Any, dtype: np.dtype[Any]) -> Any:
    """Turns maps in nested lists into tuples, as numpy wants records."""
    if isinstance(value, dict):
        fields: Any = dtype.fields
        return tuple(_tuples(value[n], fields[n][0]) if fields[n][0].names else value[n] for n in dtype.names or ())
    return [_tuples(v, dtype) for v in value]


_EPOCH = datetime.datetime(1970, 1, 1)


def _date(t: Type) -> Convert:
    return lambda days: datetime.date.fromordinal(days + 719163)


def _time(t: Type) -> Convert:
    """Units up to a microsecond become the types of datetime; nanoseconds, which it lacks, of numpy."""
    if t.unit == "ns":
        return lambda n: np.timedelta64(n, "ns")
    scale = _UNITS[t.unit]
    return lambda n: (_EPOCH + datetime.timedelta(microseconds=n * scale)).time()


def _duration(t: Type) -> Convert:
    if t.unit == "ns":
        return lambda n: np.timedelta64(n, "ns")
    scale = _UNITS[t.unit]
    return lambda n: datetime.timedelta(microseconds=n * scale)


def _timestamp(t: Type) -> Convert:
    if t.unit == "ns":
        return lambda n: np.datetime64(n, "ns")
    scale = _UNITS[t.unit]
    if not t.zone:
        return lambda n: _EPOCH + datetime.timedelta(microseconds=n * scale)
    zone, utc = _zone(t.zone), _EPOCH.replace(tzinfo=datetime.timezone.utc)
    return lambda n: (utc + datetime.timedelta(microseconds=n * scale)).astimezone(zone)


def _zone(name: str) -> datetime.tzinfo:
    match = re.fullmatch(r"([+-])(\d\d):?(\d\d)", name)
    if match:
        minutes = int(match.group(2)) * 60 + int(match.group(3))
        return datetime.timezone(datetime.timedelta(minutes=-minutes if match.group(1) == "-" else minutes))
    if name == "UTC":
        return datetime.timezone.utc
    import zoneinfo

    return zoneinfo.ZoneInfo(name)


_TIMES: dict[str, Callable[[Type], Convert]] = {"date": _date, "time": _time, "duration": _duration, "timestamp": _timestamp}


# --- payloads


@functools.lru_cache(256)
def _dtype(text: str) -> np.dtype[Any]:
    dtype = np.dtype(text)
    if dtype.hasobject or dtype.subdtype is not None:
        raise ValueError("msgpack: an array of objects or of arrays")
    return dtype


def _tensor(value: dict[Any, Any]) -> Any:
    """Returns the writable array that a map of msgpack-numpy describes; other maps unchanged."""
    if b"nd" not in value:
        return value
    try:
        array = np.frombuffer(bytearray(value[b"data"]), _dtype(value[b"type"]))
        shape = value[b"shape"]
        return array if len(shape) == 1 and shape[0] == len(array) else array.reshape(shape)
    except (KeyError, TypeError, AttributeError) as e:
        raise ValueError("msgpack: not an array: %s: %s" % (type(e).__name__, e))


def _unpack(record: Buffer) -> Any:
    try:
        return msgpack.unpackb(record, strict_map_key=False, object_hook=_tensor)
    except msgpack.StackError:
        raise ValueError("MessagePack that is nested too deeply")
    except msgpack.FormatError:
        raise ValueError("not MessagePack")


def _json(record: Buffer) -> Any:
    return json_value(str(record, "utf-8"))


_PAYLOADS: dict[str, Callable[[Buffer], Any]] = {
    "raw": bytes,
    "msgpack": _unpack,
    "json": _json,
    "pickle": lambda record: restricted.loads(bytes(record)),
}


class Decoder:
    """Decodes records. decode is the name of a payload or a function of bytes; None means the
    payload and the columns of the manifest."""

    def __init__(
        self, decode: str | Callable[[bytes], Any] | None, payload: str, columns: Iterable[dict[str, Any]], source: str = ""
    ) -> None:
        self._own = callable(decode)
        self._plain = payload == "msgpack" and decode in (None, payload) and source in _NO_TENSORS_IN  # no arrays
        self._row: Convert | None = None
        if callable(decode):
            self._one: Callable[[Buffer], Any] = lambda record: decode(bytes(record))
            return
        name = payload if decode is None else decode
        if name not in _PAYLOADS:
            raise ValueError("no payload %r: %s, or a function of bytes" % (name, ", ".join(sorted(_PAYLOADS))))
        self._one = _PAYLOADS[name]
        types = [(c["name"], Type(c["type"]), c.get("label", 0)) for c in columns]
        if name == payload and name != "raw" and types:
            self._row = _row([t for t in types if t[1].word != "skip"], payload)
            self._plain = name == "msgpack" and all(t.word in _NO_TENSOR and t.shape is None for _, t, _ in types)

    def __call__(self, records: Sequence[Buffer] | Part) -> list[Any]:
        """Decodes records. Raises ValueError for one that is malformed; see first_malformed."""
        one, row = self._one, self._row
        try:
            values = self._native(records)
            if values is None:
                records = records.records() if isinstance(records, Part) else records
                values = self._unpacked(records) if self._plain else [one(record) for record in records]
            return values if row is None else [row(value) for value in values]
        except (TypeError, KeyError, IndexError, AttributeError, RuntimeError, OverflowError, msgpack.UnpackException) as e:
            if self._own:
                raise
            raise ValueError("%s: %s" % (type(e).__name__, e))

    def _native(self, records: Sequence[Buffer] | Part) -> list[Any] | None:
        """Decodes what the extension can decode: records in MessagePack, all of them usual."""
        if self._one is bytes and isinstance(records, Part):
            return records.records()
        if self._one is not _unpack or native is None:
            return None
        arrays = (None, None) if self._plain else (np.ndarray, _dtype)
        return records.values(*arrays) if isinstance(records, Part) else native.unpack(list(records), *arrays)

    def _unpacked(self, records: Sequence[Buffer]) -> list[Any]:
        """Decodes records without arrays. Most have no keys but text, which needs no option."""
        try:
            return list(map(msgpack.unpackb, records))
        except ValueError:
            return [self._one(record) for record in records]

    def first_malformed(self, records: Iterable[Buffer]) -> int:
        """Returns the position of the first record that does not decode."""
        for i, record in enumerate(records):
            try:
                self([record])
            except ValueError:
                return i
        return 0


_NO_TENSORS_IN = ("csv", "tsv", "jsonl", "text")  # formats
_NO_TENSOR = ("int", "float", "float32", "float16", "bool", "text", "bytes", "null", "skip", *_TIMES, "decimal")


def _row(types: list[tuple[str, Type, int]], payload: str) -> Convert | None:
    """Returns the function that restores the types in a record."""
    each = [(name, converter(t, payload)) for name, t, _ in types]
    if not any(c for _, c in each):
        return None
    if any(label for _, _, label in types):
        features = [c for (_, c), (_, _, label) in zip(each, types) if not label]
        labels = [c for _, c in sorted((label, converter(t, payload)) for _, t, label in types if label)]
        return lambda value: [_values(features, value[0]), _values(labels, value[1])]
    if not any(name for name, _ in each):
        only = each[0][1]
        if len(each) == 1 and only is not None:
            return only
        return lambda value: _values([c for _, c in each], value)
    named = [(name, c) for name, c in each if c is not None]

    def convert(value: dict[str, Any]) -> dict[str, Any]:
        for name, c in named:
            if name not in value:
                raise ValueError("the record has no column %r, which the manifest states" % name)
            value[name] = c(value[name])
        return value

    return convert


def _values(converters: list[Convert | None], values: list[Any]) -> list[Any]:
    return [v if c is None else c(v) for c, v in zip(converters, values)]
