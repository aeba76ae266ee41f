"""What was launched is found on the GPU, or counted as lost: whatever the reason, and nothing else."""

import os
import unittest

import harness
from test_gpu_side import Seen, libcupti


@unittest.skipUnless(os.path.exists(libcupti()),
                     "no simulated libcupti was built: no cupti.h beside the CUDA headers")
class Starting(Seen):
    """No launch goes by while the GPU's side is being started."""

    def all_found(self, argv, launches, **env):
        os.path.exists(self.path("trace.db")) and os.unlink(self.path("trace.db"))
        self.run_well(argv, quiet=False, env=env)
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'launch'"), launches)
        self.assertEqual(self.kinds(trace), {"kernel": launches})
        self.all_found_their_call(trace)

    def test_threads_that_make_their_first_calls_at_once(self):
        for threads, start_ms in ((4, 0), (8, 0), (4, 200), (8, 200)):
            self.all_found([harness.workload("threads"), str(threads), "2000", "first"],
                           threads * 2000, GV_SIM_CUPTI_START_MS=str(start_ms))

    def test_threads_that_do_not_initialise(self):
        self.all_found([harness.program("first_calls"), "200"], 1600, GV_SIM_CUPTI_START_MS="300")


if __name__ == "__main__":
    unittest.main()
