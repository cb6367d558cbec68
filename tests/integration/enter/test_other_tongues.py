"""What users of gdb and of IPython type at the prompt."""

from harness import hangdbg, start


def test_words_of_gdb_and_of_ipython(edge_python):
    target = start("frames", edge_python)
    commands = ["py-bt", "info threads", "py-print 1 + 1", "number?", "p $_frame.f_lineno > 0",
                "p '$_frame'"]
    done = hangdbg("attach", target.pid, *[word for one in commands for word in ("-c", one)])
    assert done.rc == 0, done
    lines = done.out.splitlines()
    assert any(line.startswith("> ") for line in lines), done
    assert any("MainThread" in line for line in lines), done
    assert "2" in lines and "<class 'int'>" in lines and "True" in lines, done
    assert "'$_frame'" in lines, done
    target.finish()


def test_what_has_no_value_here(edge_python):
    target = start("frames", edge_python)
    done = hangdbg("attach", target.pid, "-c", "p $_exception")
    assert (done.rc, done.err) == (1, "*** NameError: $_exception has no value here\n"), done
    target.finish()
