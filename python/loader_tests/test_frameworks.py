"""The examples of docs/python.md, as they are there."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import numpy as np

import recordio

from .files import InDirectory

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
FAST = ("numpy", "pandas and pyarrow", "Grain")
SLOW = ("PaddlePaddle", "PyTorch", "Hugging Face")


def examples() -> dict[str, str]:
    """The programs of the section Frameworks, by their headings."""
    section = PAGE.read_text().split("\n## Frameworks\n")[1].split("\n## ")[0]
    return dict(re.findall(r"\n### ([^\n]*)\n\n```python\n(.*?)```", section, re.DOTALL))


class WithExamples(InDirectory):
    def setUp(self) -> None:
        super().setUp()

        def samples() -> Any:
            for i in range(1000):
                yield {"id": i, "x": np.full(8, i, np.float32), "y": i % 10}

        recordio.convert(self.dir / "data", samples, 100, "train", payload="msgpack")

    def run_example(self, name: str) -> None:
        program = "if __name__ == '__main__':\n" + "".join("    " + line for line in examples()[name].splitlines(True))
        path = self.dir / "example.py"
        path.write_text(program)
        environ = {**os.environ, "PYTHONPATH": str(PAGE.parents[1] / "python")}
        out = subprocess.run([sys.executable, "-W", "ignore", str(path)], cwd=self.dir, env=environ, capture_output=True, text=True, timeout=500)
        self.assertEqual((out.returncode, out.stdout.strip()), (0, "1000"), "%s: %s" % (name, out.stderr))


class Frameworks(WithExamples):
    def test_all_named(self) -> None:
        self.assertEqual(tuple(examples()), FAST + SLOW)

    def test_fast(self) -> None:
        for name in FAST:
            with self.subTest(name):
                self.run_example(name)


@unittest.skipUnless(os.environ.get("RECORDIO_FRAMEWORK"), "the long tests have these frameworks")
class SlowFrameworks(WithExamples):
    def test_slow(self) -> None:
        self.run_example(os.environ["RECORDIO_FRAMEWORK"])
