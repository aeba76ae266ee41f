"""Each number in the schema has a rule in report/commands/merge/copy.def, or is one that a merge copies as it is: so a new
id or time is not copied unnoticed."""

import re
import unittest

from test_anonymise import columns, read

# Neither ids of rows nor moments.
PLAIN = set("""
    about address base block_x block_y block_z bytes cache_bytes category cc_major cc_minor clock_khz color
    communicator copy_kind correlation count cpu_ns cupti_version delay_ns depth device drained_count
    drained_ns driver_version duration_ns dynamic_shared_bytes ended entry exit_code exit_signal expected
    forked gaps gpu_busy gpu_percent graph_node grid_x grid_y grid_z handle hash high identity jit_ns kind
    line local_bytes local_rank low memory_bytes memory_clock_khz memory_clock_mhz memory_percent
    memory_used_bytes multiprocessors number one_of parent_pid pid pid_or_tid power_mw rank
    records registers result root_or_peer samples sequence serial signs size sm_clock_mhz span_ns spared
    start_ticks started static_shared_bytes stream_handle system_call target temperature_c thread_serial tid
    total_ns wait_ns work_ns world_size
""".split())
# The program's handles, and what CUPTI calls a compilation.
PLAIN_IN = {("call", "object"), ("call_object", "object"), ("jit", "operation")}


def unruled(sql, rules):
    known = columns(sql)
    left = set(re.findall(r"^GV_MERGE_LEFT\((\w+)\)", rules, re.M))
    ruled = set(re.findall(r"^GV_MERGE\((\w+), (\w+), \w+, \w+\)", rules, re.M))
    tables = {table for table, _ in known}
    names = {column for _, column in known}
    lacking = {(table, column) for (table, column), kind in known.items()
               if kind == "INTEGER" and table not in left and column not in PLAIN | {"id"}
               and (table, column) not in PLAIN_IN
               and not {(table, column), ("ANY", column)} & ruled}
    unknown = {rule for rule in ruled if rule[1] not in names or rule[0] not in tables | {"ANY"}}
    return sorted(lacking), sorted(unknown)


class Merge(unittest.TestCase):
    def setUp(self):
        self.sql, self.rules = read("report/store/tables.sql"), read("report/commands/merge/copy.def")

    def test_each_number_has_a_rule(self):
        self.assertEqual(unruled(self.sql, self.rules), ([], []))

    def test_a_new_reference_is_found(self):
        sql = self.sql.replace("CREATE TABLE stack (", "CREATE TABLE stack (owner INTEGER, ")
        self.assertEqual(unruled(sql, self.rules)[0], [("stack", "owner")])


if __name__ == "__main__":
    unittest.main()
