"""What only the thread sees that hangs: both say the name of its function."""

import contextvars
import threading

local = threading.local()
context = contextvars.ContextVar("context")


def set(word):
    local.word = word
    context.set(word)
