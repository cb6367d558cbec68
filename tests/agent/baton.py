"""What hangs in most scenarios: a method with all kinds of locals, in a module with
a global."""

counter = 0  # expressions change it


class Baton:
    def __init__(self):
        self.lock_file_path = "/tmp/lock"

    def hang(self, hung, retries=3, *extra, key="k", **options):
        local = [1, 2]
        captured = 10

        def closure():
            return captured

        hung.wait()
        return local, captured, closure(), dict(locals())


def hang_baton(hung):
    return Baton().hang(hung, 4, "e1", "e2", key="K", depth=1)
