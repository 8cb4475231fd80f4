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

    def test_what_is_missing(self) -> None:
        """A URL names the extra that it needs, also if other packages have installed a part of it."""
        code = """
import sys; sys.modules[sys.argv[1]] = None
if sys.argv[1] != "fsspec":
    import fsspec; fsspec.register_implementation("pfs", "recordio.remote.filesystem.PfsFileSystem")
import recordio
for use in recordio.Dataset, recordio.reader, recordio.writer, lambda path: recordio.convert(path, [], 1, "t"):
    try:
        use("pfs://nowhere/x")
    except ImportError as e:
        assert str(e).startswith("pfs://nowhere/x: pip install paddle-recordio[fsspec] ("), e
    else:
        raise AssertionError(use)
"""
        for module in ("fsspec", "aiohttp"):
            subprocess.run([sys.executable, "-c", code, module], check=True)

    def test_loader_is_light(self) -> None:
        """Dataset and stream import what every program needs, and nothing that some do without."""
        some = ("concurrent.futures", "logging", "zoneinfo", "recordio.damage", "recordio.arrow", "fsspec", "asyncio", "ssl", "pandas")
        code = "import recordio, sys; recordio.Dataset, recordio.stream; print([m for m in %r if m in sys.modules])" % (some,)
        out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
        self.assertEqual(out.stdout.strip(), "[]")
