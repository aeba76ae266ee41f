"""A program gives the same rows, however it reaches CUDA."""

import os
import re
import sys

import harness

DRIVER_TOURS = {
    "linked": "driver_tour",
    "dlopen_and_dlsym": "driver_tour_dlsym",
    "dlvsym": "driver_tour_dlvsym",
    "cuGetProcAddress": "driver_tour_proc",
    "cuGetProcAddress_v2": "driver_tour_proc_v2",
}


def masked(text):
    """Times differ from run to run."""
    return re.sub(r"\d+(\.\d+)? (ns|us|ms|s)\b", "N", text)


def difference(first, second):
    """The first difference of two lists of rows, for a readable message."""
    for index, (one, other) in enumerate(zip(first, second)):
        if one != other:
            return f"row {index}: {one} and {other}"
    return f"{len(first)} and {len(second)} rows: {(first + second)[min(len(first), len(second)):]}"


class Rows(harness.Case):
    def traced(self, argv, name="trace", **options):
        """The trace of a program whose output is the same with the library and without."""
        environment = {"GPUVERIFY_TRACE": self.path(f"{name}.db"), **options.pop("env", {})}
        result = self.run_twice(argv, mask=masked, env=environment, **options)
        self.assertEqual(result.status, 0, str(result))
        return self.trace(self.path(f"{name}.db"))

    def assert_same_rows(self, first, second):
        one, other = first.summary(), second.summary()
        self.assertEqual(one, other, difference(one, other))
        loads = ("SELECT kind, loads.bytes, hash, calls.name FROM loads "
                 "LEFT JOIN calls ON calls.id = loads.call ORDER BY loads.start_ns")
        self.assertEqual(first.rows(loads), second.rows(loads))


class DriverTour(Rows):
    """The driver API, reached in every way."""

    def same_as_linked(self, how):
        linked = self.traced([harness.workload(DRIVER_TOURS["linked"])], "linked")
        self.assertGreater(linked.count(), 30)
        other = self.traced([harness.workload(DRIVER_TOURS[how])], "other")
        self.assert_same_rows(linked, other)

    def test_linked(self):
        trace = self.traced([harness.workload("driver_tour")])
        classes = {row[0] for row in trace.rows("SELECT DISTINCT class FROM calls")}
        for kind in ("init", "context", "load", "unload", "launch", "copy", "set", "sync", "alloc",
                     "free", "stream", "event", "graph", "function"):
            self.assertIn(kind, classes)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch' AND "
                                     "kernel IS NULL AND name LIKE 'cuLaunchKernel%'"), 0)
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'copy' AND "
                                     "bytes IS NULL"), 0)

    def test_dlopen_and_dlsym(self):
        self.same_as_linked("dlopen_and_dlsym")

    def test_dlvsym(self):
        self.same_as_linked("dlvsym")

    def test_cuGetProcAddress(self):
        self.same_as_linked("cuGetProcAddress")

    def test_cuGetProcAddress_v2(self):
        self.same_as_linked("cuGetProcAddress_v2")

    def test_rows_are_what_the_driver_saw(self):
        """The simulator keeps a log of its own: symbol and result of every call that enters it."""
        for how, name in DRIVER_TOURS.items():
            with self.subTest(how):
                log = self.path(f"{how}.log")
                trace_path = self.path(f"{how}.db")
                self.run_well([harness.workload(name)], quiet=False,
                              env={"GV_SIM_LOG": log, "GPUVERIFY_TRACE": trace_path})
                self.compare_with_log(log, self.trace(trace_path))

    def test_rows_are_what_the_driver_saw_of_failing_calls(self):
        log = self.path("sim.log")
        self.run_well([harness.program("errno_kept")], env={"GV_SIM_LOG": log})
        trace = self.trace()
        self.compare_with_log(log, trace)
        self.assertGreater(trace.value("SELECT count(*) FROM calls WHERE result <> 0"), 3)

    def compare_with_log(self, log, trace):
        recorded = {name for name, kind in harness.kinds_of_calls().items()
                    if kind not in ("RESOLVE", "REGISTER", "ASK_ADDRESS", "ASK_FREE", "FUNCTION_ASK")}
        with open(log, encoding="utf-8") as file:
            seen = [tuple(line.split()[:2]) for line in file]
        seen = [(name, int(result)) for name, result in seen if name in recorded]
        rows = trace.rows("SELECT name, result FROM calls WHERE class <> 'ask' AND call_kind <> 'function-ask' ORDER BY start_ns, id")
        self.assertGreater(len(rows), 30)
        self.assertEqual(rows, seen, difference(rows, seen))


class RuntimeTour(Rows):
    """The runtime API: a shared libcudart by its own names, a static one at driver level."""

    def shared(self, name="shared", **environment):
        return self.traced([harness.workload("runtime_tour_shared")], name, env=environment)

    def test_shared_libcudart(self):
        trace = self.shared()
        names = {row[0] for row in trace.rows("SELECT DISTINCT name FROM calls")}
        for name in ("cudaMalloc", "cudaMemcpy", "cudaLaunchKernel", "cudaFree"):
            self.assertIn(name, names)

    def test_driver_calls_inside_runtime_calls_are_no_rows(self):
        trace = self.shared()
        inner = trace.rows("SELECT DISTINCT name FROM calls WHERE name NOT LIKE 'cuda%'")
        self.assertEqual(inner, [])

    def test_load_inside_a_runtime_call_is_a_load(self):
        trace = self.shared()
        rows = trace.rows("SELECT calls.name, loads.kind, loads.start_ns >= calls.start_ns "
                          "FROM loads JOIN calls ON calls.id = loads.call")
        self.assertGreater(len(rows), 0)
        for name, _, inside in rows:
            self.assertTrue(name.startswith("cuda"), rows)
            self.assertEqual(inside, 1)
        self.assertEqual(trace.value("SELECT count(*) FROM loads WHERE call IS NULL"), 0)

    def test_launches_know_their_kernels(self):
        trace = self.shared()
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE kernel IS NULL AND "
                                     "name IN ('cudaLaunchKernel', 'cudaLaunchKernelExC')"), 0)

    def test_dlopen_and_dlsym(self):
        self.assert_same_rows(self.shared(),
                              self.traced([harness.workload("runtime_tour_dlsym")], "dlsym"))

    def test_python_with_ctypes(self):
        script = os.path.join(harness.SOURCE, harness.PROGRAMS, "runtime_tour.py")
        self.assert_same_rows(self.shared(), self.traced(
            [sys.executable, script, harness.workload("runtime_tour_shared")], "python"))

    def test_static_libcudart_is_seen_at_driver_level(self):
        static = self.traced([harness.workload("runtime_tour_static")], "static")
        self.assertGreater(static.value("SELECT count(*) FROM calls WHERE class = 'launch'"), 0)
        self.assertEqual(static.value("SELECT count(*) FROM calls WHERE name LIKE 'cuda%'"), 0)

    def test_static_libcudart_is_the_shared_one_without_its_names(self):
        static = self.traced([harness.workload("runtime_tour_static")], "static")
        shared = self.shared(GPUVERIFY_RUNTIME="off")
        self.assert_same_rows(static, shared)


class TwoRuntimes(Rows):
    """Two versions of libcudart in one process."""

    def test_each_call_reaches_its_own(self):
        result = self.run_twice([harness.program("two_cudarts")])
        self.assertEqual(result.status, 0, str(result))
        self.assertEqual(result.out,
                         "runtime 12: malloc 0, memset 0, free 0, bad free fails\n"
                         "12 has an error: 1, 13 has an error: 0\n"
                         "runtime 13: malloc 0, memset 0, free 0, bad free fails\n"
                         "12 has an error: 0, 13 has an error: 1\n")
        trace = self.trace()
        self.assertEqual(trace.count("cudaMalloc"), 2)
        self.assertEqual(trace.count("cudaFree"), 4)

    def test_each_call_that_was_looked_up_reaches_its_own(self):
        result = self.run_twice([harness.program("two_cudarts"),
                                 harness.built("tests", "sim", "libcudart.so.12"),
                                 harness.built("tests", "sim", "libcudart.so.13")])
        self.assertEqual(result.status, 0, str(result))
        for version in (12, 13):
            self.assertIn(f"looked up {version}: malloc 0, free 0\nbad free fails\n"
                          "errors: 1 here, 0 there\n", result.out)
        trace = self.trace()
        self.assertEqual(trace.count("cudaMalloc"), 4)
        self.assertEqual(trace.count("cudaFree"), 8)


class Compiled(Rows):
    """What nvcc makes of <<<>>>."""

    def test_code_is_loaded_inside_the_first_launch(self):
        trace = self.traced([harness.program("registered")])
        self.assertEqual(
            trace.rows("SELECT name, kernel FROM calls ORDER BY start_ns"),
            [("cudaLaunchKernel", "first_registered"), ("cudaLaunchKernel", "first_registered"),
             ("cudaLaunchKernel", "other_registered"), ("cudaDeviceSynchronize", None)])
        loads = trace.rows("SELECT loads.kind, loads.image, calls.id, calls.name, "
                           "loads.start_ns > calls.start_ns, "
                           "loads.duration_ns < calls.duration_ns "
                           "FROM loads JOIN calls ON calls.id = loads.call")
        first = trace.value("SELECT min(id) FROM calls")
        self.assertEqual(loads, [("library", "fatbin", first, "cudaLaunchKernel", 1, 1)])

    def saxpy(self, name):
        if not os.path.exists(harness.workload(name)):
            self.skipTest(f"{name} is not built: no nvcc")
        return self.traced([harness.workload(name)])

    def test_saxpy_with_a_shared_libcudart(self):
        trace = self.saxpy("saxpy_shared")
        kernels = trace.rows("SELECT DISTINCT kernel FROM calls WHERE class = 'launch'")
        self.assertTrue(any("saxpy" in (row[0] or "") for row in kernels), kernels)

    def test_saxpy_with_a_static_libcudart(self):
        trace = self.saxpy("saxpy_static")
        kernels = trace.rows("SELECT DISTINCT kernel FROM calls WHERE class = 'launch'")
        self.assertTrue(any("saxpy" in (row[0] or "") for row in kernels), kernels)


class Sanitized(harness.Case):
    """Programs with a sanitizer, which looks up its functions before libc is usable."""

    def sanitized(self, which, launches=2, **env):
        program = harness.program(f"threads_{which}")
        if not os.path.exists(program):
            self.skipTest(f"not built with -fsanitize={which}: the compiler has nothing for that, or "
                          "all of the build has a sanitizer")
        # The runtime as a shared library insists on being the first one that is preloaded.
        result = self.run_twice([program, "10", str(launches)],
                                env={"ASAN_OPTIONS": "verify_asan_link_order=0", **env})
        if result.status == 66 and "unexpected memory mapping" in result.err:
            self.skipTest("the thread sanitizer does not start on this kernel")
        self.assertEqual((result.status, result.err), (0, ""), str(result))
        trace = self.trace()
        self.assertEqual(trace.count("cuLaunchKernel"), 10 * launches)
        self.assertEqual(trace.value("SELECT count(*) FROM threads"), 11)

    def test_address(self):
        self.sanitized("address")

    def test_thread(self):
        self.sanitized("thread")

    def test_thread_with_the_gpu_side(self):
        """Its wrappers of libc's functions must not take what our threads hand on for races."""
        self.sanitized("thread", 2000, GPUVERIFY_GPU="auto")
