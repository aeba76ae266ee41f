"""The GPU side of a trace, with each version of the simulated libcupti."""

import os
import re
import shutil
import signal
import unittest

import harness
import test_lifecycle
import test_traps

VERSIONS = {"11.8": 18, "12": 22, "13": 130000}


def libcupti(version="13"):
    return os.path.join(harness.simulator(), f"libcupti.so.{version}")


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Seen(harness.Case):
    gpu = "auto"

    def work(self, how, *arguments, losses=False, **env):
        result = self.run_well([harness.program("gpu_work"), how, *map(str, arguments)], env=env)
        trace = self.trace(losses=losses)
        self.assertEqual(trace.rows("SELECT DISTINCT gpu, gpu_why FROM processes"),
                         [("cupti", None)])
        return result, trace

    def all_found_their_call(self, trace):
        self.assertEqual(trace.dicts("SELECT * FROM gpu_ops WHERE call IS NULL"), [])
        self.assertEqual(trace.dicts(
            "SELECT o.name, c.name AS call, o.start_ns, c.start_ns AS call_start_ns FROM gpu_ops o "
            "JOIN calls c ON c.id = o.call WHERE o.start_ns < c.start_ns"), [],
            "nothing runs before it is asked for")

    def kinds(self, trace):
        return dict(trace.rows("SELECT kind, count(*) FROM gpu_ops GROUP BY kind"))


class Operations(Seen):
    """Every operation is a row, and has its call."""

    def test_streams(self):
        _, trace = self.work("streams", 40)
        self.assertEqual(self.kinds(trace), {"kernel": 40, "copy": 40, "set": 40})
        self.all_found_their_call(trace)
        self.assertEqual(trace.value("SELECT count(DISTINCT stream) FROM gpu_ops"), 4)
        self.assertEqual(trace.rows(
            "SELECT DISTINCT o.kind, c.name, o.name, o.bytes FROM gpu_ops o "
            "JOIN calls c ON c.id = o.call ORDER BY 1"),
            [("copy", "cuMemcpyHtoDAsync_v2", "host to device", 262144),
             ("kernel", "cuLaunchKernel", "spin", None),
             ("set", "cuMemsetD8Async", "memset", 262144)])
        self.assertEqual(trace.rows("SELECT DISTINCT kind, host_memory FROM gpu_ops ORDER BY 1"),
                         [("copy", "pinned"), ("kernel", None), ("set", None)])
        self.assertEqual(trace.value(
            "SELECT count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call "
            "WHERE o.stream <> c.stream"), 0)

    def test_pageable_memory(self):
        self.run_well([harness.workload("stalls/pageable_copy_to_host"), "idle"], quiet=False)
        self.assertIn(("device to host", "pageable"), self.trace().rows(
            "SELECT DISTINCT name, host_memory FROM gpu_ops WHERE kind = 'copy'"))

    def test_order_within_a_stream(self):
        _, trace = self.work("streams", 40)
        self.assertEqual(trace.value(
            "SELECT count(*) FROM (SELECT start_ns, lag(start_ns + duration_ns) OVER "
            "(PARTITION BY stream ORDER BY start_ns) AS before FROM gpu_ops) "
            "WHERE start_ns < before - 1000"), 0, "the clocks meet within 1 us")

    def test_per_thread_default_streams_from_several_threads(self):
        _, trace = self.work("own-streams", 100)
        self.assertEqual(self.kinds(trace), {"kernel": 400})
        self.all_found_their_call(trace)
        self.assertEqual(trace.rows(
            "SELECT count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call GROUP BY c.thread"),
            [(100,)] * 4)

    def test_blocking_copies_lie_inside_their_calls(self):
        _, trace = self.work("copies", 20)
        self.assertEqual(self.kinds(trace), {"copy": 40})
        self.all_found_their_call(trace)
        self.assertEqual(trace.dicts(
            "SELECT o.start_ns, o.duration_ns, c.start_ns AS call_start_ns, c.duration_ns AS took "
            "FROM gpu_ops o JOIN calls c ON c.id = o.call WHERE c.name = 'cuMemcpyDtoH_v2' "
            "AND o.start_ns + o.duration_ns > c.start_ns + c.duration_ns"), [])

    def test_shape_of_a_kernel(self):
        _, trace = self.work("measured", 1)
        self.assertEqual(trace.rows(
            "SELECT name, device, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers, "
            "shared_bytes, local_bytes, bytes FROM gpu_ops"),
            [("spin", 0, 1, 1, 1, 1, 1, 1, 16, 0, 0, None)])

    def test_a_kernel_is_not_named_by_one_that_had_its_handle(self):
        self.run_well([harness.workload("reload"), "9"], quiet=False, env={"GV_SIM_REUSE_HANDLES": "1"})
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT o.name, count(*) FROM gpu_ops o JOIN calls c ON c.id = o.call"
                                    " WHERE c.kernel = o.linkage_name GROUP BY 1"),
                         [("first_kernel", 5), ("other_kernel", 4)])
        self.assertEqual(trace.rows("SELECT name, count FROM kernel_summary ORDER BY 1"),
                         [("first_kernel", 5), ("other_kernel", 4)])

    def test_times_agree_with_the_programs_events(self):
        result, trace = self.work("measured", 10)
        rows = trace.rows("SELECT duration_ns FROM gpu_ops WHERE kind = 'kernel'")
        self.assertEqual(len(rows), 10)
        for (duration_ns,) in rows:
            self.assertAlmostEqual(duration_ns, 5e6, delta=5e4)
        measured = int(re.match(r"(\d+) ns", result.out).group(1))
        self.assertAlmostEqual(sum(row[0] for row in rows), measured, delta=measured * 0.02)

    def test_graphs_are_one_row_each(self):
        _, trace = self.work("graphs", 7)
        self.assertEqual(self.kinds(trace), {"graph": 7})
        self.all_found_their_call(trace)
        self.assertEqual(trace.rows(
            "SELECT DISTINCT c.name FROM gpu_ops o JOIN calls c ON c.id = o.call"),
            [("cuGraphLaunch",)])

    def test_nodes_of_graphs_on_request(self):
        _, trace = self.work("graphs", 7, GPUVERIFY_GRAPHS="nodes")
        self.assertEqual(self.kinds(trace), {"kernel": 21})
        self.all_found_their_call(trace)
        self.assertEqual(trace.value("SELECT count(DISTINCT graph_node) FROM gpu_ops"), 3)

    def test_contexts_that_come_and_go(self):
        _, trace = self.work("contexts", 5)
        self.assertEqual(self.kinds(trace), {"kernel": 12})
        self.all_found_their_call(trace)
        self.assertEqual(trace.value("SELECT count(DISTINCT cupti_context) FROM gpu_ops"), 6)

    def test_device_that_is_reset(self):
        _, trace = self.work("reset", 4)
        self.assertEqual(self.kinds(trace), {"kernel": 12})
        self.all_found_their_call(trace)

    def test_two_devices(self):
        _, trace = self.work("devices", 5, GV_SIM_DEVICES=2)
        self.all_found_their_call(trace)
        self.assertEqual(trace.rows(
            "SELECT device, kind, name, count(*) FROM gpu_ops GROUP BY 1, 2, 3 "
            "HAVING kind = 'kernel'"), [(0, "kernel", "tick", 5), (1, "kernel", "tick", 5)])
        self.assertEqual(trace.rows("SELECT bytes FROM gpu_ops WHERE name = 'peer to peer'"),
                         [(262144,)])
        self.assertEqual(trace.rows(
            "SELECT device, name, compute_capability, multiprocessors FROM devices ORDER BY 1"),
            [(i, f"GV_SIM simulated GPU {i}", "9.0", 132) for i in range(2)])

    def peers(self, how, **env):
        """How often copies between devices are asked for."""
        log = self.path("cupti.log")
        _, trace = self.work(how, 3, GV_SIM_CUPTI_LOG=log, **env)
        with open(log, encoding="utf-8") as file:
            return file.read().splitlines().count("enable 22"), trace

    def test_the_first_copy_between_contexts_is_recorded(self):
        asked, trace = self.peers("peer-copies")
        self.assertEqual(asked, 1)
        self.assertEqual(trace.rows("SELECT name, bytes FROM gpu_ops"), [("peer to peer", 262144)] * 3)
        self.all_found_their_call(trace)

    def test_peer_access_allows_copies(self):
        self.assertEqual(self.peers("peer-access")[0], 1)

    def test_a_second_device_allows_copies(self):
        self.assertEqual(self.peers("second-device", GV_SIM_DEVICES=2)[0], 1)

    def test_copies_between_devices_are_not_asked_for_in_vain(self):
        for how in ("graphs", "contexts", "copies"):
            with self.subTest(how):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                self.assertEqual(self.peers(how, GV_SIM_DEVICES=2)[0], 0)

    def test_every_version_of_cupti(self):
        for version, number in VERSIONS.items():
            with self.subTest(version):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                _, trace = self.work("streams", 20, GPUVERIFY_CUPTI=libcupti(version))
                self.assertEqual(self.kinds(trace), {"kernel": 20, "copy": 20, "set": 20})
                self.all_found_their_call(trace)
                self.assertEqual(trace.rows("SELECT cupti_version, cupti_library FROM processes"),
                                 [(number, libcupti(version))])
                self.assertEqual(trace.rows(
                    "SELECT DISTINCT name, grid_x, registers FROM gpu_ops WHERE kind = 'kernel'"),
                    [("spin", 1, 16)])

    def test_runtime_launches(self):
        self.run_well([harness.workload("runtime_tour_shared")], quiet=False)
        trace = self.trace()
        self.all_found_their_call(trace)
        self.assertLessEqual(
            {("kernel", "cudaLaunchKernel"), ("copy", "cudaMemcpy"), ("set", "cudaMemset"),
             ("graph", "cudaGraphLaunch")},
            set(trace.rows("SELECT DISTINCT o.kind, c.name FROM gpu_ops o "
                           "JOIN calls c ON c.id = o.call")))

    def test_however_a_program_reaches_cuda(self):
        for name in ("driver_tour", "driver_tour_dlsym", "driver_tour_dlvsym", "driver_tour_proc",
                     "driver_tour_proc_v2", "runtime_tour_static", "runtime_tour_dlsym"):
            with self.subTest(name):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                self.run_well([harness.workload(name)], quiet=False)
                trace = self.trace()
                self.all_found_their_call(trace)
                self.assertEqual(self.kinds(trace)["graph"], 1)
                self.assertEqual(trace.value(
                    "SELECT count(*) FROM gpu_ops WHERE kind = 'kernel'"), trace.value(
                    "SELECT count(*) FROM calls WHERE name LIKE 'cu%LaunchKernel%'") - 4,
                    "all launches but the four that were captured")

    def test_a_hundred_thousand_kernels(self):
        _, trace = self.work("own-streams", 25000)
        self.assertEqual(trace.value("SELECT count(*) FROM gpu_ops"), 100000)
        self.all_found_their_call(trace)
        self.assertEqual(trace.rows("SELECT name, count FROM kernel_summary"), [("spin", 100000)])
        self.assertLess(os.path.getsize(self.path("trace.db")) / 100000, 90,
                        "bytes per launch, with its call")


class Code(Seen):
    def test_lazy_load_behind_a_kernel(self):
        _, trace = self.work("lazy")
        rows = trace.dicts("SELECT l.kind, l.kernel, l.bytes, c.name AS function, l.duration_ns "
                           "FROM loads l JOIN calls c ON c.id = l.call WHERE l.kind = 'lazy'")
        self.assertEqual([(r["kernel"], r["function"]) for r in rows], [("tick", "cuLaunchKernel")])
        self.assertGreater(rows[0]["bytes"], 0)
        self.assertGreater(rows[0]["duration_ns"], 40e6)
        # CUPTI reports the loading, but not the wait.
        self.assertLess(trace.value("SELECT duration_ns FROM overheads "
                                    "WHERE kind = 'lazy function loading'"), 10e6)

    def test_compiling(self):
        _, trace = self.work("lazy", GV_SIM_JIT_NS=7000000)
        self.assertEqual([row[0] for row in trace.rows("SELECT operation FROM jits ORDER BY id")],
                         ["compile", "cache load"])
        jit_ns, duration_ns = trace.rows(
            "SELECT jit_ns, duration_ns FROM loads WHERE function = 'cuModuleLoadData'")[0]
        self.assertGreaterEqual(jit_ns, 7e6)
        self.assertGreater(duration_ns, jit_ns)

    def test_no_jit_time_is_known_from_an_old_cupti(self):
        _, trace = self.work("lazy", GPUVERIFY_CUPTI=libcupti("11.8"))
        self.assertEqual(trace.rows("SELECT * FROM jits"), [])


class HostOnly(Seen):
    """What prevents the GPU side is reported once, and nothing else suffers."""

    def reason(self, mode="auto", quiet=True, **env):
        result = self.run_well([harness.program("gpu_work"), "streams"], quiet=quiet,
                               env={"GPUVERIFY_GPU": mode, **env})
        trace = self.trace()
        self.assertEqual(trace.rows("SELECT * FROM gpu_ops"), [])
        self.assertEqual(trace.count("cuLaunchKernel"), 10)
        gpu, why = trace.rows("SELECT gpu, gpu_why FROM processes")[0]
        self.assertNotEqual(gpu, "cupti")
        report = self.command("report", self.path("trace.db"))
        self.assertIn("GPU activity not recorded: ", report.out)
        return why, result

    def test_switched_off(self):
        why, _ = self.reason("off")
        self.assertIn("GPUVERIFY_GPU=off", why)

    def test_library_that_is_not_there(self):
        why, _ = self.reason(GPUVERIFY_CUPTI=self.path("libcupti.so.13"))
        self.assertIn("No such file", why)

    def test_another_subscriber_is_named(self):
        why, _ = self.reason(GV_SIM_CUPTI_OWNER="CUPTI for another tool")
        self.assertIn("another profiler", why)
        self.assertIn("another tool", why)

    def test_another_subscriber_of_an_older_library(self):
        why, _ = self.reason(GV_SIM_CUPTI_OWNER="CUPTI for another tool",
                             GPUVERIFY_CUPTI=libcupti("12"))
        self.assertIn("another profiler", why)

    def test_an_error_at_any_step(self):
        for step in ("cuptiSubscribe_v2", "cuptiActivityRegisterCallbacks", "cuptiActivityEnable",
                     "cuptiActivityRegisterTimestampCallback", "cuptiEnableCallback",
                     "cuptiActivityEnable:2"):
            with self.subTest(step):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                why, _ = self.reason(GV_SIM_CUPTI_FAIL=f"{step}=15")
                self.assertIn("failed with 15", why)

    def test_no_call_can_be_watched(self):
        why, _ = self.reason(GV_SIM_CUPTI_FAIL="cuptiGetCallbackName=15")
        self.assertIn("cuptiGetCallbackName failed with 15", why)

    def test_cupti_that_hangs_in_the_start_is_not_waited_for_without_end(self):
        why, _ = self.reason(GV_SIM_CUPTI_HANG="cuptiActivityEnable")
        self.assertIn("CUPTI did not start within 10 s", why)

    def test_asked_for_and_not_had_is_said(self):
        _, result = self.reason("on", quiet=False, GV_SIM_CUPTI_FAIL="cuptiSubscribe_v2=15")
        self.assertEqual(result.err.count("\n"), 1, str(result))
        self.assertIn("failed with 15", result.err)


class Recovered(Seen):
    """Records without a collector are stored later."""

    def recovered(self):
        self.command("recover", self.spool)
        trace = self.trace()
        self.assertEqual(self.kinds(trace), {"kernel": 400})
        self.all_found_their_call(trace)
        return trace

    def test_without_a_collector(self):
        self.run_well([harness.program("gpu_work"), "own-streams", "100"],
                      env={"GPUVERIFY_COLLECTOR": "off"})
        self.recovered()

    def test_collector_that_is_killed(self):
        process = self.start([harness.program("gpu_work"), "stuck", "400"],
                             env={"GPUVERIFY_FLUSH_MS": "50"})
        self.assertEqual(process.stdout.readline(), b"ready\n")
        os.kill(self.await_collector(), signal.SIGKILL)
        harness.pause(0.5)
        process.kill()
        process.communicate()
        harness.wait_for(lambda: not self.processes(), "everybody is gone")
        self.recovered()

    def test_more_than_the_spool_holds(self):
        _, trace = self.work("own-streams", 20000, losses=True, GPUVERIFY_SPOOL_MB=1)
        launches = trace.count("cuLaunchKernel")
        lost = trace.value("SELECT coalesce(sum(count), 0) FROM losses WHERE what = 'call' AND class = 'launch'")
        self.assertEqual(launches + lost, 80000)
        # A launch that was lost cannot be found; every other one is.
        self.assertEqual(trace.value("SELECT count(call) FROM gpu_ops"),
                         trace.value("SELECT count(DISTINCT call) FROM gpu_ops"))
        operations = trace.value("SELECT count(*) FROM gpu_ops")
        unseen = trace.value("SELECT coalesce(sum(count), 0) FROM losses "
                             "WHERE what = 'GPU operation'")
        self.assertEqual(operations + unseen, 80000)


class Unharmed(Seen):
    """A program does not notice."""

    def test_same_output(self):
        for program in ("driver_tour", "runtime_tour_shared", "runtime_tour_static", "threads"):
            with self.subTest(program):
                os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
                self.run_twice([harness.workload(program)],
                               mask=lambda text: re.sub(r"\d[\d.]*", "N", text))
                self.settle()

    @harness.depends_on_time("a thread of ours that has done its work may not have ended yet")
    def test_threads_of_ours_that_take_no_signals(self):
        # One fetches CUPTI's records, which may block; one looks at idle threads, and one keeps the
        # program's files for it.
        for looks, threads in (("50", 4), ("0", 2)):
            result = self.run_well([harness.program("state"), "threads"], env={"GPUVERIFY_IDLE_HZ": looks})
            self.assertIn(f"threads: {threads}\n", result.out)


class OwnProfiler(Seen):
    """A program that profiles itself through CUPTI sees the same with us and without, and we see the
    rest."""

    SESSION = "session {}: records 20, at another time 0, in buffers of others 0\n"

    def profiled(self, *words, library=None, mode="auto", **env):
        os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
        result = self.run_twice([harness.program("own_profiler"), library or libcupti(), *words],
                                env={"GPUVERIFY_GPU": mode, **env})
        trace = self.trace(losses=True)
        self.launches = trace.count("cuLaunchKernel")
        self.assertEqual(result.out, f"{self.launches} launches\n")
        return result, trace

    def recorded(self, trace):
        return " ".join(row[0] for row in trace.rows(
            "SELECT gpu FROM recording WHERE side = 'gpu' ORDER BY start_ns"))

    def operations(self, trace):
        return trace.rows("SELECT count(*), count(call) FROM gpu_ops")[0]

    def test_it_keeps_its_subscription(self):
        for words in ((), ("own-clock",), ("registers-once",)):
            with self.subTest(words):
                result, trace = self.profiled("sessions", *words)
                self.assertEqual(result.err, "".join(map(self.SESSION.format, range(3))))
                # those of its sessions are its own; after the first one, it has the callbacks
                self.assertEqual(self.operations(trace), (80, 20))
                self.assertEqual(self.recorded(trace), "seen" + 3 * " other operations")

    def test_it_unsubscribes(self):
        result, trace = self.profiled("sessions", "unsubscribes")
        self.assertEqual(result.err, "".join(map(self.SESSION.format, range(3))))
        self.assertEqual(self.operations(trace), (80, 80))
        self.assertEqual(self.recorded(trace), "seen" + 3 * " other seen")
        self.assertEqual(trace.rows("SELECT * FROM losses"), [])
        self.assertEqual([row[0] for row in trace.rows(
            "SELECT why FROM recording WHERE side = 'gpu' ORDER BY start_ns")],
            3 * ["another profiler uses CUPTI", "the other profiler has ended"] + ["exit"])
        said = self.command("report", self.path("trace.db")).out
        self.assertRegex(" ".join(said.split()), r"In 3 times, \S+ m?s in all, another profiler had the GPU side")

    def test_after_it_finalised_we_stay_away(self):
        for words in (("finalizes",), ("tears-down",)):
            with self.subTest(words):
                result, trace = self.profiled("sessions", *words)
                self.assertEqual(result.err, "".join(map(self.SESSION.format, range(3))))
                self.assertEqual(self.operations(trace), (20, 20))

    def test_it_starts_before_the_first_cuda_call(self):
        result, trace = self.profiled("before-cuda", "unsubscribes")
        self.assertEqual(result.err, self.SESSION.format(0).replace("20", "40"))
        self.assertEqual(self.recorded(trace), "other seen")
        self.assertEqual(self.operations(trace), (20, 20))

    def test_it_has_a_copy_of_cupti_of_its_own(self):
        copy = shutil.copy(libcupti(), self.path("libcupti.so.12"))
        result, trace = self.profiled("sessions", "unsubscribes", library=copy)
        self.assertEqual(result.err, "".join(map(self.SESSION.format, range(3))))
        self.assertEqual(self.operations(trace), (80, 80))

    def test_eight_threads_launch_meanwhile(self):
        result, trace = self.profiled_of_threads()
        self.assertIn("session 2: records 1, at another time 0, in buffers of others 0\n", result.err)
        lost = trace.value("SELECT coalesce(sum(count), 0) FROM losses")
        self.assertEqual(lost, 0)

    def profiled_of_threads(self):
        result = self.run_well([harness.program("own_profiler"), libcupti(), "sessions", "threads",
                                "unsubscribes"], quiet=False, env={"GPUVERIFY_GPU": "auto"})
        return result, self.trace(losses=True)

    def test_after_everything_was_fetched_once(self):
        for when in ("signals-first", "signals-just-before"):
            with self.subTest(when):
                result, trace = self.profiled(when)
                self.assertEqual(result.err, self.SESSION.format(0))
                self.assertEqual(self.operations(trace), (40, 20))

    def test_subscribers_share_where_cupti_lets_them(self):
        result, trace = self.profiled("callbacks", GV_SIM_CUPTI_SHARED="1")
        self.assertRegex(result.err, "session 0: callbacks [1-9]")
        self.assertEqual(self.operations(trace), (60, 60))
        result, trace = self.profiled("callbacks")
        self.assertEqual(self.operations(trace), (20, 20))

    def test_switched_off_leaves_it_alone(self):
        result, trace = self.profiled(mode="off")
        self.assertEqual(result.err, self.SESSION.format(0))
        self.assertEqual(trace.rows("SELECT * FROM gpu_ops"), [])


class Children(Seen, test_lifecycle.Children):
    """A child of a program that uses CUPTI never calls it; the simulated one would abort it."""


class Traps(Seen, test_traps.Callbacks):
    pass


class Threads(Seen, test_lifecycle.Threads):
    pass
