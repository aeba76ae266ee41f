"""Functions that a stream calls on the CPU: they run as without the library, and the trace has their names
and times, and says who waited for them."""

import os
import sys

import harness

SCRIPT = os.path.join(harness.SOURCE, harness.PROGRAMS, "host_functions.py")


def told_line():
    with open(SCRIPT, encoding="utf-8") as lines:
        return next(number for number, line in enumerate(lines, 1) if "the line that is told" in line)


@harness.depends_on_time("who waits for a function depends on when the program comes to wait")
class HostFunctions(harness.Case):

    def recorded(self, **env):
        self.run_twice([sys.executable, "-B", SCRIPT], env=env)
        return self.trace()

    def check_functions(self, trace):
        found = trace.dicts("SELECT c.name AS call, h.name, h.library, h.duration_ns, h.thread, h.stream,"
                            " h.start_ns >= c.start_ns AS later FROM host_functions h JOIN calls c ON c.id = h.call"
                            " ORDER BY c.id")
        self.assertEqual([row["call"] for row in found],
                         ["cudaLaunchHostFunc", "cudaLaunchHostFunc", "cudaStreamAddCallback",
                          "cudaLaunchHostFunc_ptsz", "cudaLaunchHostFunc"])
        self.assertTrue(all(row["later"] and row["duration_ns"] for row in found), found)
        self.assertEqual(len({row["stream"] for row in found}), 2)
        if found[0]["name"] is None:
            self.skipTest("this gpuverify was built without elfutils: functions have no names")
        self.assertEqual([row["name"] for row in found], ["usleep", None, None, "usleep", "usleep"])
        self.assertIn("libc.so", found[0]["library"])
        for row in found:
            self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE thread = ?", row["thread"]), 0,
                             "what runs a host function made no call")

    def check_stalls(self, trace):
        told = trace.dicts("SELECT s.*, h.name AS host FROM stalls s JOIN host_functions h ON h.id = s.host_function"
                           " WHERE h.name IS NOT NULL ORDER BY s.call")
        self.assertEqual([(row["name"], row["cause"], row["host"]) for row in told],
                         [("cudaFree", "free", "usleep"),
                          ("cudaStreamSynchronize", "explicit-sync", "usleep"),
                          ("cudaDeviceSynchronize", "explicit-sync", "usleep")])
        self.assertEqual({row["confidence"] for row in told}, {"measured"})
        where = f"launched at host_functions.py:{told_line()}"
        self.assertIn("host function usleep (", told[0]["advice"])
        self.assertIn(where, told[0]["advice"])
        for row in told:
            text = " ".join(self.command("explain", trace.path, f"s{row['id']}").out.split())
            self.assertIn("usleep ran on the CPU for", text)
        text = " ".join(self.command("explain", trace.path, f"s{told[0]['id']}").out.split())
        self.assertIn(where, text)

    def test_with_the_gpu_side(self):
        trace = self.recorded()
        self.check_functions(trace)
        self.check_stalls(trace)

    def test_from_the_calls_alone(self):
        trace = self.recorded(GPUVERIFY_GPU="off")
        self.check_functions(trace)
        self.check_stalls(trace)

    def test_without_stacks_they_have_no_names(self):
        trace = self.recorded(GPUVERIFY_STACKS="off")
        self.assertEqual(trace.value("SELECT count(*) FROM host_functions WHERE duration_ns > 0 AND name IS NULL"), 5)
        self.assertIn("a host function (", trace.value("SELECT advice FROM stalls WHERE cause = 'free'"))


if __name__ == "__main__":
    harness.main()
