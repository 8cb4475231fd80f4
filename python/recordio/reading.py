"""The reader of one file."""

from __future__ import absolute_import

from .chunks import read_chunks
from .errors import RecordIOError, UnknownCompressorError


class _Empty(bytes):
    """An empty record. It is true, so that a loop that ends at the first false record
    continues after it."""

    def __bool__(self):
        return True

    __nonzero__ = __bool__


_EMPTY = _Empty()


def _open(path):
    if not isinstance(path, str) or "://" not in path:
        return open(path, "rb")
    try:
        import fsspec

        return fsspec.open(path, "rb").open()
    except ImportError as e:
        raise ImportError("%s: pip install paddle-recordio[fsspec] (%s)" % (path, e))


class reader(object):  # noqa: N801 (the name that programs know)
    """Reads the records of a file in order:

        r = recordio.reader(path)
        while True:
            record = r.read()
            if record is None:
                break

    or ``for record in recordio.reader(path)``. Records are bytes. One chunk is in
    memory at a time. path may be a URL that fsspec knows, such as pfs://. Damage raises RecordIOError, again at each further call.

    With on_damage="skip", damaged chunks are left out, and with "salvage" the records in them that checksums
    prove are returned. A DamageWarning names each damaged place, and the list damage describes them. Both need the
    extra [fast].
    """

    def __init__(self, path, on_damage="fail"):
        self._path = path
        self.damage = []
        self._file = _open(path)
        self._chunks = read_chunks(self._file) if on_damage == "fail" else self._tolerant(on_damage)
        self._records = iter(())
        self._failure = None

    def _tolerant(self, policy):
        f = self._file
        try:
            from .damage import check_policy, records_of

            check_policy(policy)
        except ImportError as e:
            f.close()
            raise ImportError("on_damage=%r needs Python 3.10 and the extra: pip install paddle-recordio[fast] (%s)" % (policy, e))
        except ValueError:
            f.close()
            raise

        def read(start, end):
            f.seek(start)
            return f.read(end - start)

        return records_of(str(self._path), read, f.seek(0, 2), policy, self.damage)

    def read(self):
        """Returns the next record, or None at the end. An empty record is a b"" that is
        true."""
        if self._failure is not None:
            raise self._failure
        while True:
            for record in self._records:
                return record or _EMPTY
            if not self._next_chunk():
                return None

    def _next_chunk(self):
        try:
            chunk = next(self._chunks, None)
        except UnknownCompressorError as e:
            self._failure = UnknownCompressorError("%s: %s" % (self._path, e))
            self.close()
            raise self._failure
        except RecordIOError as e:
            self._failure = RecordIOError(
                "%s: %s (paddlectl recordio verify lists all damage, salvage saves the rest)" % (self._path, e)
            )
            self.close()
            raise self._failure
        if chunk is None:
            self.close()
            return False
        self._records = iter(chunk)
        return True

    def close(self):
        """Closes the file. Later calls of read return None."""
        self._file.close()
        self._chunks = self._records = iter(())

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def __iter__(self):
        return self

    def __next__(self):
        record = self.read()
        if record is None:
            raise StopIteration
        return record

    next = __next__
