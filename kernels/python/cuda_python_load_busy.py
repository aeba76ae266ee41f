"""cuda-python: loads code from NVRTC while a kernel runs on another stream."""
import ctypes
import time

from needs import needs

needs("cuda.bindings")

from cuda.bindings import driver, nvrtc  # noqa: E402

SPIN = rb"""extern "C" __global__ void spin(unsigned long long ns)
{ unsigned long long now, start;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)); while (now - start < ns); }"""
SCALE = rb"""extern "C" __global__ void scale(float *values) { values[threadIdx.x] *= 3; }"""


def must(answer):
    error, *values = answer
    if int(error) != 0:
        raise RuntimeError(str(error))
    return values[0] if len(values) == 1 else values


def compiled(source):
    program = must(nvrtc.nvrtcCreateProgram(source, b"busy.cu", 0, [], []))
    must(nvrtc.nvrtcCompileProgram(program, 1, [b"--gpu-architecture=compute_75"]))
    text = b" " * must(nvrtc.nvrtcGetPTXSize(program))
    must(nvrtc.nvrtcGetPTX(program, text))
    return text


def launch_spin(ns):
    must(driver.cuLaunchKernel(spin, 1, 1, 1, 1, 1, 1, 0, stream, ((ns,), (ctypes.c_uint64,)), 0))


must(driver.cuInit(0))
device = must(driver.cuDeviceGet(0))
must(driver.cuCtxSetCurrent(must(driver.cuDevicePrimaryCtxRetain(device))))
stream = must(driver.cuStreamCreate(driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
spin = must(driver.cuModuleGetFunction(must(driver.cuModuleLoadData(compiled(SPIN))), b"spin"))
launch_spin(0)
must(driver.cuCtxSynchronize())
scale_text = compiled(SCALE)
launch_spin(400000000)


def step():
    start = time.monotonic()
    module = must(driver.cuModuleLoadData(scale_text))  # the stall
    print(f"timed load cuModuleLoadData {(time.monotonic() - start) * 1e3:.3f}")
    return module


step()
must(driver.cuCtxSynchronize())
