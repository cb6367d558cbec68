"""hangdbg dump --locals and threads' names: as the program has them, also where no
Python can run in it."""

from harness import hangdbg, start, until


def threads_of(target, *flags):
    done = hangdbg("dump", target.pid, "--json", *flags)
    assert done.rc == 0 and done.err == "", done
    return {t["tid"]: t for t in done.json()["processes"][0]["threads"]}


def test_locals(readable_python):
    target = start("file_baton", readable_python)
    frames = threads_of(target, "-l")[target.tid]["frames"]
    path = target.ready["path"]
    locals_ = {frame["function"]: frame["locals"] for frame in frames}
    assert locals_["wait"] == {
        "self": {"type": "FileBaton",
                 "repr": "<FileBaton lock_file_path=%r, wait_seconds=0.1>" % path},
        "answer": {"type": "int", "repr": "41"},
        "seen": {"type": "set", "repr": "{0, 2, 4}"},
    }
    assert locals_["_jit_compile"]["sources"] == {"type": "list", "repr": "['fused.cpp']"}
    assert locals_["<module>"]["lock_path"]["repr"] == repr(path)
    assert "os" not in locals_["<module>"]  # what it imports
    target.finish()


def test_of_a_thread_that_goes_on(readable_python):
    """Its stack is from one moment, its locals from later ones: that is said."""
    target = start("busy", readable_python)

    def looked():
        busy = threads_of(target, "-l")[target.tid]
        spin = {f["function"]: f["locals"] for f in busy["frames"]}["spin"]
        return "rounds" in spin and (busy, spin)

    busy, spin = until("it loops", looked)
    assert busy["exact"] and not busy["locals_exact"], busy
    assert spin["answer"]["repr"] == "41" and int(spin["rounds"]["repr"]) > 0
    assert "its locals may be newer than its frames" in hangdbg("dump", "-l", target.pid).out
    target.finish()


def test_is_shown_to_people(edge_python):
    target = start("file_baton", edge_python)
    done = hangdbg("dump", "-l", target.pid)
    assert "        self = <FileBaton lock_file_path='" in done.out, done
    shallow = hangdbg("dump", "--locals=0", target.pid)
    assert "        self = <__main__.FileBaton object at 0x" in shallow.out, shallow
    assert "        seen = {…}" in shallow.out, shallow
    assert "answer = " not in hangdbg("dump", target.pid).out
    target.finish()


def test_depth_is_a_number(newest_python):
    for depth in ("-1", "x", "101", "1e3"):
        done = hangdbg("dump", "--locals=" + depth, "1")
        assert done.rc == 2 and "is not a number from 0 to 100" in done.err, done


def test_gil_is_held_for_ever(readable_python, library):
    held = start("gil_held_by_library", readable_python, library)
    threads = threads_of(held, "--locals")
    assert threads[held.tid]["frames"][0]["locals"]["answer"]["repr"] == "41"
    worker = threads[held.ready["worker"]]
    assert worker["name"].startswith("Thread-1"), worker["name"]
    assert worker["frames"][0]["locals"]["lock"]["repr"].startswith("<locked _thread.lock")


def test_names(readable_python):
    """What threading calls them, which the kernel knows from 3.14 on only."""
    target = start("lock_worker", readable_python)
    assert threads_of(target, "-l")[target.tid]["locals_exact"]
    threads = threads_of(target)
    assert threads[target.pid]["name"] == "MainThread"
    assert threads[target.tid]["name"] == "the-worker"
    assert len(threads) == 2
    target.finish()
