"""What `gpuverify probe` is expected to measure: (call, with what) of the calls that wait.

As on the GPU with the driver that docs/blocking-calls.md names; the simulator does the same.
"""

MEASURED_ON = ("NVIDIA H100 80GB HBM3", "580.159.04")

WAITS = {
    ("cuModuleLoadData", "a cubin"), ("cuModuleLoadData", "PTX that is compiled"),
    ("cuModuleUnload", ""), ("cuKernelGetFunction", "first use of the library"),
    ("cuLaunchKernel", "first use of the library"), ("cuLibraryUnload", "of a used library"),
    ("cuCtxSetLimit", "stack size"), ("cuLaunchKernel", "2000 into the busy stream"),
    ("cuLaunchKernel", "more local memory than any before"), ("cuMemFree", "1 MB"),
    ("cuMemFreeHost", "1 MB"), ("cuMemHostUnregister", "1 MB"),
    ("cuMemcpyDtoHAsync", "4 KB to pageable memory, behind the kernel"),
    ("cuMemcpyHtoDAsync", "16 MB of pageable memory, behind the kernel"),
    ("cuCtxSynchronize", ""), ("cudaFree", "1 MB"), ("cudaFreeHost", "1 MB"),
    ("cudaHostUnregister", "1 MB"), ("cudaDeviceSetLimit", "stack size"),
    ("cudaMemcpyAsync", "4 KB to pageable memory, behind the kernel"),
}
EAGER_WAITS = (WAITS | {("cuLibraryLoadData", "a cubin"), ("cuLibraryUnload", "of one never used")}) \
    - {("cuKernelGetFunction", "first use of the library"),
       ("cuLaunchKernel", "first use of the library")}
# Behind another thread's load.
BEHIND = {"cuLaunchKernel", "cuMemcpyHtoDAsync", "cuMemsetD8Async", "cuEventRecord", "cuEventCreate",
          "cuStreamCreate", "cuMemAlloc", "cuMemAllocHost", "cuMemcpyHtoD",
          "cuModuleLoadData"}
# Behind another thread that pins or frees memory.
BEHIND_PINNING = {"cuLaunchKernel", "cuGraphLaunch", "cuMemcpyHtoDAsync", "cuMemcpyHtoD", "cuMemsetD8Async",
                  "cuEventRecord", "cuEventCreate", "cuStreamCreate", "cuMemAlloc", "cuMemFree",
                  "cuMemAllocHost", "cuModuleLoadData", "cuModuleGetFunction", "cuMemGetInfo",
                  "cuPointerGetAttribute", "cuMemHostGetDevicePointer", "cuCtxGetLimit"}
PINNING = ("pin", "unpin", "register", "unregister")


def rows_of(probe, mode, beside):
    """The rows that were measured, of what `gpuverify probe` keeps as JSON."""
    return [row for row in probe["calls"]
            if (row["mode"], row["beside"], row["status"]) == (mode, beside, "measured")]


def waiting(probe, mode):
    return {(row["call"], row["with"]) for row in rows_of(probe, mode, "gpu") if row["waits"]}


def waiting_behind(probe, mode, besides=("load",)):
    return {row["call"] for beside in besides for row in rows_of(probe, mode, beside) if row["waits"]}
