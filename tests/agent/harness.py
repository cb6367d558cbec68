"""The agent in this process, with fakes for what the bootstrap puts in its dict.

Imports nothing that a scenario may want to see unimported: json, threading and
ctypes come where they are needed.
"""

import os
import sys
import _thread

PY = sys.version_info[:2]
MESSAGES = os.environ.get("HANGDBG_MESSAGES")  # a file for all that is sent
AGENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "agent")


class Skip(Exception):
    """This interpreter cannot show it."""


class Refused(Exception):
    """An error response; .id, .type, .text and .traceback as sent."""

    def __init__(self, response):
        detail = response["body"]["hangdbg"]
        super().__init__(response["message"], detail)
        self.id = detail["id"]
        self.type = detail["type"]
        self.text = response["message"]
        self.traceback = detail["traceback"]
        assert response["body"]["error"]["format"] == self.text
        assert "\n" not in self.text


def read(name):
    with open(os.path.join(AGENT, name), encoding="utf-8") as file:
        return file.read()


def core_source():
    """The core as scripts/assemble-agent puts it together, which itself would
    import what a scenario may want to see unimported."""
    script = read("../scripts/assemble-agent")
    core, parts = (eval(script.split("\n%s = " % name)[1].split(")")[0] + ")")
                   for name in ("CORE", "PARTS"))
    source = "".join(read(name + ".py") for name in core)
    for name in parts:
        source += "parts[%r] = r'''%s'''\n" % (name, read(name + ".py"))
    return source


class Agent:
    def __init__(self, **builtins):
        self.sent = b""
        self.tids = {}
        self.main = _thread.get_ident()
        self.names = {"__name__": "hangdbg", "_tid_of": self.tid_of, "_send": self.send,
                      "_current_frames": lambda: None, "_ident": _thread.get_ident,
                      "_f_locals": lambda frame: frame.f_locals,
                      "_run_cancellable": lambda function: function(),
                      "_set_cancelled": self.set_cancelled, "_set_local": set_local,
                      "_locals_of": lambda frame: dict(frame.f_locals)}
        self.names.update(builtins)
        exec(compile(core_source(), "<hangdbg>", "exec", 0, True), self.names)
        self.handle = self.names["handle"]

    def tid_of(self, ident):
        return os.getpid() if ident in (0, self.main) else self.tids.get(ident, 0)

    def send(self, framed):
        self.sent += framed

    def set_cancelled(self, kind):
        self.cancelled = kind

    def load(self, name):
        self.request("hangdbg/load", name=name, source=read(name + ".py"))

    def raw(self, message, session=1):
        """The messages that come of one body: events sent meanwhile first."""
        self.sent = b""
        answer = self.handle(session, message)
        assert type(answer) is bytes
        messages = unframe(self.sent + answer)
        if MESSAGES:
            import json
            with open(MESSAGES, "a") as file:
                file.writelines([json.dumps(message) + "\n" for message in messages])
        return messages

    def request(self, command, session=1, **arguments):
        """The response's body; its events are in self.events."""
        import json
        arguments = {name.replace("hangdbg_", "hangdbg/"): value
                     for name, value in arguments.items()}
        message = json.dumps({"type": "request", "seq": 7, "command": command,
                              "arguments": arguments}).encode()
        *self.events, response = self.raw(message, session)
        if not response["success"] and response["body"]["hangdbg"]["id"] == "needs-part":
            for part in response["message"].split():
                self.load(part)
            *self.events, response = self.raw(message, session)
        assert response["type"] == "response" and response["request_seq"] == 7
        assert response["command"] == command
        if not response["success"]:
            raise Refused(response)
        return response["body"]

    def refused(self, command, **arguments):
        try:
            body = self.request(command, **arguments)
        except Refused as refused:
            return refused
        raise AssertionError("not refused: %r" % body)

    def result(self, expression, frame=None, **arguments):
        if frame is not None:
            arguments["frameId"] = frame
        return self.request("evaluate", expression=expression, **arguments)["result"]

    def output(self):
        return [(event["body"]["category"], event["body"]["output"])
                for event in self.events]

    def stack(self, thread, **arguments):
        return self.request("stackTrace", threadId=thread, **arguments)["stackFrames"]

    def frame(self, hung, name):
        """frameId of the innermost frame of a function of that name."""
        for frame in self.stack(hung.ident):
            if frame["name"] == name:
                return frame["id"]
        raise AssertionError("no frame " + name)


def unframe(data):
    import json
    messages = []
    while data:
        header, data = data.split(b"\r\n\r\n", 1)
        name, length = header.split(b": ")
        assert name == b"Content-Length"
        messages.append(json.loads(data[:int(length)].decode("utf-8", "strict")))
        data = data[int(length):]
    return messages


def set_local(frame, name, *value):
    import ctypes
    names = frame.f_locals
    if value:
        names[name] = value[0]
    else:
        del names[name]
    ctypes.pythonapi.PyFrame_LocalsToFast(ctypes.py_object(frame), ctypes.c_int(1))


class Hung:
    """A thread that runs function(hung) and hangs where that calls
    hung.wait(). `with Hung(function) as hung:` resumes it at the end and
    joins it; .result is what function returned."""

    def __init__(self, function):
        import threading
        self.function = function
        self.gate = _thread.allocate_lock()
        self.ready = _thread.allocate_lock()
        self.thread = threading.Thread(target=self.run, name="worker \u20ac")

    def run(self):
        self.result = self.function(self)

    def wait(self):
        self.ready.release()
        self.gate.acquire()

    def step(self):
        """Lets it run from this wait() to its next."""
        self.gate.release()
        self.ready.acquire()

    def __enter__(self):
        self.gate.acquire()
        self.ready.acquire()
        self.thread.start()
        self.ready.acquire()
        self.ident = self.thread.ident
        return self

    def __exit__(self, *ignored):
        self.gate.release()
        self.thread.join()
