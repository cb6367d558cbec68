"""No numba: torch's stand-in has more on that."""

__version__ = "0.rehearsal"
