"""No Triton: torch's stand-in has more on that."""

__version__ = "0.rehearsal"


class jit:
    def __init__(self, function):
        self.function = function

    def __getitem__(self, grid):
        return lambda *arguments: None
