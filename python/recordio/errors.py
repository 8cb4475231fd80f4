"""The errors of this package."""


class RecordIOError(ValueError):
    """A file that is damaged, cut off, or of a kind that is not read here."""


class UnknownCompressorError(RecordIOError):
    """A file that is compressed as this package does not read, and may be whole."""


class PickleError(ValueError):
    """A pickle that asks for more than data, or is none."""
