"""Is measured while it does what it is told, line by line, on its standard input: by
coverage, by cProfile, or by a trace function of its own, as its argument says."""

import json
import sys

from common import finish, ready


def work(number):
    total = 0
    for part in range(number):
        total += twice(part)  # loop
    if total < 0:
        total = never(total)
    return total  # result


def twice(number):
    doubled = number * 2
    return doubled  # twice


def never(number):
    return -number


def sums(number):
    return sum(pieces(number))


def pieces(number):
    for part in range(number):
        yield part  # piece


def listen():
    for line in sys.stdin:
        if not line.strip():
            return
        sys.stdout.write(json.dumps(eval(line)) + "\n")
        sys.stdout.flush()


def measure():
    """What ends it, and returns what was measured."""
    if sys.argv[1] == "coverage":
        import coverage

        measured = coverage.Coverage(data_file=None, config_file=False, include=[__file__])
        measured.start()

        def end():
            measured.stop()
            return sorted(measured.get_data().lines(__file__))
    elif sys.argv[1] == "cProfile":
        import cProfile

        profile = cProfile.Profile()
        profile.enable()

        def end():
            profile.disable()
            return sorted([str(getattr(one.code, "co_filename", "")), name_of(one.code),
                           one.callcount] for one in profile.getstats())
    else:
        sys.settrace(own)

        def end():
            sys.settrace(None)
            return events
    return end


def own(frame, event, argument):
    """Of all code, whosever it is."""
    if event != "call":
        events.append([frame.f_code.co_filename, event, frame.f_code.co_name, frame.f_lineno])
    return own


def name_of(code):
    return code if isinstance(code, str) else code.co_name


def same():
    """Whether what measures is as it was set."""
    return [sys.gettrace() is before[0], sys.getprofile() is before[1]]


def tools():
    """Of sys.monitoring, by number."""
    monitoring = getattr(sys, "monitoring", None)
    return [monitoring.get_tool(tool) for tool in range(6)] if monitoring else []


events, before = [], []
end = measure()
before[:] = sys.gettrace(), sys.getprofile()
ready("listen", ["read"], go_on="stdin", tools=tools())
listen()
kept = same()
finish(measured=end(), kept=kept, tools=tools())
