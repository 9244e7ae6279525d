"""Says that files are not in a format that this package knows, so that Spark has to read them."""


class UnknownFormatError(Exception):
    """A format, a place or a setting that this package does not know.

    The message names it. It is never shown as an error: another reader takes over.
    """
