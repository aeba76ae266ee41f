#!/usr/bin/env python3
"""tests/rules/check-names must notice code that derives a meaning from a call's name."""

import unittest

from rule_case import RuleCase

TABLE = """
LAUNCH cuLaunchKernel(void)
ALLOC cudaMalloc(void)
"""


class CheckNames(RuleCase):
    script = "check-names"

    def check(self, files):
        return super().check({"trace/calls.table": TABLE, **files})

    def test_what_is_allowed(self):
        self.passes({"report/read.c": '/* "cuLaunchKernel" */\nputs("move cuLaunchKernel to the start");\n'
                    '"SELECT id FROM api WHERE gpu_work = 1 AND class LIKE \'GPU %\'";\n'
                    'strcmp(kind, "copy"); strcmp(name, "--launch"); "a" /* b */ "c";\n'})
        self.passes({"report/store/views.sql": "SELECT 1 -- such as 'cuLaunchKernel'\n"})

    def test_who_must_speak_names(self):
        self.passes({"report/probe/calls.def": 'GV_PROBE_CALL(GPU, "cuLaunchKernel")\n'})

    def test_a_name(self):
        self.fails({"cupti/module.c": '\nstatic const char *names[] = {"cuLaunchKernel"};\n'},
                   "cupti/module.c:2: cuLaunchKernel is a call's name")

    def test_a_name_of_a_call_that_is_not_hooked(self):
        self.fails({"report/read.def": 'ROW("cudaFoo", 1)\n'}, "report/read.def:1: cudaFoo is a call's name")

    def test_the_beginning_of_a_name(self):
        self.fails({"report/read.c": 'if (strncmp(name, "cuda", 4) == 0)\n'}, "report/read.c:1: cuda is compared")

    def test_a_part_of_a_name(self):
        self.fails({"report/read.c": 'if (strstr(row_name(row),\n           "Launch"))\n'},
                   "report/read.c:2: Launch is compared")

    def test_a_pattern(self):
        self.fails({"report/store/views.sql": "SELECT id FROM api\nWHERE name LIKE '%Launch%';\n"},
                   "report/store/views.sql:2: %Launch% is a pattern")

    def test_a_pattern_in_two_strings(self):
        self.fails({"report/read.c": '\n"SELECT name GLOB"\n" \'*LaunchKer\'"\n'}, "report/read.c:2: *LaunchKer is")

    def test_a_list(self):
        self.fails({"report/read.c": '"WHERE name IN (\'cuInit\')"\n'}, "report/read.c:1: cuInit is a call's name")


if __name__ == "__main__":
    unittest.main()
