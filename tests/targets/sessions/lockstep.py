"""Two counters go up in one loop: a local, and an item of a list, which no
debugger's careless write of locals can set back. In the main thread; another
sleeps, for a debugger that can borrow no thread that runs."""

import threading

from common import finish, on_sigusr1, ready

stop = []


def count():
    chosen = None
    rewound = 0
    number = 0
    counted = [0]
    ready("count", [])
    while not stop:
        number += 1
        counted[0] += 1
        if number != counted[0]:
            rewound += 1
            number = counted[0]
    return chosen, rewound


threading.Thread(target=threading.Event().wait, daemon=True).start()
on_sigusr1(lambda: stop.append(True))
chosen, rewound = count()
finish(chosen=chosen, rewound=rewound)
