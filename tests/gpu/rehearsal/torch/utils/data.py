import ctypes
import queue
import threading

from .. import cuda


class TensorDataset:
    def __init__(self, *tensors):
        self.tensors = tensors


class DataLoader:
    def __init__(self, dataset, batch_size=1, num_workers=0, pin_memory=False):
        assert pin_memory and num_workers and isinstance(dataset, TensorDataset)
        self.batches = queue.Queue()

    def __iter__(self):
        threading.Thread(target=self._pin_memory_loop, daemon=True,
                         name="Thread-1 (_pin_memory_loop)").start()
        yield self.batches.get()

    def _pin_memory_loop(self):
        memory = ctypes.c_void_p()
        cuda.runtime.cudaHostAlloc(ctypes.byref(memory), ctypes.c_size_t(4096), 0)
        self.batches.put(memory)
