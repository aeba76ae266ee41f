"""Keeps one part of a GPU full: gpu_full_of.py dram|tensor|torch|few|pcie|mix|idle [SECONDS]

dram: a kernel that copies the device's memory; tensor: mma on values in registers; torch: its matrix product; few: FP32 arithmetic
in blocks for 40 % of the multiprocessors; pcie: copies from pinned memory; mix: dram and FP32 arithmetic everywhere, in turn; idle:
a kernel now and then. Needs only the driver, except for torch.
"""

import ctypes
import sys
import time

CHAINS = 8
PTX = """
.version 7.0
.target sm_80
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from, .param .u64 count)
{
    .reg .pred %p;
    .reg .b32 %r<5>;
    .reg .b64 %d<10>;
    .reg .f32 %f<4>;
    ld.param.u64 %d1, [to];
    ld.param.u64 %d2, [from];
    ld.param.u64 %d3, [count];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %nctaid.x;
    mul.wide.u32 %d4, %r1, %r2;
    cvt.u64.u32 %d5, %r3;
    add.u64 %d4, %d4, %d5;
    mul.wide.u32 %d6, %r4, %r2;
next:
    setp.ge.u64 %p, %d4, %d3;
    @%p bra done;
    shl.b64 %d7, %d4, 4;
    add.u64 %d8, %d2, %d7;
    add.u64 %d9, %d1, %d7;
    ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%d8];
    st.global.v4.f32 [%d9], {%f0, %f1, %f2, %f3};
    add.u64 %d4, %d4, %d6;
    bra next;
done:
    ret;
}
""" + "".join("""
.visible .entry NAME(.param .u64 to, .param .u64 rounds)
{
    .reg .pred %p;
    .reg .b64 %d<3>;
    .reg .b32 %a<6>;
    .reg .f32 %f<FLOATS>;
    ld.param.u64 %d1, [to];
    ld.param.u64 %d2, [rounds];
    BEGIN
next:
    BODY
    sub.u64 %d2, %d2, 1;
    setp.ne.u64 %p, %d2, 0;
    @%p bra next;
    END
    ret;
}
""".replace("NAME", name).replace("FLOATS", str(4 * CHAINS)).replace("BODY", "\n    ".join(body * 4)).replace(
    "BEGIN", "\n    ".join(f"mov.f32 %f{i}, 0f3F800000;" for i in range(4 * CHAINS)) + "\n    "
    + "\n    ".join(f"mov.u32 %a{i}, 0;" for i in range(6))).replace(
    "END", "\n    ".join(f"add.f32 %f0, %f0, %f{i};" for i in range(1, 4 * CHAINS)) + "\n    st.global.f32 [%d1], %f0;")
    for name, body in (
        ("fma", [f"fma.rn.f32 %f{i}, %f{i}, 0f3F7FFFFE, 0f33000000;" for i in range(4 * CHAINS)]),
        ("mma", ["mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {{%f{0}, %f{1}, %f{2}, %f{3}}}, {{%a0, %a1, %a2, %a3}}, {{%a4, %a5}}, "
                 "{{%f{0}, %f{1}, %f{2}, %f{3}}};".format(*range(4 * i, 4 * i + 4)) for i in range(CHAINS)])))

BYTES = 1 << 30
MULTIPROCESSORS = 16  # CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT


class Driver:
    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        device, context, self.module, many = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuDeviceGetAttribute", ctypes.byref(many), MULTIPROCESSORS, device)
        self.call("cuModuleLoadData", ctypes.byref(self.module), PTX.encode())
        self.multiprocessors = many.value
        self.to, self.source = (self.memory("cuMemAlloc_v2") for _ in range(2))

    def call(self, name, *arguments):
        result = getattr(self.library, name)(*arguments)
        if result:
            sys.exit(f"{name} returned {result}")

    def memory(self, name):
        pointer = ctypes.c_uint64()
        self.call(name, ctypes.byref(pointer), ctypes.c_size_t(BYTES))
        return pointer

    def wait(self):
        self.call("cuCtxSynchronize")

    def launch(self, name, blocks, *values):
        function, held = ctypes.c_void_p(), [ctypes.c_uint64(value) for value in values]
        self.call("cuModuleGetFunction", ctypes.byref(function), self.module, name.encode())
        arguments = (ctypes.c_void_p * len(held))(*[ctypes.addressof(value) for value in held])
        self.call("cuLaunchKernel", function, blocks, 1, 1, 256, 1, 1, 0, None, arguments, None)

    def copies(self):
        self.launch("copy", 8 * self.multiprocessors, self.to.value, self.source.value, BYTES // 16)

    def rounds(self, name, blocks, seconds):
        """How many rounds of arithmetic take so long."""
        for count in (1000, 10000):  # the first one may load code
            self.wait()
            begin = time.monotonic()
            self.launch(name, blocks, self.to.value, count)
            self.wait()
        return max(1, int(count * seconds / (time.monotonic() - begin)))


def work_of(what, driver):
    """What one turn launches."""
    many, to = driver.multiprocessors, driver.to.value
    if what == "dram":
        return driver.copies
    if what == "pcie":
        pinned = driver.memory("cuMemAllocHost_v2")
        return lambda: driver.call("cuMemcpyHtoDAsync_v2", driver.to, ctypes.c_void_p(pinned.value), ctypes.c_size_t(BYTES), None)
    name, blocks = {"tensor": ("mma", 4 * many), "few": ("fma", 2 * many // 5), "mix": ("fma", 4 * many), "idle": ("fma", 1)}[what]
    rounds = driver.rounds(name, blocks, 0.0007 if what == "mix" else 0.005)
    if what == "mix":
        return lambda: (driver.copies(), driver.launch(name, blocks, to, rounds))
    return lambda: driver.launch(name, blocks, to, rounds)


def with_torch(seconds):
    import torch
    one = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(16):
            torch.matmul(one, one)
        torch.cuda.synchronize()


def main():
    what, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 3
    if what == "torch":
        with_torch(seconds)
        return
    driver = Driver()
    work = work_of(what, driver)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(1 if what == "idle" else 16):
            work()
        driver.wait()
        if what == "idle":
            time.sleep(0.2)


main()
