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
