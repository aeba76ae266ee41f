"""The ordinary workloads on the simulator: a trace must hold what each claims."""

import os
import sys

import harness

sys.path.insert(0, os.path.join(harness.SOURCE, "tests"))
import workload_claims as claims  # noqa: E402

SHORT = {"long_kernel": ["100"], "copy_pipeline": ["8"], "polling": ["20"]}
IN_C = ("cooperative_launch", "copy_pipeline", "graph_launches", "long_kernel", "managed_memory",
        "polling", "several_gpus", "several_processes", "tiny_kernels")
OF_NVCC = ("fibonacci_static", "image_filter_shared", "matrix_product_static", "print_kernel_static",
           "reduction_shared")


class Ordinary(harness.Case):
    """One case for each program and mode, made below; and that a wrong claim is noticed."""

    def run_workload(self, name, mode):
        path = harness.workload(name)
        if not os.path.exists(path):
            self.skipTest(f"{name} is not built: no nvcc")
        env = {"GPUVERIFY_GPU": mode, "GV_SIM_DEVICES": "2", "GV_SIM_KERNEL_NS": "2000",
               "GPUVERIFY_CUPTI": os.path.join(harness.simulator(), "libcupti.so.13")}
        result = self.run_well([path, *SHORT.get(os.path.basename(name), [])], env=env)
        return result.out, self.trace().database

    def check(self, name, mode):
        output, trace = self.run_workload(name, mode)
        claims.check(output, trace, mode == "auto")

    def test_millions_of_polls_take_no_room(self):
        _, trace = self.run_workload("ordinary/polling", "auto")
        self.assertLess(os.path.getsize(self.path("trace.db")), 4 << 20)
        folded = trace.execute("SELECT duration_ns, span_ns, count FROM calls WHERE count > 1").fetchall()
        for duration_ns, span_ns, _ in folded:
            self.assertLessEqual(duration_ns, span_ns)
        by_row, by_call = trace.execute("SELECT count(*), sum(count) FROM calls WHERE result = 600").fetchone()
        self.assertGreater(by_call, 20 * by_row)
        # Summaries count polls, not rows.
        names = dict(trace.execute("SELECT name, count FROM api_summary"))
        self.assertEqual(names, dict(trace.execute("SELECT name, sum(count) FROM calls GROUP BY name")))
        self.assertEqual(trace.execute("SELECT value FROM fact WHERE key = 'calls'").fetchone()[0],
                         sum(names.values()))
        self.assertEqual(trace.execute("SELECT count(*) FROM stalls s JOIN calls c ON c.id = s.call"
                                       " WHERE c.count > 1").fetchone()[0], 0)

    def test_a_wrong_claim_is_noticed(self):
        output, trace = self.run_workload("ordinary/tiny_kernels", "auto")
        for line in ("claim kernels 999 empty", "claim kernels 1000 full", "claim longest 5.0 ms empty",
                     "claim calls 999 cuLaunchKernel", "claim luck 1 empty", "nothing"):
            with self.assertRaises(claims.Mismatch, msg=line):
                claims.check(line, trace, True)
        claims.check(output, trace, True)


def add(name, mode):
    def case(self):
        self.check(name, mode)
    setattr(Ordinary, f"test_{os.path.basename(name)}_{'gpu' if mode == 'auto' else 'host'}", case)


for program in [f"ordinary/{name}" for name in IN_C] + list(OF_NVCC):
    for how in ("auto", "off"):
        add(program, how)
