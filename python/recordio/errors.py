"""The errors of this package."""


class RecordIOError(ValueError):
    """A file that is damaged, cut off, or of a kind that is not read here."""


class PickleError(ValueError):
    """A pickle that asks for more than data, or is none."""
