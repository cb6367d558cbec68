"""Two threads import one module, whose body waits for a lock: main runs that
body, a worker waits for main's import to end."""

import threading

from common import finish

importing = threading.Event()
found = []


def import_it_too():
    importing.wait()
    import hung_module

    found.append(hung_module.answer)


worker = threading.Thread(target=import_it_too)
worker.start()
import hung_module  # noqa: E402

worker.join()
finish(answer=hung_module.answer, seen=hung_module.seen, same=found == [hung_module.answer])
