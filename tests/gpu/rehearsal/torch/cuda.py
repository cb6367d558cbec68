import contextlib
import ctypes

runtime = ctypes.CDLL("libcudart.so.13")
_error = []


def fail(message):
    _error.append(message)


def is_available():
    return True


def is_initialized():
    return True


def synchronize():
    if runtime.cudaDeviceSynchronize() == 700:
        _error.append("an illegal memory access was encountered")
    if _error:
        raise RuntimeError("CUDA error: " + _error[0])


def empty_cache():
    runtime.cudaFree(ctypes.c_void_p(4096))


def caching_allocator_alloc(size):
    memory = ctypes.c_void_p()
    runtime.cudaMalloc(ctypes.byref(memory), ctypes.c_size_t(size))
    return memory.value


def memory_allocated():
    return 4096


class Stream:
    cuda_stream = 0

    def synchronize(self):
        runtime.cudaStreamSynchronize(None)

    def wait_event(self, event):
        assert isinstance(event, Event)


class Event:
    def record(self, stream=None):
        assert stream is None or isinstance(stream, Stream)

    def synchronize(self):
        runtime.cudaEventSynchronize(None)


def current_stream():
    return Stream()


class CUDAGraph:
    def replay(self):
        pass


@contextlib.contextmanager
def graph(captured):
    assert isinstance(captured, CUDAGraph)
    yield
