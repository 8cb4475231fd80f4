import sys

from setuptools import setup

setup(
    name="paddle-recordio",
    version="1.0.0",
    description="Reads RecordIO files and datasets made of them",
    packages=["recordio"],
    # Python 2 has a cPickle of its own.
    py_modules=["cPickle"] if sys.version_info[0] >= 3 else [],
    python_requires=">=2.7,!=3.0.*,!=3.1.*,!=3.2.*,!=3.3.*,!=3.4.*,!=3.5.*",
)
