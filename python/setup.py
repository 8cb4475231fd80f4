"""The metadata of the package. It is here and not in pyproject.toml because the setuptools of
Python 2.7 and 3.6, which may install the plain readers, do not read it there."""

import sys
import sysconfig

from setuptools import Extension, find_packages, setup

FAST = ["blake3>=1", "cramjam>=2.9", "google-crc32c>=1.6", "msgpack>=1.1", "numpy>=1.26", "xxhash>=3.4"]

options = {}
if sys.version_info >= (3, 10) and sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED"):
    options = {
        # Without a C compiler the package is installed without it, and does the same more slowly.
        "ext_modules": [
            Extension(
                "recordio.native",
                ["recordio/native.c"],
                define_macros=[("Py_LIMITED_API", "0x030A0000")],
                extra_compile_args=["-O3", "-Werror=implicit-function-declaration"],
                py_limited_api=True,
                optional=True,
            )
        ],
        "options": {"bdist_wheel": {"py_limited_api": "cp310"}},
    }

setup(
    name="paddle-recordio",
    version="1.0.0",
    description="Reads and writes RecordIO files and datasets made of them",
    packages=find_packages(include=["recordio", "recordio.*"]),
    package_data={"recordio": ["py.typed", "*.pyi"]},
    # Python 2 has a cPickle of its own.
    py_modules=["cPickle"] if sys.version_info[0] >= 3 else [],
    python_requires=">=2.7,!=3.0.*,!=3.1.*,!=3.2.*,!=3.3.*,!=3.4.*,!=3.5.*",
    extras_require={
        "fast": FAST,
        "fsspec": FAST + ["fsspec>=2025.3", "aiohttp>=3.11", "xxhash>=3.4", "PyYAML>=6"],
    },
    entry_points={"fsspec.specs": ["pfs = recordio.remote.filesystem:PfsFileSystem"]},
    **options
)
