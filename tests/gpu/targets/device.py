"""A kernel that runs until it is told to stop, without a compiler: PTX that the driver
translates, loaded through libcuda.so.1 by ctypes, in the primary context of device 0,
which is the one that torch, CuPy and numba use.

    spin = Spin()            # loads it and runs it once, so that nothing is lazy later
    spin.launch(stream)      # returns at once; `stream` is a CUstream, 0 the default one
    spin.release()           # ends all that were launched

The kernel polls a word in mapped host memory. It ends by itself after SPIN_SECONDS, so
no failure of a check leaves the device busy.
"""

import ctypes

SPIN_SECONDS = 60

PTX = b"""
.version 7.0
.target sm_70
.address_size 64

.visible .entry hd_spin(.param .u64 flag, .param .u64 limit)
{
  .reg .pred %p<3>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<7>;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [limit];
  cvta.to.global.u64 %rd3, %rd1;
  mov.u64 %rd4, %globaltimer;
AGAIN:
  ld.volatile.global.u32 %r1, [%rd3];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra DONE;
  mov.u64 %rd5, %globaltimer;
  sub.u64 %rd6, %rd5, %rd4;
  setp.ge.u64 %p2, %rd6, %rd2;
  @%p2 bra DONE;
  nanosleep.u32 1000;
  bra AGAIN;
DONE:
  ret;
}

.visible .entry hd_wild(.param .u64 address)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [address];
  mov.u32 %r1, 1;
  st.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry hd_nothing()
{
  ret;
}
"""

# cuda.h
SCHEDULES = {"auto": 0, "spin": 1, "yield": 2, "blocking": 4}
HOSTALLOC_PORTABLE_AND_MAPPED = 3
ATTACH_GLOBAL = 1
WAIT_VALUE_GEQ = 0
Address = ctypes.c_uint64
HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class CudaError(RuntimeError):
    pass


class Driver:
    """libcuda.so.1; a call that fails raises CudaError with the name of the error. While
    it blocks, the innermost frame of Python is that of the caller: ctypes looks at what it
    returned (`check`) only after it."""

    def __init__(self, loader=ctypes.CDLL):
        self.library = loader("libcuda.so.1")

    def __getattr__(self, name):
        function = getattr(self.library, name)
        function.restype, function.errcheck = ctypes.c_int, self.check
        return function

    def check(self, result, function, arguments):
        if result:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(result, ctypes.byref(text))
            raise CudaError("%s: %s" % (function.__name__,
                                        (text.value or b"%d" % result).decode()))
        return result


driver = Driver()


def use_primary_context(schedule="auto"):
    """Makes the primary context of device 0, if there is none, and this thread's own."""
    driver.cuInit(0)
    device, context = ctypes.c_int(), ctypes.c_void_p()
    driver.cuDeviceGet(ctypes.byref(device), 0)
    if schedule != "auto":  # before it is made
        driver.cuDevicePrimaryCtxSetFlags_v2(device, SCHEDULES[schedule])
    driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device)
    driver.cuCtxSetCurrent(context)


class Word:
    """32 bits that host and device see: pinned, or managed."""

    def __init__(self, managed=False):
        self.on_device = Address()
        if managed:
            driver.cuMemAllocManaged(ctypes.byref(self.on_device), ctypes.c_size_t(65536),
                                     ATTACH_GLOBAL)
            self.on_host = self.on_device.value
        else:
            host = ctypes.c_void_p()
            driver.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(4096),
                                  HOSTALLOC_PORTABLE_AND_MAPPED)
            driver.cuMemHostGetDevicePointer_v2(ctypes.byref(self.on_device), host, 0)
            self.on_host = host.value

    def set(self, value):
        ctypes.c_uint32.from_address(self.on_host).value = value


class Spin:
    def __init__(self, managed=False, schedule="auto", seconds=SPIN_SECONDS):
        use_primary_context(schedule)
        self.word = Word(managed)
        module = ctypes.c_void_p()
        driver.cuModuleLoadData(ctypes.byref(module), PTX)
        self.functions = {}
        for name in ("hd_spin", "hd_wild", "hd_nothing"):
            function = ctypes.c_void_p()
            driver.cuModuleGetFunction(ctypes.byref(function), module, name.encode())
            self.functions[name] = function
        self.limit = Address(int(seconds * 1e9))
        # Once with the word set: whatever is loaded late is loaded now.
        self.word.set(1)
        self.launch()
        self.launch_nothing()
        driver.cuCtxSynchronize()
        self.word.set(0)

    def arguments(self, stream=0):
        """Of cuLaunchKernel, for who calls it himself."""
        return one_thread(self.functions["hd_spin"], stream, self.word.on_device, self.limit)

    def launch(self, stream=0):
        driver.cuLaunchKernel(*self.arguments(stream))

    def launch_nothing(self, stream=0):
        driver.cuLaunchKernel(*one_thread(self.functions["hd_nothing"], stream))

    def launch_wild(self, stream=0):
        """Writes where no memory is: CUDA_ERROR_ILLEGAL_ADDRESS, in this context alone."""
        nowhere = Address(16)
        driver.cuLaunchKernel(*one_thread(self.functions["hd_wild"], stream, nowhere))

    def release(self):
        self.word.set(1)


def one_thread(function, stream, *arguments):
    """What cuLaunchKernel takes for one thread; `arguments` must outlive the call."""
    addresses = (ctypes.c_void_p * max(len(arguments), 1))(
        *[ctypes.cast(ctypes.byref(one), ctypes.c_void_p) for one in arguments])
    return function, 1, 1, 1, 1, 1, 1, 0, ctypes.c_void_p(stream), addresses, None
