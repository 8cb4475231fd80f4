"""The errors of this package."""


class RecordIOError(ValueError):
    """A file that is damaged, truncated, or not supported."""


class UnknownCompressorError(RecordIOError):
    """A file with a compressor that this package does not support. It may be intact."""


class PickleError(ValueError):
    """A pickle that names more than data, or bytes that are not a pickle."""


class DamageWarning(UserWarning):
    """Names a place of a damaged file, and what was left out there."""


class ChangedError(OSError):
    """A file was changed, replaced or removed while it was read or written."""
