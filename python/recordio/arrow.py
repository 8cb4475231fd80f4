"""A whole dataset as an Arrow table."""

from __future__ import annotations

import base64
import decimal
import operator
from typing import TYPE_CHECKING, Any, Callable

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from .schema import Decoder, Type

if TYPE_CHECKING:
    from .dataset import Dataset

_WORDS = {
    "int": pa.int64(),
    "float": pa.float64(),
    "float64": pa.float64(),
    "float32": pa.float32(),
    "float16": pa.float16(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "bytes": pa.binary(),
    "null": pa.null(),
    "date": pa.date32(),
}
_ROWS = 1 << 16  # in a batch

Fix = Callable[[Any], Any]


def type_of(t: Type) -> pa.DataType:
    """Returns the Arrow type of a type of the manifest."""
    if t.word == "list" and t.element is not None:
        of = type_of(t.element)
        return pa.list_(of, t.shape[0]) if t.shape and t.shape[0] is not None else pa.list_(of)
    if t.word == "map" and t.element is not None:
        return pa.map_(pa.string(), type_of(t.element))
    made = _element(t)
    for n in reversed(t.shape or []):
        made = pa.list_(made) if n is None else pa.list_(made, n)
    return made


def _element(t: Type) -> pa.DataType:
    if t.word == "struct":
        return pa.struct([(name, type_of(f)) for name, f in t.fields])
    if t.word in _WORDS:
        return _WORDS[t.word]
    if t.word == "time":
        return (pa.time32 if t.unit in ("s", "ms") else pa.time64)(t.unit)
    if t.word == "duration":
        return pa.duration(t.unit)
    if t.word == "timestamp":
        return pa.timestamp(t.unit, t.zone or None)
    if t.word in ("datetime64", "timedelta64"):
        return pa.from_numpy_dtype(_moment(t))
    if t.word == "decimal":
        precision, scale = t.precision or (76, 38)
        return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
    if t.word[0] == "U":
        return pa.string()
    if t.word[0] in "SV":
        return pa.binary()
    if t.dtype is None or t.dtype.kind not in "iuf":
        raise TypeError("Arrow has no type for %s" % t.text)
    return pa.from_numpy_dtype(t.dtype)


def _moment(t: Type) -> np.dtype[Any]:
    """Returns the dtype nearest to a datetime64 or timedelta64 that Arrow has: days, or seconds and their parts."""
    dtype = t.dtype
    unit, factor = np.datetime_data(dtype) if dtype is not None else ("generic", 1)
    if dtype is None or unit in ("ps", "fs", "as", "generic") or dtype.kind == "m" and unit in ("Y", "M"):
        raise TypeError("Arrow has no type for %s" % t.text)
    if unit not in ("s", "ms", "us", "ns"):
        unit = "D" if dtype.kind == "M" and unit in ("Y", "M", "W", "D") else "s"
    return np.dtype("%s8[%s]" % (dtype.kind, unit))


def _fixed(t: Type, payload: str) -> Fix:
    """Returns the function that gives pyarrow what it accepts for the type."""
    if t.word in ("datetime64", "timedelta64"):
        given: Any = t.dtype
        to = _moment(t)
        return lambda value: np.array(value, np.int64).view(given).astype(to).tolist()
    if t.word == "decimal":
        return decimal.Decimal
    if t.word in ("bytes",) and payload == "json":
        return base64.b64decode
    if t.word == "list" and t.element is not None:
        each = _optional(t.element, payload)
        return lambda value: [each(v) for v in value]
    if t.word == "map" and t.element is not None:
        each = _optional(t.element, payload)
        return lambda value: [(k, each(v)) for k, v in value.items()]
    if t.word == "struct" and not t.shape:
        fields = [(name, _optional(f, payload)) for name, f in t.fields]
        return lambda value: {name: each(value.get(name)) for name, each in fields}
    return lambda value: value.tolist() if isinstance(value, np.ndarray) and value.ndim != 1 else value


def _optional(t: Type, payload: str) -> Fix:
    fix = _fixed(t, payload)
    return lambda value: None if value is None else fix(value)


def table(dataset: Dataset) -> pa.Table:
    """Reads all records. Without columns in the manifest, pyarrow infers the types of samples that
    are maps; other samples become one column, value."""
    from .streaming import Stream

    columns = [(c["name"], Type(c["type"]), c.get("label", 0)) for c in dataset.columns if c["type"] != "skip"]
    if not columns or dataset.payload == "raw":
        values = list(dataset)
        maps = bool(values) and all(isinstance(v, dict) for v in values)
        return pa.table({name: _array([v.get(name) for v in values]) for name in values[0]} if maps else {"value": _array(values)})
    schema = pa.schema([(name or "column%d" % i if len(columns) > 1 else name or "value", type_of(t)) for i, (name, t, _) in enumerate(columns)])
    fixes = [_optional(t, dataset.payload) for _, t, _ in columns]
    gets = _gets(columns)
    decoder = Decoder(None, dataset.payload, [])
    batches: list[list[pa.Array]] = []
    whole = Stream(dataset, 1, 0)
    rows: list[Any] = []
    for _, records in whole._reading(whole._groups(0, 0, 1)):
        rows += decoder(records)
        if len(rows) >= _ROWS:
            batches.append(_batch(rows, gets, fixes, schema))
            rows = []
    batches.append(_batch(rows, gets, fixes, schema))
    for i, of_field in enumerate(zip(*batches)):
        schema = schema.set(i, schema.field(i).with_type(next((a.type for a in of_field if a.type != schema.field(i).type), schema.field(i).type)))
    return pa.table([pa.chunked_array([a.cast(f.type) for a in arrays], f.type) for f, arrays in zip(schema, zip(*batches))], schema=schema)


def _array(values: list[Any], kind: pa.DataType | None = None) -> pa.Array:
    """Numbers above 2**63, which the type int of a manifest and inference do not provide for, are uint64."""
    try:
        return pa.array(values, kind)
    except OverflowError:
        if kind not in (None, pa.int64()):
            raise
        return pa.array(values, pa.uint64())


def _gets(columns: list[tuple[str, Type, int]]) -> list[Callable[[Any], Any]]:
    """Returns the functions that take the values of the columns out of a record."""
    labels = sorted(label for _, _, label in columns if label)
    if labels:
        features = iter(range(len(columns)))
        places = [(1, labels.index(label)) if label else (0, next(features)) for _, _, label in columns]
        return [_place(part, i) for part, i in places]
    if len(columns) == 1 and not columns[0][0]:
        return [lambda row: row]
    return [operator.methodcaller("get", name) if name else operator.itemgetter(i) for i, (name, _, _) in enumerate(columns)]


def _place(part: int, i: int) -> Callable[[Any], Any]:
    return lambda row: row[part][i]


def _batch(rows: list[Any], gets: list[Callable[[Any], Any]], fixes: list[Fix], schema: pa.Schema) -> list[pa.Array]:
    return [_array([fix(get(row)) for row in rows], field.type) for get, fix, field in zip(gets, fixes, schema)]
