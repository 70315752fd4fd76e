"""Errors that end a command. Each text names the field, the value and the cure."""


class PrismemError(Exception):
    """Something failed that the user must know about; exit code 1."""


class MisuseError(PrismemError):
    """The request itself is wrong: nothing was run and nothing was written; exit code 2."""


class ProfileError(MisuseError):
    """A profile or an override of one is wrong."""


class TraceError(MisuseError):
    """A request trace is wrong; the text names file and line."""
