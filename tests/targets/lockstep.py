"""Two counters go up in one loop: a local, and an item of a list, which no
debugger's careless write of locals can set back. The main thread, alone."""

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


on_sigusr1(lambda: stop.append(True))
chosen, rewound = count()
finish(chosen=chosen, rewound=rewound)
