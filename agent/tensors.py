# What a program with torch needs. A later part of the core (dispatch.py, need).
#
# The repr of a tensor on a GPU copies its values, and waits for the GPU: where
# that hangs, for ever, in C, where nothing cancels it. So while our thread shows
# a value, such a tensor shows what it is and not what is in it, wherever in the
# value it is. What the user typed runs as typed: t.tolist(), print(t).


def with_metadata_only(show, *arguments):
    """show(*arguments), in which a tensor that is not in the CPU's memory has
    its metadata for a repr."""
    ident = _thread.get_ident()
    if not _showing:
        _replace()
    _showing.add(ident)
    try:
        return show(*arguments)
    finally:
        _showing.discard(ident)
        if not _showing:
            _put_back()


def take_device(session):
    """The device of the program, for our thread. A thread begins with device 0,
    and on a rank that uses another, the first `.cuda()` of an expression would
    make a context on GPU 0, of half a gigabyte. What device another thread has
    selected only that thread can ask. But which devices have a context can be
    seen, and making none is what matters: the one of LOCAL_RANK, if it has one;
    else the only one, or the first if it is not 0."""
    try:
        torch = sys.modules["torch"]
        if session.has_device or not torch.cuda.is_initialized():
            return
        session.has_device = True
        devices = [device for device in range(torch._C._cuda_getDeviceCount())
                   if torch._C._cuda_hasPrimaryContext(device)]
        rank = sys.modules["os"].environ.get("LOCAL_RANK", "")
        if rank.isdigit() and int(rank) in devices:
            devices = [int(rank)]
        if devices and devices[0] != 0:
            torch._C._cuda_setDevice(devices[0])
    except Exception:  # torch is being imported, or is another than we know
        pass


def is_plain_tensor(kind):
    """Whether that is a class of torch's own, whose attributes are C's."""
    names = sys.modules["torch"].__dict__
    nn = getattr(names.get("nn"), "__dict__", {})
    return kind is not None and (
        kind is names.get("Tensor") or kind is nn.get("Parameter"))


_showing = set()  # the threads that do
_replaced = {}  # name: (the class, its method, ours)


def _replace():
    kind = getattr(sys.modules.get("torch"), "Tensor", None)
    for name in ("__repr__", "__format__"):
        original = getattr(kind, "__dict__", {}).get(name)
        if original is not None:
            ours = _or_metadata(original)
            _replaced[name] = kind, original, ours
            setattr(kind, name, ours)


def _put_back():
    while _replaced:
        name, (kind, original, ours) = _replaced.popitem()
        if kind.__dict__.get(name) is ours:
            setattr(kind, name, original)


def _or_metadata(original):
    def method(self, *arguments, **options):
        # The program's own threads come here as well.
        if _thread.get_ident() not in _showing or self.device.type in ("cpu", "meta"):
            return original(self, *arguments, **options)
        return "<%s shape=%s dtype=%s device=%s requires_grad=%s>" % (
            type_name(type(self)), tuple(self.shape), self.dtype, self.device,
            self.requires_grad)
    return method
