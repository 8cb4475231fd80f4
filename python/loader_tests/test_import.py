import subprocess
import sys
import unittest


class Import(unittest.TestCase):
    def test_import_is_light(self) -> None:
        """import recordio must not import the libraries that it can do without."""
        heavy = ("numpy", "cramjam", "msgpack", "fsspec", "torch", "pandas", "pyarrow", "asyncio", "ssl")
        code = "import recordio, sys; print([m for m in %r if m in sys.modules])" % (heavy,)
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(out.stdout.strip(), "[]")

    def test_loader_is_light(self) -> None:
        """Dataset and stream import what every program needs, and nothing that some do without."""
        some = ("concurrent.futures", "logging", "zoneinfo", "recordio.damage", "recordio.arrow", "fsspec", "asyncio", "ssl", "pandas")
        code = "import recordio, sys; recordio.Dataset, recordio.stream; print([m for m in %r if m in sys.modules])" % (some,)
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(out.stdout.strip(), "[]")
