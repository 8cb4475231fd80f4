"""New files, which get their names when they are complete."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any

from .storage import file_system


class Staged:
    """A new file. publish gives it its name, and discard removes the written bytes.

    The bytes are in a dot-file of the same directory. On pfs:// they are sent to the service as they are written, and are in
    no directory before publish. For other file systems of fsspec they are in a temporary file of this machine.
    """

    def __init__(self, path: str, exclusive: bool = False) -> None:
        self._path, self._fs, self._temporary = path, None, ""
        if "://" in path:
            self._fs, self._path = file_system(path)
        if self._fs is not None and self._fs.protocol == "pfs":
            from .remote.filesystem import PfsFile

            self._file: Any = PfsFile(self._fs, self._path, "xb" if exclusive else "wb", autocommit=False)
        else:
            directory = None if self._fs is not None else os.path.dirname(self._path) or "."
            descriptor, self._temporary = tempfile.mkstemp(".tmp", ".recordio.", directory)
            self._file = os.fdopen(descriptor, "wb")

    def write(self, data: bytes) -> None:
        self._file.write(data)

    def finish(self) -> None:
        """Ends the writing."""
        if self._temporary:
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()

    def publish(self) -> None:
        """Gives the finished file its name. It replaces another one of that name, except on pfs:// if it is exclusive."""
        if not self._temporary:
            self._file.commit()
        elif self._fs is not None:
            self._fs.put_file(self._temporary, self._path)
            os.remove(self._temporary)
        else:
            os.chmod(self._temporary, 0o666 & ~_umask())
            os.replace(self._temporary, self._path)

    def discard(self) -> None:
        """Removes what was written. After publish there is nothing to remove."""
        if not self._temporary:
            self._file.discard()
            return
        with contextlib.suppress(OSError):  # a full disk
            self._file.close()
        if os.path.exists(self._temporary):
            os.remove(self._temporary)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
