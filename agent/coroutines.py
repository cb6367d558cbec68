# Runs a coroutine that an expression awaits, on our thread. A later part of the
# core (dispatch.py, need).
#
# The program's event loop belongs to the program's thread, and may be what
# hangs. So a fresh coroutine runs on a loop of its own, made for it and closed
# after it. What is tied to another loop cannot be awaited here.


def run_coroutine(coroutine):
    # Never imported: a program without asyncio has nothing that needs a loop.
    asyncio = sys.modules.get("asyncio")
    make_loop = getattr(asyncio, "SelectorEventLoop", None)
    if make_loop is None:
        return _run_by_hand(coroutine)
    loop = make_loop()
    _at_end.setdefault(_thread.get_ident(), []).append(loop.close)
    try:
        return _run_on_loop(loop, coroutine)
    except (RuntimeError, ValueError) as error:
        # asyncio has no type for this, and several texts.
        if "different" in str(error) and "loop" in str(error):
            raise RuntimeError(
                "this waits for something of the program's own event loop, which "
                "only the program's thread can run; look at it without await") from None
        raise
    finally:
        _end_tasks(loop, asyncio.all_tasks(loop))


def _run_on_loop(loop, coroutine):
    def tick():  # Cancelled can come up only where Python runs
        loop.call_later(0.05, tick)

    tick()
    return loop.run_until_complete(loop.create_task(coroutine))


def _end_tasks(loop, tasks):
    """Cancels what the coroutine has left running; not for ever, since a task
    may refuse."""
    for task in tasks:
        task.cancel()
    for _ in range(20 if tasks else 0):
        loop.call_soon(loop.stop)
        loop.run_forever()
    for task in tasks:
        task._log_destroy_pending = False  # no line in the program's log
    loop.run_until_complete(loop.shutdown_asyncgens())


def _run_by_hand(coroutine):
    try:
        while coroutine.send(None) is None:
            pass
        raise RuntimeError("this waits for an event loop, and asyncio is not imported here")
    except StopIteration as stop:
        return stop.value
    finally:
        coroutine.close()
