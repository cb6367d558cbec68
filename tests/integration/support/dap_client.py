"""A small DAP client: what an editor does, and everything it gets is held against
the specification's schema.

    with DapClient.stdio() as editor:
        editor.attach(target.pid)
        stopped = editor.event("stopped")
        frames = editor.call("stackTrace", threadId=stopped["threadId"])["stackFrames"]
"""

import json
import os
import select
import subprocess
import time

from harness import PATIENCE, PROGRAM, die_with_us, track
from validation import validated


class Refused(Exception):
    """A request was answered with success false: `args[0]` is the response."""

    def __init__(self, response):
        super().__init__(response)
        self.response = response
        self.text = response["body"]["error"]["format"]


class DapClient:
    def __init__(self, read_fd, write_fd):
        self.read_fd, self.write_fd = read_fd, write_fd
        self.unread = b""
        self.seq = 0
        self.received = []  # all messages, in their order
        self.responses = {}  # request's seq -> response
        self.events = []  # not yet asked for
        self.questions = []  # requests to us, likewise
        self.last_seq = 0
        self.process = None

    @classmethod
    def stdio(cls, *flags):
        """An editor that starts `hangdbg dap`."""
        process = subprocess.Popen(
            [str(PROGRAM), "dap", *map(str, flags)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, preexec_fn=die_with_us, bufsize=0)
        track(process)
        client = cls(process.stdout.fileno(), process.stdin.fileno())
        client.process = process
        return client

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.stdin.close()

    # ---- what goes out

    def send_bytes(self, data):
        while data:
            data = data[os.write(self.write_fd, data):]

    def send_text(self, text):
        body = text.encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def request(self, command, **arguments):
        """Sends a request and returns its number."""
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command}
        if arguments:
            message["arguments"] = arguments
        self.send_text(json.dumps(message))
        return self.seq

    # ---- what comes in

    def response(self, number, seconds=PATIENCE):
        """The response to that request, also one that refuses."""
        end = time.monotonic() + seconds
        while number not in self.responses:
            self._receive(end)
        return self.responses.pop(number)

    def call(self, command, **arguments):
        """The body of the response; Refused if there is none."""
        response = self.response(self.request(command, **arguments))
        assert response["command"] == command
        if not response["success"]:
            raise Refused(response)
        return response.get("body", {})

    def event(self, name, seconds=PATIENCE, **wanted):
        """The body of the next event of that name, with those members. Events of
        other names are kept."""
        end = time.monotonic() + seconds
        while True:
            for index, event in enumerate(self.events):
                body = event.get("body", {})
                if event["event"] == name and wanted.items() <= body.items():
                    del self.events[index]
                    return body
            self._receive(end)

    def question(self, command, seconds=PATIENCE):
        """The next request of that name that we are asked, to be answered."""
        end = time.monotonic() + seconds
        while True:
            for index, question in enumerate(self.questions):
                if question["command"] == command:
                    return self.questions.pop(index)
            self._receive(end)

    def answer(self, question, refusal=None, **body):
        self.seq += 1
        message = {"seq": self.seq, "type": "response", "request_seq": question["seq"],
                   "command": question["command"], "success": refusal is None, "body": body}
        if refusal is not None:
            message["message"] = refusal
        self.send_text(json.dumps(message))

    def at_end(self, seconds=PATIENCE):
        """Whether nothing comes any more, but the stream's end."""
        end = time.monotonic() + seconds
        try:
            while True:
                self._receive(end)
        except EOFError:
            return True

    def _receive(self, end):
        message = self._read_message(end)
        self.received.append(message)
        assert message["seq"] == self.last_seq + 1, message
        self.last_seq = message["seq"]
        validated(message)
        if message["type"] == "response":
            self.responses[message["request_seq"]] = message
        elif message["type"] == "request":
            self.questions.append(message)
        else:
            self.events.append(message)

    def _read_message(self, end):
        while b"\r\n\r\n" not in self.unread:
            self._read(end)
        header, _, rest = self.unread.partition(b"\r\n\r\n")
        name, _, length = header.partition(b": ")
        assert name == b"Content-Length", header
        self.unread = rest
        while len(self.unread) < int(length):
            self._read(end)
        body, self.unread = self.unread[:int(length)], self.unread[int(length):]
        return json.loads(body)

    def _read(self, end):
        left = end - time.monotonic()
        if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
            raise AssertionError("nothing came; before that: %.3000s" % self.received[-5:])
        chunk = os.read(self.read_fd, 1 << 20)
        if not chunk:
            raise EOFError
        self.unread += chunk

    # ---- what editors do again and again

    def initialize(self, **can):
        return self.call(
            "initialize", adapterID="hangdbg", clientID="test", pathFormat="path",
            linesStartAt1=True, columnsStartAt1=True, supportsVariableType=True, **can)

    def attach(self, pid, can={}, **arguments):
        """Up to the first `stopped`, which is returned. `can`: of the editor."""
        self.initialize(**can)
        number = self.request("attach", processId=pid, **arguments)
        self.event("initialized")
        self.call("configurationDone")
        response = self.response(number)
        if not response["success"]:
            raise Refused(response)
        return self.event("stopped")

    def disconnect(self):
        """Ends the session in good manners."""
        self.call("disconnect")
        assert self.at_end(1)
        if self.process:
            assert self.process.wait(1) == 0
