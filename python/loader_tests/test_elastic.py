"""Trainer processes that are killed, and go on with another number of them."""

import json
import os
import subprocess
import sys
from typing import Any

from .files import InDirectory

COUNTS = [[5, 7, 1], [20], [], [3, 3, 3, 3], [40, 2]]
TOTAL = 87

# Says at each step which records it has had and the cursor, and waits for the word that all trainers have done the step. Rank
# and number of ranks are in the environment, where launchers put them.
TRAINER = """
import itertools, json, sys, recordio
records = recordio.stream(sys.argv[1], seed=9, shuffle=sys.argv[2], cursor=int(sys.argv[3]), batch_size=4)
samples, steps = iter(records), 0
while True:
    ids = [s["id"] for s in itertools.islice(samples, 4)]
    steps += len(ids)
    print(json.dumps({"ids": ids, "cursor": records.cursor_after(steps)}), flush=True)
    if not sys.stdin.readline():
        break
"""


class Trainers:
    """The processes of one run."""

    def __init__(self, count: int, path: Any, shuffle: str, cursor: int) -> None:
        def start(rank: int) -> subprocess.Popen[str]:
            environ = {**os.environ, "PADDLE_TRAINER_ID": str(rank), "PADDLE_TRAINERS_NUM": str(count)}
            args = [sys.executable, "-c", TRAINER, str(path), shuffle, str(cursor)]
            return subprocess.Popen(args, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

        self.processes = [start(rank) for rank in range(count)]

    def step(self) -> list[dict[str, Any]]:
        """Lets every trainer do a step, and returns what they said."""
        said = []
        for p in self.processes:
            assert p.stdin and p.stdout
            said.append(json.loads(p.stdout.readline()))
        for p in self.processes:
            assert p.stdin
            p.stdin.write("\n")
            p.stdin.flush()
        return said

    def end(self, kill: bool) -> list[int]:
        for p in self.processes:
            if kill:
                p.kill()
            p.communicate()
        return [p.returncode for p in self.processes]


class Elastic(InDirectory):
    def test_elastic(self) -> None:
        """Three trainers are killed after some steps, and five go on from the cursor that was saved last: every record of the
        epoch comes exactly once."""
        path, shuffle = self.dataset(COUNTS), "block:2:3"
        trainers = Trainers(3, path, shuffle, 0)
        seen: list[int] = []
        cursor = 0
        for _ in range(3):
            said = trainers.step()
            seen += [i for each in said for i in each["ids"]]
            (cursor,) = {each["cursor"] for each in said}  # saved with the model
        self.assertEqual(trainers.end(kill=True), [-9] * 3)  # in the middle of another step
        self.assertEqual(len(seen), 36)
        trainers = Trainers(5, path, shuffle, cursor)
        while got := [i for each in trainers.step() for i in each["ids"]]:
            seen += got
        self.assertEqual(trainers.end(kill=False), [0] * 5)
        self.assertEqual(sorted(seen), list(range(TOTAL)))
