"""What can be seen of it - the repr of a value, an exception's type and message, the
names of a thread, of a function and of its file - holds what a terminal obeys."""

import threading
import types

from common import finish, on_sigusr1, ready

MESSAGE = "\x1b]0;title\x07\x1b[31mred\x9b2J\x7fend"
TEXT = MESSAGE + "\r"


class Value:
    def __repr__(self):
        return TEXT


def named(function):
    """The same function, called TEXT, in a file of that name."""
    code = function.__code__
    names = {name: TEXT for name in ("co_name", "co_filename", "co_qualname")
             if hasattr(code, name)}
    return types.FunctionType(code.replace(**names), globals(), TEXT)


def wait_beside(lock):
    lock.acquire()


def wait_for_lock(lock, value):
    try:
        raise type("Error" + MESSAGE, (ValueError,), {})(MESSAGE)
    except ValueError as error:
        ready("wait_for_lock", ["futex"])
        lock.acquire()
        return len(error.args)


locks = [threading.Lock(), threading.Lock()]
for lock in locks:
    lock.acquire()
beside = threading.Thread(name=TEXT, target=named(wait_beside), args=(locks[1],))
beside.start()
on_sigusr1(lambda: [lock.release() for lock in locks])
answer = wait_for_lock(locks[0], Value())
beside.join()
finish(answer=answer)
