# Sends what an evaluation prints. A later part of the core (dispatch.py, need).


class Output:
    """The output of one evaluation, sent as output events: in chunks, and not
    without end. What is over the budget is counted, and said at the end."""

    CHUNK = 64 * 1024
    BUDGET = 8 * 1024 * 1024

    def __init__(self, session):
        self.session = session
        self.budget = self.BUDGET
        self.category = ""
        self.pieces = []
        self.size = 0
        self.dropped = 0

    def write(self, category, text):
        if not issubclass(type(text), str):
            raise TypeError("write() argument must be str, not " + type(text).__name__)
        if category != self.category or self.size >= self.CHUNK:
            self.send()
            self.category = category
        kept = min(len(text), self.budget)
        if kept:
            self.pieces.append(text[:kept])
            self.size += kept
            self.budget -= kept
        if kept < len(text) and not self.dropped:
            self.pieces.append("\n[hangdbg: output cut after 8 MiB]\n")
        self.dropped += len(text) - kept
        return len(text)

    def end(self):
        if self.dropped:
            self.pieces.append("[hangdbg: %d characters more are left out]\n" % self.dropped)
        self.send()

    def send(self):
        text = "".join(self.pieces)
        self.pieces = []
        self.size = 0
        for at in range(0, len(text), self.CHUNK):
            _send(self.session.frame_message("event", event="output", body={
                "category": self.category, "output": text[at:at + self.CHUNK]}))
