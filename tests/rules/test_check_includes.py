#!/usr/bin/env python3
"""tests/rules/check-includes must notice an include that breaks a rule."""

import unittest

from rule_case import RuleCase


class CheckIncludes(RuleCase):
    script = "check-includes"

    def test_what_is_allowed(self):
        self.passes({"preload/base/log.h": "", "preload/process/exit.c": '#include "preload/base/log.h"\n',
                     "report/show/rows.h": '#include "trace/text.h"\n', "trace/text.h": "",
                     "report/probe/run.c": '#include "report/show/rows.h"\n',
                     "report/collect/drain.c": '#include "report/analyse/run.h"\n#include "report/show/rows.h"\n',
                     "report/analyse/run.h": '#include "report/store/database.h"\n', "report/store/database.h": "",
                     "report/commands/help/text.c": '#include "report/collect/drain.h"\n', "report/collect/drain.h": "",
                     "preload/hooks/calls.c": '#include "trace/spool.h"\n#include <cuda.h>\n',
                     "trace/spool.h": "#include <stdint.h>\n#include <sys/mman.h>\n",
                     "report/store/database.c": '#include "trace/spool.h"\n#include <sqlite3.h>\n',
                     "tests/sim/profiler.c": "#include <cupti.h>\n"})

    def test_a_circle_of_two_sources_and_their_headers(self):
        self.fails({"trace/a.h": "", "trace/a.c": '#include "trace/a.h"\n#include "trace/b.h"\n',
                    "trace/b.h": '#include "trace/a.h"\n'}, "a circle: trace/a -> trace/b -> trace/a")

    def test_sqlite_in_the_preload(self):
        self.fails({"preload/hooks/calls.c": "#include <sqlite3.h>\n"}, "preload/hooks/calls.c:1: sqlite3.h")

    def test_sqlite_in_a_header_that_the_preload_uses(self):
        self.fails({"preload/hooks/calls.c": '#include "trace/spool.h"\n',
                    "trace/spool.h": "#include <sqlite3.h>\n"}, "through preload/hooks/calls.c")

    def test_sqlite_in_the_source_behind_such_a_header(self):
        self.fails({"preload/hooks/calls.c": '#include "trace/spool.h"\n', "trace/spool.h": "",
                    "trace/spool.c": "#include <sqlite3.h>\n"}, "trace/spool.c:1: sqlite3.h")

    def test_cupti_outside_its_rooms(self):
        self.fails({"report/store/read.c": "#include <cupti.h>\n"}, "cupti.h belongs in")

    def test_the_preload_using_the_report(self):
        self.fails({"preload/hooks/calls.c": '#include "report/store/read.h"\n', "report/store/read.h": ""},
                   "preload/hooks/ may not use report/store/")

    def test_the_trace_using_the_preload(self):
        self.fails({"trace/spool.c": '#include "preload/hooks/calls.h"\n', "preload/hooks/calls.h": ""},
                   "trace/ may not use preload/hooks/")

    def test_arrows_between_rooms(self):
        for room, other in (("preload/base", "preload/bind"), ("preload/bind", "preload/stacks"),
                            ("preload/stacks", "preload/hooks"), ("preload/hooks", "preload/process"),
                            ("report/show", "report/store"), ("report/store", "report/analyse"),
                            ("report/analyse", "report/collect"), ("report/collect", "report/commands"),
                            ("report/probe", "report/store"), ("cupti", "preload/base"), ("kernels", "trace")):
            with self.subTest(room):
                self.fails({f"{room}/low.c": f'#include "{other}/high.h"\n', f"{other}/high.h": ""},
                           f"{room}/low.c:1: {room}/ may not use {other}/")

    def test_a_file_in_no_room(self):
        self.fails({"report/utils/drawer.c": ""}, "report/utils/ is no room")

    def test_an_include_relative_to_its_file(self):
        self.fails({"report/store/read.c": '#include "read.h"\n', "report/store/read.h": ""},
                   "includes start at the project's root")


if __name__ == "__main__":
    unittest.main()
