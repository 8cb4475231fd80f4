"""fsspec's own tests."""

import uuid

import fsspec.tests.abstract as abstract
import pytest

from recordio.remote.filesystem import PfsFileSystem


class Fixtures(abstract.AbstractFixtures):
    @pytest.fixture
    def fs(self):
        return PfsFileSystem()

    @pytest.fixture
    def fs_path(self, fs):
        path = "local/home/alice/" + uuid.uuid4().hex
        fs.mkdir(path)
        yield path
        fs.rm(path, recursive=True)

    @pytest.fixture
    def fs_join(self):
        return lambda *parts: "/".join(str(p) for p in parts)


class TestCopy(abstract.AbstractCopyTests, Fixtures):
    pass


class TestGet(abstract.AbstractGetTests, Fixtures):
    pass


class TestPut(abstract.AbstractPutTests, Fixtures):
    pass


class TestOpen(abstract.AbstractOpenTests, Fixtures):
    pass


class TestPipe(abstract.AbstractPipeTests, Fixtures):
    pass
