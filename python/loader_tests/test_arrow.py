import json
from unittest import mock

import recordio

from .files import InDirectory


class Arrow(InDirectory):
    def test_arrow_of_large_numbers(self) -> None:
        """Numbers above 2**63 are uint64 in all batches, with and without the types of a manifest."""
        big = 2**64 - 1
        recordio.convert(self.dir / "big", lambda: iter([{"a": 1, "b": -1}] * 3 + [{"a": big, "b": 2}]), 100, "t", payload="msgpack")
        path = self.dir / "big" / ".t.manifest"
        m = json.loads(path.read_text())
        for columns in ([], [{"name": "a", "type": "int"}, {"name": "b", "type": "int"}]):
            path.write_text(json.dumps({**m, "columns": columns}))
            for rows in (1 << 16, 1):
                with mock.patch("recordio.arrow._ROWS", rows), mock.patch("recordio.streaming._GROUP_RECORDS", rows):
                    table = recordio.Dataset(self.dir / "big").to_arrow()
                self.assertEqual([str(t) for t in table.schema.types], ["uint64", "int64"])
                self.assertEqual(table.column("a").to_pylist(), [1, 1, 1, big])
                self.assertEqual(table.column("b").to_pylist(), [-1, -1, -1, 2])

    def test_arrow_of_moments(self) -> None:
        """Dates and times of numpy become the nearest types of Arrow, and NaT becomes null."""
        nat = -(2**63)
        rows = [{"d": 18262, "h": 24, "m": 600, "u": 1_000_000, "a": [1, nat]}, {"d": nat, "h": nat, "m": 0, "u": nat, "a": [0, 0]}]
        recordio.convert(self.dir / "x", rows, 100, "t", payload="msgpack")
        path = self.dir / "x" / ".t.manifest"
        kinds = {"d": "datetime64[D]", "h": "datetime64[h]", "m": "datetime64[M]", "u": "timedelta64[us]", "a": "datetime64[D][2]"}
        columns = [{"name": name, "type": kind} for name, kind in kinds.items()]
        m = json.loads(path.read_text())
        path.write_text(json.dumps({**m, "columns": columns}))
        table = recordio.Dataset(self.dir / "x").to_arrow()
        types = ["date32[day]", "timestamp[s]", "date32[day]", "duration[us]"]
        self.assertEqual([str(t) for t in table.schema.types[:4]], types)
        first, second = table.to_pylist()
        self.assertEqual([str(first[k]) for k in "dhm"], ["2020-01-01", "1970-01-02 00:00:00", "2020-01-01"])
        self.assertEqual([second[k] for k in "dhu"], [None] * 3)
        self.assertEqual([str(d) for d in first["a"]], ["1970-01-02", "None"])
        path.write_text(json.dumps({**m, "columns": [{"name": "d", "type": "datetime64[as]"}]}))
        with self.assertRaisesRegex(TypeError, "Arrow has no type for"):
            recordio.Dataset(self.dir / "x").to_arrow()

    def test_arrow_of_bytes(self) -> None:
        """Records that are bytes become one column, whatever the manifest says of their origin."""
        recordio.convert(self.dir / "x", [b"a", b"b"], 100, "t", payload="raw")
        path = self.dir / "x" / ".t.manifest"
        m = json.loads(path.read_text())
        path.write_text(json.dumps({**m, "columns": [{"name": "a", "type": "text"}]}))
        self.assertEqual(recordio.Dataset(self.dir / "x").to_arrow().to_pylist(), [{"value": b"a"}, {"value": b"b"}])

    def test_arrow_of_labels(self) -> None:
        """The columns of [features, labels] are those of the manifest, in its order."""
        recordio.convert(self.dir / "x", [[[1, 2.0], ["b", 0]], [[3, None], ["c", 1]]], 100, "t", payload="msgpack")
        path = self.dir / "x" / ".t.manifest"
        m = json.loads(path.read_text())
        kinds = [("int", 0), ("int", 2), ("float", 0), ("text", 1)]
        for names in (["a", "l2", "b", "l1"], [""] * 4):
            path.write_text(json.dumps({**m, "columns": [{"name": n, "type": t, "label": label} for n, (t, label) in zip(names, kinds)]}))
            table = recordio.Dataset(self.dir / "x").to_arrow()
            self.assertEqual(table.schema.names, names if names[0] else ["column0", "column1", "column2", "column3"])
            self.assertEqual([str(t) for t in table.schema.types], ["int64", "int64", "double", "string"])
            self.assertEqual([list(row.values()) for row in table.to_pylist()], [[1, 0, 2.0, "b"], [3, 1, None, "c"]])
