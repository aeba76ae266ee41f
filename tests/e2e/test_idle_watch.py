"""The thread that looks at the program's threads: the program does not notice it, whatever it does to itself."""

import os

import harness

IDLES = harness.program("idles")


class Watch(harness.Case):
    def idles(self, *words, **options):
        """The trace of a program that does something else for half a second, like it would alone."""
        self.run_twice([IDLES, *words], **options)
        return self.trace()

    def looks(self, trace, where="1"):
        return trace.value(f"SELECT count(*) FROM idle_sample WHERE {where}")

    def test_numbers_of_files_are_the_programs(self):
        self.assertGreater(self.looks(self.idles("numbers")), 0)

    def test_program_closes_all_files(self):
        self.assertGreater(self.looks(self.idles("closes"), "state = 'S'"), 0)

    def test_no_file_can_be_opened(self):
        self.idles("no-numbers")

    def test_another_user(self):
        harness.need_root(self, "cannot become another user")
        os.chmod(self.dir, 0o755)
        self.idles("nobody")

    def test_file_is_named(self):
        path = self.path("locked")
        trace = self.idles("file", path)
        self.assertGreater(self.looks(trace, f"text = '{path}'"), 0)

    def test_child_that_shares_the_memory_for_a_while(self):
        trace = self.idles("vfork")
        self.assertGreater(self.looks(trace, "text = 'sleep'"), 0)
        self.assertEqual(trace.value("SELECT count(*) FROM processes"), 1)

    def test_last_thread_of_the_program_ends_it(self):
        trace = self.idles("last-thread")
        self.assertEqual(trace.rows("SELECT ended, exit_code FROM processes"), [("exit", 0)])

    @harness.depends_on_time("a look that is under way goes on")
    def test_filter_of_system_calls_that_kills(self):
        with open("/proc/self/status", encoding="ascii") as status:
            if "Seccomp:\t0" not in status.read():
                self.skipTest("there is a filter already: the library does not see another one")
        self.idles("filter")

    def test_not_wanted(self):
        self.assertEqual(self.looks(self.idles("sleep", env={"GPUVERIFY_IDLE_HZ": "0"})), 0)

    def test_cost_is_counted(self):
        trace = self.idles("sleep")
        looks, total_ns = trace.rows("SELECT count, total_ns FROM own_cost WHERE what = 'thread'")[0]
        self.assertGreaterEqual(looks, self.looks(trace))
        self.assertGreater(total_ns, 0)
