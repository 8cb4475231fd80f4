#!/usr/bin/env python3
"""Makes the test data of the foreign formats with the tools that define them.

    python3 make_foreign.py          numpy 2.4.6, pyarrow 26.0.1, pillow 13.0.0,
                                     webdataset 1.0.2, tfrecord 1.14.6, fastavro 1.13.1
    python2 make_foreign.py          numpy 1.16.6; writes pickle/py2-* only

The photograph is video-001.png of Go's image/testdata (BSD licence, The Go
Authors); give its directory as GO_IMAGES. The rows of numbers are the first of
the UCI housing table. Everything else is made here.
"""
from __future__ import print_function
import collections, datetime, decimal, io, os, pickle, struct, sys, uuid
import numpy as np

HOUSING = [
    (0.00632, 18.0, 2.31, 0, 0.538, 6.575, 65.2, 4.09, 1, 296.0, 15.3, 396.9, 4.98, 24.0),
    (0.02731, 0.0, 7.07, 0, 0.469, 6.421, 78.9, 4.9671, 2, 242.0, 17.8, 396.9, 9.14, 21.6),
    (0.02729, 0.0, 7.07, 0, 0.469, 7.185, 61.1, 4.9671, 2, 242.0, 17.8, 392.83, 4.03, 34.7),
    (0.03237, 0.0, 2.18, 0, 0.458, 6.998, 45.8, 6.0622, 3, 222.0, 18.7, 394.63, 2.94, 33.4),
    (0.06905, 0.0, 2.18, 0, 0.458, 7.147, 54.2, 6.0622, 3, 222.0, 18.7, 396.9, 5.33, 36.2),
]


def split(reader, line_count, suffix, dumper):
    """paddle.v2.dataset.common.split: the whole list of samples as one pickle."""
    lines = []
    indx_f = 0
    for i, d in enumerate(reader()):
        lines.append(d)
        if i >= line_count and i % line_count == 0:
            with open(suffix % indx_f, "wb") as f:
                dumper(lines, f)
            lines = []
            indx_f += 1
    if lines:
        with open(suffix % indx_f, "wb") as f:
            dumper(lines, f)


def housing():
    for row in np.array(HOUSING):
        yield row[:-1], row[-1:]


def simple():
    return [
        ("text \u4e2d" if sys.version_info[0] > 2 else u"text \u4e2d", b"by\x00\xfftes", 1, -1, 255, 65536, -2147483648),
        [2 ** 63 - 1, -2 ** 63, 2 ** 64 - 1, 2 ** 31, True, False, None],
        {"a": 1.5, "b": [1, (2,), ()], "e": {}},
        (1e300, -0.0, float("inf")),
    ]


def py2():
    import cPickle
    split(housing, 2, "pickle/py2-housing-%05d.pickle", cPickle.dump)
    for p in (0, 1, 2):
        with open("pickle/py2-simple-%d.pickle" % p, "wb") as f:
            cPickle.dump(simple(), f, p)
        with open("pickle/py2-arrays-%d.pickle" % p, "wb") as f:
            cPickle.dump(arrays(), f, p)


def arrays():
    return [
        np.arange(6, dtype="<f4").reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)),
        np.float64(2.5), np.int64(-7), np.bool_(True), np.float32(0.5),
        np.array([b"ab", b"c"]), np.zeros((0, 3), "u1"), np.array(3, "u1"),
        np.array(["x", u"\u4e2d"]) if sys.version_info[0] > 2 else np.array([u"x", u"\u4e2d"]),
    ]


def pickles():
    for p in range(6):
        with open("pickle/py3-simple-%d.pickle" % p, "wb") as f:
            pickle.dump(simple(), f, p)
        with open("pickle/py3-arrays-%d.pickle" % p, "wb") as f:
            pickle.dump(arrays(), f, p)
    with open("pickle/housing-4.pickle", "wb") as f:
        pickle.dump(list(housing()), f, 4)
    shared = ["shared"]
    with open("pickle/memo.pickle", "wb") as f:
        pickle.dump([shared, shared, (shared, 1)], f, 2)
    with open("pickle/several.pickle", "wb") as f:
        for i in range(3):
            pickle.dump({"i": i}, f, 4)
    with open("pickle/ordered.pickle", "wb") as f:
        pickle.dump([collections.OrderedDict([("z", 1), ("a", 2)]), {1, 2}, frozenset([3]),
                     bytearray(b"ba"), 3 + 4j, 2 ** 70], f, 4)
    loop = []
    loop.append(loop)
    with open("pickle/loop.pickle", "wb") as f:
        pickle.dump([loop], f, 4)
    with open("pickle/types.pickle", "wb") as f:
        pickle.dump([{
            "date": np.datetime64("2017-05-24T07:52:45"), "dates": np.array([1, "NaT"], "M8[25s]"), "span": np.array([1, 2], "m8[ms]"),
            "any": np.array([3], "m8"), "text": np.array(["a", "bc"]), "bytes": np.array([b"a"]), "str": np.str_("x"), "set": {1}, "frozen": frozenset([2]),
            "z": 1 + 2j, "nz": np.complex64(1j), "half": np.float32(0.1), "n": np.int8(3), "rows": np.array([(1, 2.5)], [("a", "<i4"), ("b", "<f8")]),
            "array": bytearray(b"ab"), "raw": b"\x00", "ordered": collections.OrderedDict(a=1), "ints": {1: 2}, "nested": [(1, 2)],
            "f4": np.arange(2, dtype="f4"), "plain": [1, 2.5, "s", None, True, {"k": [1]}],
        }] * 2, f, 4)
        pickle.dump([(np.arange(2, dtype="f4"), {3})], f, 2)
    with open("pickle/objects.pickle", "wb") as f:
        pickle.dump([np.array([1, "a"], dtype=object)], f, 4)
    class Evil(object):
        def __reduce__(self):
            return os.system, ("echo pwned > /tmp/pwned",)
    for p in (0, 2, 4):
        with open("pickle/evil-%d.pickle" % p, "wb") as f:
            pickle.dump([(1, 2), Evil()], f, p)
    with open("pickle/date.pickle", "wb") as f:
        pickle.dump([datetime.date(2017, 5, 24)], f, 2)
    when = datetime.datetime(2017, 5, 24, 7, 52, 45, 123456)
    zone = datetime.timezone(datetime.timedelta(hours=-3, minutes=-30))
    for p in range(6):
        with open("pickle/times-%d.pickle" % p, "wb") as f:
            pickle.dump([
                {"d": None, "t": datetime.time(23, 59, 58, 999999), "w": when, "u": when.replace(tzinfo=datetime.timezone.utc),
                 "z": when.replace(tzinfo=zone), "s": datetime.timedelta(-1, 5, 6), "n": 1, "m": decimal.Decimal("1.50")},
                {"d": datetime.date(1969, 12, 30), "t": None, "w": datetime.datetime(1, 1, 1), "u": None, "z": None,
                 "s": datetime.timedelta(100), "n": None, "m": None}], f, p)


def npy():
    def save(name, a, version=None, **kw):
        with open("npy/%s.npy" % name, "wb") as f:
            np.lib.format.write_array(f, a, version, **kw)
    save("f4", np.arange(6, dtype="<f4").reshape(2, 3))
    save("f4-fortran", np.asfortranarray(np.arange(24, dtype="<f4").reshape(2, 3, 4)))
    save("i2-big", np.array([1, -2, 300], ">i2"))
    save("scalar", np.array(7, "<i8"))
    save("empty", np.zeros((0, 4), "<f8"))
    save("bool", np.array([True, False]))
    save("bytes", np.array([b"ab", b"", b"xyz"]))
    save("unicode", np.array(["\u4e2d\u6587", "a"]))
    save("half", np.array([0.5, -2, 65504], "<f2"))
    save("complex", np.array([1 + 2j, 3 - 4j], "<c8"))
    save("datetime", np.array(["2017-05-24T07:52:45", "NaT"], "<M8[s]"))
    save("version2", np.arange(3, dtype="u1"), (2, 0))
    save("version3", np.array([(1,)], dtype=[("\u4e2d", "<i4")]), (3, 0))
    save("struct", np.array([(1, 2.5, b"ab", [[1, 2], [3, 4]], (7,)), (-1, 0.5, b"c", [[5, 6], [7, 8]], (9,))],
         dtype=[("id", "<i4"), ("x", "<f8"), ("s", "S3"), ("m", ">u2", (2, 2)), ("in", [("y", "u1")])]))
    save("struct-aligned", np.array([(1, 2.5)], dtype=np.dtype([("a", "u1"), ("b", "<f8")], align=True)))
    save("object", np.array([{}, 1], dtype=object))
    save("dates", np.array([[(1, "NaT"), (2, 3)]], dtype=[("d", "<M8[25s]"), ("t", ">m8[ms]")]))
    np.savez("npy/types.npz", d=np.array([1, 2], "M8[D]"), t=np.array([[1, 2], [3, "NaT"]], "m8[us]"), f=np.array([0.1, 0.2], "f4"),
             s=np.array([["ab", "c"], ["d", ""]]), b=np.array([b"ab", b"c"]), c=np.array([1j, 2]), i=np.ones((2, 3, 4), "i2"))
    x, y = np.arange(12, dtype="u1").reshape(3, 2, 2), np.array([3, 1, 2])
    np.savez("npy/stored.npz", x=x, y=y)
    np.savez_compressed("npy/packed.npz", x=x, y=y, name=np.array(["a", "b", "c"]))
    np.savez("npy/uneven.npz", x=x, y=y[:2])
    np.savez("npy/fortran.npz", x=np.asfortranarray(np.arange(6, dtype="<i4").reshape(3, 2)))


def images():
    from PIL import Image
    src = Image.open(os.environ["GO_IMAGES"] + "/video-001.png").convert("RGB").resize((30, 20))
    for path, fmt, kw in (
            ("cat/a.png", "PNG", {}), ("cat/b.jpg", "JPEG", {"quality": 60}), ("cat/deep/c.jpeg", "JPEG", {"progressive": True}),
            ("dog/d.gif", "GIF", {}), ("dog/e.bmp", "BMP", {}), ("dog/f.webp", "WEBP", {"quality": 50}),
            ("dog/g.webp", "WEBP", {"lossless": True})):
        path = "images/" + path
        if not os.path.isdir(os.path.dirname(path)):
            os.makedirs(os.path.dirname(path))
        src.save(path, fmt, **kw)
    src.putalpha(128)
    src.save("images/dog/h.webp", "WEBP", quality=50, exif=b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0")
    with open("images/dog/broken.png", "wb") as f:
        f.write(b"<html>404 not found</html>\n")


def tfrecords():
    from tfrecord.writer import TFRecordWriter
    w = TFRecordWriter("tfrecord/examples.tfrecord")
    for i in range(3):
        w.write({"image": (bytes([i, 255, 0]), "byte"), "label": (i - 1, "int"), "weights": ([0.5, i], "float"),
                 "name": ([b"n%d" % i], "byte")})
    w.close()


def tars():
    import webdataset
    with webdataset.TarWriter("webdataset/samples.tar", mtime=0) as w:
        with open("images/cat/a.png", "rb") as f:
            png = f.read()
        for i in range(3):
            w.write({"__key__": "train/%04d" % i, "png": png[:40 + i], "cls": i, "json": {"id": i, "seg.txt": "s"},
                     "left.txt": "l%d" % i})


def parquet():
    import pyarrow as pa, pyarrow.parquet as pq, pyarrow.feather as feather
    def save(name, t, **kw):
        pq.write_table(t, "parquet/%s.parquet" % name, **kw)
    def save_arrow(name, t, compression):  # the file and, without compression, the stream
        feather.write_feather(t, "arrow/%s.feather" % name, compression=compression, chunksize=2)
        with pa.ipc.new_stream("arrow/%s.arrow" % name, t.schema) as w:
            w.write_table(t, max_chunksize=2)
    n = 5
    flat = pa.table({
        "i64": pa.array([1, None, -3, 2 ** 62, 5], pa.int64()), "u8": pa.array(range(n), pa.uint8()),
        "u64": pa.array([0, 1, 2, 3, 2 ** 64 - 1], pa.uint64()), "f32": pa.array([0.5, 1, 2, 3, None], pa.float32()),
        "f64": pa.array([0.1 * i for i in range(n)], pa.float64()), "s": pa.array(["a", "\u4e2d", None, "", "e"]),
        "b": pa.array([b"\x00\xff", b"", None, b"x", b"y"], pa.binary()), "t": pa.array([True, False, None, True, True]),
        "d": pa.array([datetime.date(2017, 5, 24)] * n), "f16": pa.array(np.array([0.5, 1, 2, 3, 4], "f2")),
        "ts": pa.array([datetime.datetime(2017, 5, 24, 7, 52, 45, 123456)] * n, pa.timestamp("us")),
        "dec": pa.array([decimal.Decimal("1.25")] * n, pa.decimal128(10, 2)), "fsb": pa.array([b"abc"] * n, pa.binary(3)),
        "dict": pa.array(["x", "y", "x", None, "y"]).dictionary_encode(), "null": pa.nulls(n), "dur": pa.array([7] * n, pa.duration("s")),
    })
    save("flat", flat, row_group_size=2)
    save_arrow("flat", flat, "lz4")
    nested = pa.table({
        "l": pa.array([[1, 2], [], None, [3, None]], pa.list_(pa.int32())),
        "ll": pa.array([[["a"], []], None, [], [["b", "c"]]], pa.list_(pa.list_(pa.string()))),
        "st": pa.array([{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}, {"x": 4, "y": None}]),
        "ls": pa.array([[{"k": 1}], [], None, [{"k": None}, {"k": 3}]], pa.list_(pa.struct([("k", pa.int64())]))),
        "m": pa.array([[("a", 1)], [], None, [("b", 2), ("c", None)]], pa.map_(pa.string(), pa.int32())),
        "fl": pa.array([[1.5, 2], [3, 4], None, [5, 6]], pa.list_(pa.float32(), 2)),
    })
    save("nested", nested)
    save_arrow("nested", nested, "zstd")
    for c in ("gzip", "zstd", "lz4", "brotli", "none"):
        save(c, pa.table({"x": pa.array(range(300), pa.int32()), "s": ["row %d" % (i % 7) for i in range(300)]}),
             compression=c, row_group_size=100, data_page_version="2.0" if c == "zstd" else "1.0")
    save("empty", flat.slice(0, 0))
    lists = pa.table({
        "l": pa.array([[1], None, [2, 3], []], pa.list_(pa.int32())), "m": pa.array([[("a", 1)], [("b", 2)], None, []], pa.map_(pa.string(), pa.int32())),
    })
    for v in ("1", "2"):  # small pages of lists with a dictionary: some have no values
        save("pages-v" + v, pa.concat_tables([lists.slice(i, 1) for i in range(4)]), data_page_size=1, data_page_version=v + ".0", compression="none")
    us, ns = pa.duration("us"), pa.timestamp("ns", "Europe/Berlin")
    arrow = pa.table({
        "d": pa.array([1, None], pa.duration("ms")), "z": pa.array([1, 2], ns), "l": pa.array([[3], []], pa.list_(us)),
        "s": pa.array([{"a": 1, "b": {"c": 4}}] * 2, pa.struct([("a", pa.int64()), ("b", pa.struct([("c", us)]))])),
        "m": pa.array([[("k", 5)]] * 2, pa.map_(pa.string(), us)), "n": pa.array([[(6, 7)]] * 2, pa.map_(us, ns)),
        "f": pa.array([[[8, 9]], []], pa.list_(pa.list_(us, 2))), "e": pa.array(["x", "y"]).dictionary_encode(),
    })
    save("arrow", arrow)
    save_arrow("arrow", arrow, "uncompressed")
    pairs = pa.map_(pa.int8(), pa.int8())
    save_arrow("types", pa.table({
        "word": pa.array(["a", "b", None, "a"]).dictionary_encode(), "map": pa.array([[("k", 1)], [], None, []], pa.map_(pa.string(), pa.int8())),
        "pairs": pa.array([[(1, 1)], [], None, []], pairs), "large": pa.array(["x", None, "y", ""], pa.large_string()),
        "day": pa.array([0, None, 86400000, 86400001], pa.int64()).cast(pa.timestamp("ms")).view(pa.date64()),
        "dec": pa.array([None, decimal.Decimal("1.00"), decimal.Decimal("2.00"), None], pa.decimal256(40, 2)),
    }), "uncompressed")
    with pa.ipc.new_file("arrow/views.arrow", pa.schema([("v", pa.string_view())])) as w:
        w.write_table(pa.table({"v": pa.array(["a", "longer than twelve bytes"], pa.string_view())}))
    sums = pa.table({"x": pa.array(range(60), pa.int32()), "s": ["row %d" % (i % 7) for i in range(60)],
                     "d": pa.array([0.5 * i if i % 5 else None for i in range(60)]), "l": [[i, i + 1] for i in range(60)]})
    for name, kw in (("sums-v1", {"compression": "none"}), ("sums-v2", {"compression": "snappy", "data_page_version": "2.0"})):
        save(name, sums, row_group_size=30, data_page_size=64, write_batch_size=8, use_dictionary=["s"],
             write_page_checksum=True, store_schema=False, write_statistics=False, **kw)


def avros():
    import fastavro
    schema = {"type": "record", "name": "Row", "namespace": "test", "fields": [
        {"name": "id", "type": "long"}, {"name": "n", "type": ["null", "int"]}, {"name": "ok", "type": "boolean"},
        {"name": "f", "type": "float"}, {"name": "d", "type": ["double", "null"]}, {"name": "fd", "type": ["float", "double", "null"]},
        {"name": "s", "type": "string"}, {"name": "b", "type": "bytes"}, {"name": "z", "type": "null"},
        {"name": "fx", "type": {"type": "fixed", "name": "Three", "size": 3}},
        {"name": "e", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "l", "type": {"type": "array", "items": ["null", "long"]}}, {"name": "m", "type": {"type": "map", "values": "int"}},
        {"name": "r", "type": {"type": "record", "name": "In", "fields": [{"name": "x", "type": "int"}, {"name": "t", "type": "Three"}]}},
        {"name": "r2", "type": ["null", "In"]},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tm", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "tu", "type": {"type": "long", "logicalType": "time-micros"}},
        {"name": "ts", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "tl", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "dec", "type": {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "dfx", "type": {"type": "fixed", "name": "D", "size": 8, "logicalType": "decimal", "precision": 18, "scale": 3}},
        {"name": "u", "type": {"type": "string", "logicalType": "uuid"}},
    ]}
    utc, local = datetime.timezone.utc, datetime.datetime(2017, 5, 24, 7, 52, 45, 123456)
    rows = [{
        "id": i - 1, "n": None if i % 2 else i, "ok": i % 2 == 0, "f": i / 2, "d": None if i == 1 else 0.1 * i, "fd": None, "s": "\u4e2d%d" % i,
        "b": b"\xff" * i, "z": None, "fx": b"abc", "e": ("RED", "BLUE")[i % 2], "l": [1, None, i], "m": {"k": i}, "r": {"x": -i, "t": b"xyz"},
        "r2": None if i else {"x": 7, "t": b"uvw"}, "day": datetime.date(2017, 5, 24), "tm": datetime.time(1, 2, 3, 4000),
        "tu": datetime.time(1, 2, 3, 4), "ts": None if i == 2 else local.replace(microsecond=123000, tzinfo=utc), "tl": local,
        "dec": decimal.Decimal("-1.25") * i, "dfx": decimal.Decimal("12345.678"), "u": uuid.UUID(int=i),
    } for i in range(5)]
    for codec in ("null", "deflate", "snappy", "zstandard"):
        with open("avro/%s.avro" % codec, "wb") as f:
            fastavro.writer(f, schema, rows, codec, sync_interval=200, sync_marker=b"0123456789abcdef")
    for name, kind in (("union", ["int", "string"]), ("itself", {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]})):
        with open("avro/%s.avro" % name, "wb") as f:
            fastavro.writer(f, {"type": "record", "name": "R", "fields": [{"name": "v", "type": kind}]}, [], sync_marker=b"0123456789abcdef")


if __name__ == "__main__":
    os.chdir(os.path.dirname(os.path.abspath(__file__)))
    for d in ("pickle", "npy", "images", "tfrecord", "webdataset", "parquet", "arrow", "avro"):
        if not os.path.isdir(d):
            os.mkdir(d)
    if sys.version_info[0] == 2:
        py2()
    else:
        pickles(), npy(), images(), tfrecords(), tars(), parquet(), avros()
