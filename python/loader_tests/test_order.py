import json
import unittest

import numpy as np

from recordio.order import Walk, fingerprint, order_of

from .files import WRITTEN, needs_written


class Order(unittest.TestCase):
    @needs_written
    def test_same_as_go(self) -> None:
        count = 0
        for line in (WRITTEN / "orders.jsonl").read_text().splitlines():
            c = json.loads(line)
            total = sum(c["Blocks"])
            order = order_of(c["Shuffle"], total, c["Blocks"], c["Seed"], c["Epoch"])
            walk = Walk(total, c["Cursor"], c["Rank"], c["World"], c["Equal"])
            steps = np.arange(len(walk))
            self.assertEqual(order.at(walk.positions(steps)).tolist(), c["Records"], c)
            self.assertEqual([walk.cursor_after(k + 1) for k in range(len(walk))] + [walk.end], c["Cursors"], c)
            self.assertEqual(fingerprint([("train-10", 2 * total), ("train-é", total)], c["Blocks"]), c["Fingerprint"])
            count += 1
        self.assertGreaterEqual(count, 3000)

    def test_large(self) -> None:
        """The first records of a large epoch, which package shard computed."""
        n = 1 << 40
        got = order_of("global", n, [], 7, 3).at(np.arange(1000))
        self.assertEqual(len(set(got.tolist())), 1000)
        self.assertTrue(((0 <= got) & (got < n)).all())

    def test_refused(self) -> None:
        for shuffle in ("", "blocks", "block:", "block:0", "block:1:0", "block:1:2:3", "block:x", "block:-1", "block:99999999999"):
            with self.assertRaisesRegex(ValueError, "shuffle="):
                order_of(shuffle, 1, [1], 0, 0)
        for seed in (-1, 1 << 64):
            with self.assertRaisesRegex(ValueError, "seed="):
                order_of("global", 1, [], seed, 0)
        for walk in ((10, 11, 0, 1, "exact"), (10, -1, 0, 1, "exact"), (10, 0, 2, 2, "exact"), (10, 0, 0, 1, "equal")):
            with self.assertRaises(ValueError):
                Walk(*walk)
