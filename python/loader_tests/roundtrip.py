"""roundtrip.py write DIR writes Parquet, Arrow IPC, Avro, npz and pickle files with every type. roundtrip.py check DIR reads
the datasets that were made of them in each payload, compares every value, and prints the table of
docs/datasets.md."""

import datetime
import decimal
import json
import pickle
import sys
import uuid
import zoneinfo
from pathlib import Path
from typing import Any

import fastavro  # type: ignore[import-untyped]
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import recordio

BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
WHEN = datetime.datetime(2024, 7, 1, 12, 30, 15, 250000)
NS = np.datetime64("2024-07-01T12:30:15.250000001")
D = decimal.Decimal

# Arrow type, values, and the values of a reader if they are others.
ARROW: list[tuple[pa.DataType, list[Any], list[Any] | None]] = [
    (pa.int8(), [1, -2, None], None),
    (pa.uint64(), [1, 2**62, None], None),
    (pa.float32(), [1.5, float("-inf"), None], None),
    (pa.float64(), [0.1, -2.0, None], None),
    (pa.bool_(), [True, False, None], None),
    (pa.string(), ["a", "é", None], None),
    (pa.binary(), [b"\x00\xff", b"", None], None),
    (pa.date32(), [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None], None),
    (pa.time64("us"), [datetime.time(1, 2, 3, 4), datetime.time(0), None], None),
    (pa.timestamp("us"), [WHEN, datetime.datetime(1900, 1, 1), None], None),
    (pa.timestamp("ms", "Europe/Berlin"), [WHEN.replace(tzinfo=BERLIN)] * 2 + [None], None),
    (pa.timestamp("ns"), [NS, NS, None], None),
    (pa.duration("ms"), [datetime.timedelta(days=-1, milliseconds=5), datetime.timedelta(0), None], None),
    (pa.decimal128(10, 2), [D("12.50"), D("-0.01"), None], None),
    (pa.list_(pa.float32()), [[1.5, 2.5], [], None], [np.array([1.5, 2.5], "f4"), np.array([], "f4"), None]),
    (pa.list_(pa.int64(), 2), [[1, 2], [3, 4], None], [np.array([1, 2]), np.array([3, 4]), None]),
    (pa.list_(pa.string()), [["a"], [None, "b"], None], None),
    (pa.struct([("a", pa.date32()), ("b c", pa.list_(pa.float64()))]), [{"a": datetime.date(2024, 1, 1), "b c": [0.5]}] * 2 + [None],
     [{"a": datetime.date(2024, 1, 1), "b c": np.array([0.5])}] * 2 + [None]),
]  # fmt: skip

UTC = datetime.timezone.utc
ID = uuid.UUID(int=7)

# Title, Avro type, values, and the values of a reader if they are others.
AVRO: list[tuple[str, Any, list[Any], list[Any] | None]] = [
    ("int", "int", [1, -2, None], None),
    ("long", "long", [1, -(2**62), None], None),
    ("float", "float", [1.5, float("-inf"), None], None),
    ("double", "double", [0.1, -2.0, None], None),
    ("boolean", "boolean", [True, False, None], None),
    ("string", "string", ["a", "é", None], None),
    ("bytes", "bytes", [b"\x00\xff", b"", None], None),
    ("fixed", {"type": "fixed", "name": "f", "size": 2}, [b"ab", b"\x00\xff", None], None),
    ("enum", {"type": "enum", "name": "e", "symbols": ["A", "B"]}, ["A", "B", None], None),
    ("uuid", {"type": "string", "logicalType": "uuid"}, [ID, ID, None], [str(ID), str(ID), None]),
    ("date", {"type": "int", "logicalType": "date"}, [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31), None], None),
    ("time-millis", {"type": "int", "logicalType": "time-millis"}, [datetime.time(1, 2, 3, 4000), datetime.time(0), None], None),
    ("time-micros", {"type": "long", "logicalType": "time-micros"}, [datetime.time(1, 2, 3, 4), datetime.time(0), None], None),
    ("timestamp-millis", {"type": "long", "logicalType": "timestamp-millis"}, [WHEN.replace(tzinfo=UTC)] * 2 + [None], None),
    ("timestamp-micros", {"type": "long", "logicalType": "timestamp-micros"}, [WHEN.replace(tzinfo=UTC)] * 2 + [None], None),
    ("local-timestamp-micros", {"type": "long", "logicalType": "local-timestamp-micros"}, [WHEN] * 2 + [None], None),
    ("decimal", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, [D("12.50"), D("-0.01"), None], None),
    ("array of float", {"type": "array", "items": "float"}, [[1.5, 2.5], [], None],
     [np.array([1.5, 2.5], "f4"), np.array([], "f4"), None]),
    ("array of string", {"type": "array", "items": "string"}, [["a"], ["b", "c"], None], None),
    ("map of date", {"type": "map", "values": {"type": "int", "logicalType": "date"}}, [{"k": datetime.date(2024, 1, 1)}] * 2 + [None], None),
    ("record", {"type": "record", "name": "r", "fields": [{"name": "a", "type": {"type": "int", "logicalType": "date"}}]},
     [{"a": datetime.date(2024, 1, 1)}] * 2 + [None], None),
]  # fmt: skip

# numpy arrays, of whose rows each is a value.
NUMPY: list[np.ndarray[Any, Any]] = [
    np.array([1, 2, 3], "i4"),
    np.array([0.5, np.inf, -1], "f4"),
    np.array([True, False, True]),
    np.arange(6, dtype="i2").reshape(3, 2),
    np.arange(12, dtype="f8").reshape(3, 2, 2),
    np.array([1 + 2j, 0, -1j], "c16"),
    np.array(["a", "éé", ""], "U2"),
    np.array([b"a", b"bb", b""], "S2"),
    np.array([["a", "b"]] * 3, "U1"),
    np.array(["2024-07-01T12:00:00", "NaT", "1969-01-01"], "M8[s]"),
    np.array([1, "NaT", -5], "m8[ms]"),
    np.array([["2024-07-01", "NaT"]] * 3, "M8[D]"),
]

# Values of pickles.
PICKLED: list[list[Any]] = [
    [datetime.date(2024, 2, 29), datetime.date(1, 1, 1), None],
    [datetime.time(1, 2, 3, 4), datetime.time(0), None],
    [WHEN, datetime.datetime(1, 1, 1), None],
    [WHEN.replace(tzinfo=datetime.timezone.utc), datetime.datetime(1, 1, 1, tzinfo=datetime.timezone.utc), None],
    [WHEN.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))), None],
    [datetime.timedelta(days=-1, microseconds=5), datetime.timedelta(0), None],
]

JSON_LACKS = ("float32 inf", "complex128")


def write(directory: Path) -> None:
    for i, (kind, values, _) in enumerate(ARROW):
        table = pa.table({"v": pa.array(values, kind)})
        pq.write_table(table, directory / ("a%02d.parquet" % i))
        with pa.ipc.new_file(directory / ("i%02d.arrow" % i), table.schema) as out:
            out.write_table(table)
    for i, (_, avro, values, _) in enumerate(AVRO):
        schema = {"type": "record", "name": "t", "fields": [{"name": "v", "type": ["null", avro]}]}
        with open(directory / ("o%02d.avro" % i), "wb") as f:
            fastavro.writer(f, fastavro.parse_schema(schema), [{"v": value} for value in values])
    for i, array in enumerate(NUMPY):
        np.savez(directory / ("n%02d.npz" % i), v=array)
    for i, column in enumerate(PICKLED):
        (directory / ("p%02d.pickle" % i)).write_bytes(pickle.dumps([{"v": value} for value in column]))


def same(got: Any, want: Any) -> bool:
    if isinstance(want, np.ndarray):
        if not isinstance(got, np.ndarray) or got.dtype != want.dtype or not got.flags.writeable:
            return False
        return np.array_equal(got, want, equal_nan=want.dtype.kind in "fcmM")
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(same(got[k], want[k]) for k in want)
    if isinstance(want, np.generic):
        return bool(type(got) is type(want) and (got == want or np.isnat(got) and np.isnat(want)) and got.dtype == want.dtype)
    return bool(type(got) is type(want) and got == want)


def shown(value: Any) -> str:
    """Names the type of a value as a user of Python does."""
    if isinstance(value, np.ndarray):
        return "`numpy.ndarray`, %s" % value.dtype
    if isinstance(value, np.generic):
        return "`numpy.%s`, %s" % (type(value).__name__, value.dtype)
    if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)):
        zone = " with its zone" if getattr(value, "tzinfo", None) else ""
        return "`%s.%s`%s" % (type(value).__module__, type(value).__name__, zone)
    if isinstance(value, list):
        return "`list` of %s" % shown(value[0])
    if isinstance(value, dict):
        return "`dict` of the same"
    return "`%s`" % type(value).__name__


def plain(value: Any) -> Any:
    """A row of an array as the readers return it: numbers, text and bytes are those of Python."""
    return value.item() if isinstance(value, np.generic) and value.dtype.kind in "biufUS" else value


def check(directory: Path) -> None:
    rows = ["| source | msgpack | pickle | json |", "|---|---|---|---|"]
    for i, (kind, values, others) in enumerate(ARROW):
        parquet, ipc = (row("", directory, name % i, others or values) for name in ("a%02d", "i%02d"))
        if parquet != ipc:
            sys.exit("Arrow %s: %s from Parquet, %s from Arrow IPC" % (kind, parquet, ipc))
        for name in ("a%02d", "i%02d"):
            check_arrow(directory, name % i, kind, values)
        rows.append("| Parquet, Arrow IPC `%s` %s" % (kind, parquet[3:]))
    for i, (title, _, values, others) in enumerate(AVRO):
        rows.append(row("Avro `%s`" % title, directory, "o%02d" % i, others or values))
    for i, array in enumerate(NUMPY):
        shape = " %s" % list(array.shape[1:]) if array.ndim > 1 else ""
        rows.append(row("numpy `%s`%s" % (array.dtype, shape), directory, "n%02d" % i, [plain(v) for v in array]))
    for i, column in enumerate(PICKLED):
        zone = " in %s" % column[0].tzinfo if getattr(column[0], "tzinfo", None) else ""
        rows.append(row("pickled `datetime.%s`%s" % (type(column[0]).__name__, zone), directory, "p%02d" % i, column))
    print("\n".join(rows))


def check_arrow(directory: Path, name: str, kind: pa.DataType, values: list[Any]) -> None:
    """Compares the Arrow table of a dataset with the one that it was made of. Integers of all widths are 64 bits wide."""
    want = pa.array(values, pa.int64() if pa.types.is_integer(kind) else kind)
    for payload in ("msgpack", "pickle", "json"):
        data = directory / payload / name
        if not (data / "refused").exists():
            got = recordio.Dataset(data).to_arrow().column("v")
            if got.type != want.type or got.to_pylist() != want.to_pylist():
                sys.exit("%s as %s: the Arrow table has %s: %s" % (want, payload, got.type, got))


def row(title: str, directory: Path, name: str, want: list[Any]) -> str:
    cells = []
    for payload in ("msgpack", "pickle", "json"):
        data = directory / payload / name
        if (data / "refused").exists():
            cells.append("refused")
            continue
        ds = recordio.Dataset(data)
        got = [sample["v"] for sample in ds]
        if not all(map(same, got, want)) or len(got) != len(want):
            sys.exit("%s as %s, %s: %r instead of %r" % (title, payload, json.dumps(ds.columns), got, want))
        if name[0] in "aiop":
            table = ds.to_arrow()
            if table.num_rows != len(want):
                sys.exit("%s as %s: an Arrow table of %d rows" % (title, payload, table.num_rows))
        cells.append(shown(got[0]))
    return "| %s | %s |" % (title, " | ".join(cells))


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](Path(sys.argv[2]))
