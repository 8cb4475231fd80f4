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
SERVED = tuple(name + ", from a service" for name in ("PaddlePaddle", "PyTorch", "Hugging Face", "Dask", "MosaicML Streaming"))
NAME = os.environ.get("RECORDIO_FRAMEWORK", "")


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
        self.run_program(path)

    def run_program(self, path: Path, *args: str) -> None:
        environ = {**os.environ, "PYTHONPATH": str(PAGE.parents[1] / "python")}
        command = [sys.executable, "-W", "ignore", str(path), *args]
        out = subprocess.run(command, cwd=self.dir, env=environ, capture_output=True, text=True, timeout=1500)
        self.assertEqual((out.returncode, out.stdout.strip()), (0, "1000"), "%s: %s" % (path.name, out.stderr))


class Frameworks(WithExamples):
    def test_all_named(self) -> None:
        self.assertEqual(tuple(examples()), FAST + SLOW + SERVED)

    def test_fast(self) -> None:
        for name in FAST:
            with self.subTest(name):
                self.run_example(name)


@unittest.skipUnless(NAME in SERVED, "the long tests have a service and these frameworks")
class ServedFrameworks(WithExamples):
    def test_example(self) -> None:
        """The example with the service of the test, local, in place of dc1."""
        import fsspec  # type: ignore[import-untyped]

        fsspec.register_implementation("pfs", "recordio.remote.filesystem.PfsFileSystem")  # pip registers it
        fsspec.filesystem("pfs").put(str(self.dir / "data"), "pfs://local/home/alice/data", recursive=True)
        program = examples()[NAME].replace("pfs://dc1/", "pfs://local/")
        register = "import fsspec\nfsspec.register_implementation('pfs', 'recordio.remote.filesystem.PfsFileSystem')\n"
        path = self.dir / "example.py"
        path.write_text(register + "if __name__ == '__main__':\n" + "".join("    " + line for line in program.splitlines(True)))
        self.run_program(path)


@unittest.skipUnless(NAME in SLOW, "the long tests have these frameworks")
class SlowFrameworks(WithExamples):
    def test_example(self) -> None:
        self.run_example(NAME)

    @unittest.skipUnless(NAME in ("PaddlePaddle", "PyTorch"), "these have workers")
    def test_killed_workers(self) -> None:
        self.run_program(Path(__file__).with_name("killed_workers.py"), NAME)

    @unittest.skipUnless(NAME == "PyTorch", "a test of PyTorch")
    def test_workers(self) -> None:
        self.run_program(Path(__file__).with_name("torch_workers.py"))
