"""Jobs of several processes: what their launchers say of them."""

import unittest

import harness

TORCHRUN = {"RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "8", "TORCHELASTIC_RUN_ID": "train"}


class Ranks(harness.Case):
    def recorded(self, argv, **env):
        self.run_well(argv, env=env)
        return self.trace().rows("SELECT rank, local_rank, world_size, job, host FROM processes ORDER BY id")

    def test_what_the_launcher_said(self):
        self.assertEqual(self.recorded([harness.workload("launch_loop"), "2"], SLURMD_NODENAME="gpu07", **TORCHRUN),
                         [(3, 1, 8, "train", "gpu07")])

    def test_a_child_has_the_rank_that_it_was_given(self):
        script = f"RANK=0 {harness.workload('launch_loop')} 2; RANK=1 {harness.workload('launch_loop')} 2"
        rows = self.recorded(["sh", "-c", script], WORLD_SIZE="2")
        self.assertEqual([(rank, size) for rank, _, size, _, _ in rows], [(0, 2), (1, 2)])

    def test_without_a_launcher_only_the_host_is_known(self):
        rows = self.recorded([harness.workload("launch_loop"), "2"])
        self.assertEqual([row[:4] for row in rows], [(None, None, None, None)])
        self.assertTrue(rows[0][4])


if __name__ == "__main__":
    unittest.main()
