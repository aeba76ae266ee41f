"""Jobs of several processes: what their launchers say of them, and their traces as one."""

import os
import shutil
import sqlite3
import stat
import unittest

import harness
import stored

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


class Merged(harness.Case):
    """Of ranks that are simulated one after the other."""

    def record(self, count, name="launch_loop", *arguments):
        for rank in range(count):
            self.run_well([harness.workload(name), *arguments],
                          env={"RANK": rank, "WORLD_SIZE": count, "TORCHELASTIC_RUN_ID": "job",
                               "GPUVERIFY_TRACE": self.path(f"r{rank}.db")})
        self.settle()
        return [self.path(f"r{rank}.db") for rank in range(count)]

    def merge(self, *words, status=0):
        return self.command("merge", *words, "-o", self.path("job.db"), status=status)

    def job(self):
        return self.open_trace(self.path("job.db"))

    def test_a_job_has_all_that_its_ranks_have(self):
        ranks = [self.open_trace(path) for path in self.record(3, "load_while_busy", "10")]
        self.assertEqual(self.merge(self.dir).out, "job.db: 3 traces\n")
        job = self.job()
        self.assertEqual(job.rows("SELECT rank FROM processes ORDER BY id"), [(0,), (1,), (2,)])
        for view in ("calls", "gpu_ops", "stalls", "loads", "threads", "streams", "kernels", "idle"):
            self.assertEqual(job.value(f"SELECT count(*) FROM {view}"),
                             sum(rank.value(f"SELECT count(*) FROM {view}") for rank in ranks), view)
        # What belongs together does so still, and the time between two moments is what it was.
        shown = """SELECT c.name, c.kernel, c.duration_ns, c.start_ns - p.start_ns, f.function, o.name, o.duration_ns,
                o.start_ns - p.start_ns, o.grid_x, s.kind, m.number, x.cause, x.wait_ns, x.advice
            FROM calls c JOIN processes p ON p.id = c.process LEFT JOIN frames f ON f.stack = c.stack
                LEFT JOIN gpu_ops o ON o.call = c.id LEFT JOIN streams s ON s.id = c.stream
                LEFT JOIN modules m ON m.id = c.module LEFT JOIN stalls x ON x.call = c.id
            WHERE p.rank = ? ORDER BY c.start_ns, c.id, f.depth"""
        for number, rank in enumerate(ranks):
            self.assertEqual(job.rows(shown, number), rank.rows(shown, number))
        unix = "SELECT start_ns + (SELECT value FROM meta WHERE key = 'unix_offset_ns') FROM processes WHERE rank = ?"
        for number, rank in enumerate(ranks):
            self.assertEqual(job.value(unix, number), rank.value(unix, number))
        # Stacks that are the same are stored once. A look may find a rank where it found no other.
        def stacks(trace):
            found = {}
            for stack, *frame in trace.rows("SELECT stack, kind, function, library, file, line FROM frames ORDER BY stack, depth"):
                found.setdefault(stack, []).append(tuple(frame))
            return [tuple(frames) for frames in found.values()]

        self.assertEqual(sorted(map(repr, stacks(job))), sorted({repr(stack) for rank in ranks for stack in stacks(rank)}))

    def test_every_command_reads_a_job(self):
        self.record(2, "load_while_busy", "10")
        self.merge(self.dir)
        for words in (["report"], ["report", "--format", "json"], ["stalls"], ["idle"], ["explain"],
                      ["query", "SELECT count(*) FROM calls"], ["check", "--max-errors", "100"],
                      ["export", "--to", "perfetto"], ["export", "--to", "html"]):
            words = [words[0], self.path("job.db"), *words[1:]]
            if words[0] == "export":
                words += ["-o", self.path("out." + words[-1])]
            self.assertEqual(self.command(*words, status=None).status, 0, words)

    def test_commands_read_several_traces_as_one(self):
        first, second = self.record(2, "load_while_busy", "10")
        self.merge(first, second)
        wanted = self.command("report", self.path("job.db"), "--section", "calls", "--format", "csv").out
        os.unlink(self.path("job.db"))
        for words in ([first, second], [self.dir], [self.path("r?.db")], [first + ":" + second]):
            result = self.command("report", *words, "--section", "calls", "--format", "csv")
            self.assertEqual(result.out, wanted, words)
            self.assertIn("merging 2 traces", result.err)
        for words in (["stalls", first, second], ["idle", self.dir], ["explain", first, second, "s1"],
                      ["check", first, second, "--max-errors", "0"], ["diff", first, self.dir],
                      ["export", first, second, "--to", "perfetto", "-o", self.path("out")],
                      ["query", self.dir, "SELECT 1"]):
            self.assertIn("merging 2 traces", self.command(*words).err, words)
        self.assertIn("is no finding such as f1", self.command("explain", first, "nonsense", status=2).err)
        self.assertEqual([name for name in os.listdir(self.dir) if "merge" in name], [])

    def test_a_job_is_merged_again_in_place(self):
        self.record(2, "launch_loop", "2")
        self.merge(self.dir)
        self.assertIn("2 traces", self.merge(self.dir).out)
        self.assertIn("2 traces", self.merge(self.path("r*.db")).out)
        self.assertEqual(stat.S_IMODE(os.stat(self.path("job.db")).st_mode), 0o600)

    def refused(self, *words, says):
        before = sorted(os.listdir(self.dir))
        self.assertIn(says, self.merge(*words, status=3).err)
        self.assertEqual(sorted(os.listdir(self.dir)), before)

    def test_what_is_no_trace_is_refused_and_leaves_nothing(self):
        good, other = self.record(2, "launch_loop", "2")
        with open(self.path("text.db"), "w", encoding="utf-8") as file:
            file.write("no trace")
        self.refused(good, self.path("text.db"), says="is not a gpuverify trace")
        self.refused(good, self.path("absent.db"), says="absent.db")
        os.mkdir(self.path("empty"))
        self.refused(self.path("empty"), says="no traces")
        with open(other, "r+b") as file:
            file.truncate(8192)
        self.refused(good, other, says="cut off or damaged")

    def test_a_process_counts_once(self):
        first, _ = self.record(2, "launch_loop", "2")
        with open(first, "rb") as source, open(self.path("copy.db"), "wb") as copy:
            copy.write(source.read())
        self.refused(first, self.path("copy.db"), says="copy.db holds a process that r0.db holds too: merge each once")

    def test_a_rank_that_two_traces_have_is_said(self):
        self.record(2, "launch_loop", "2")
        with sqlite3.connect(self.path("r1.db")) as database:
            database.execute("UPDATE process_rank SET rank = 0")
        database.close()
        self.assertIn("rank 0 is in r0.db and in r1.db: if these are several runs", self.merge(self.dir).err)

    def test_more_traces_than_files_can_be_open(self):
        first, = self.record(1, "launch_loop", "2")
        for number in range(1, 40):
            shutil.copyfile(first, self.path(f"r{number}.db"))
            with sqlite3.connect(self.path(f"r{number}.db")) as database:
                database.execute("UPDATE process SET identity = ?", (number,))
                database.execute("UPDATE process_rank SET rank = ?", (number,))
            database.close()
        result = self.run_well(["sh", "-c", 'ulimit -n 24; exec "$0" "$@"', harness.gpuverify(), "merge", self.dir, "-o",
                                self.path("job.db")], preload=False)
        self.assertIn("40 traces", result.out)
        self.assertEqual(self.job().value("SELECT count(*) FROM processes"), 40)

    def test_the_same_file_by_several_names_is_taken_once(self):
        first, second = self.record(2, "launch_loop", "2")
        os.symlink(first, self.path("link.db"))
        os.link(second, self.path("hard.db"))
        self.assertIn("2 traces", self.merge(self.path("link.db"), self.dir, self.path("r*.db"), first + ":" + second).out)
        self.assertEqual(self.job().rows("SELECT rank FROM processes ORDER BY id"), [(0,), (1,)])

    def test_only_files_of_a_folder_count(self):
        self.record(2, "launch_loop", "2")
        os.mkdir(self.path("old.db"))
        self.assertIn("2 traces", self.merge(self.dir).out)

    def test_colons_at_the_ends_of_a_list(self):
        first, second = self.record(2, "launch_loop", "2")
        self.assertIn(": 2 traces\n", self.merge(f":{first}::{second}:").out)
        self.assertIn(": 1 trace\n", self.merge(first + ":").out)
        self.assertIn("nothing to merge", self.merge(":", status=3).err)

    def test_names_with_unusual_characters(self):
        first, _ = self.record(2, "launch_loop", "2")
        for name in ("it's \"one\".db", "a:b.db", "a*[b]?.db", "-leading.db"):
            os.rename(first, self.path(name))
            first = self.path(name)
            self.assertIn("job.db: 1 trace\n",
                          self.command("merge", "-o", self.path("job.db"), "--", name, cwd=self.dir).out, name)
        os.mkfifo(self.path("pipe.db"))
        self.refused(self.path("pipe.db"), says="is not a gpuverify trace")
        os.symlink("nowhere", self.path("dangling.db"))
        self.refused(self.path("dangling.db"), says="dangling.db: No such file")

    def test_ids_too_large_to_be_given_anew(self):
        good, bad = self.record(2, "launch_loop", "2")
        with sqlite3.connect(bad) as database:
            database.execute("UPDATE call SET id = 9223372036854775807 WHERE id = 1")
        database.close()
        self.refused(good, bad, says="impossible numbers")

    def test_a_file_that_is_no_trace_is_not_overwritten(self):
        self.record(2, "launch_loop", "2")
        with open(self.path("job.db"), "w", encoding="utf-8") as file:
            file.write("mine")
        self.assertIn("left alone", self.command("merge", self.path("r0.db"), "-o", self.path("job.db"), status=3).err)
        with open(self.path("job.db"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "mine")

    def test_a_trace_is_not_overwritten_by_its_job(self):
        first, second = self.record(2, "launch_loop", "2")
        for words in ([first, second], [self.dir], [second]):
            self.assertIn("r0.db is a program's trace, not a job", self.command("merge", *words, "-o", first, status=3).err)
        self.assertEqual(self.open_trace(first).rows("SELECT rank FROM processes"), [(0,)])
        self.merge(first)
        self.assertIn("is one of the traces, and would be replaced", self.merge(self.path("job.db"), second, status=3).err)

    def test_what_is_beside_the_job_is_not_taken_for_its_own(self):
        first, = self.record(1, "launch_loop", "2")
        self.write("job.db-journal", "of another file")
        self.assertIn("job.db-journal belongs to another file", self.merge(first, status=3).err)
        self.assertFalse(os.path.exists(self.path("job.db")))

    def test_a_job_with_escapes_in_its_name(self):
        first, = self.record(1, "launch_loop", "2")
        said = self.command("merge", first, "-o", self.path("job\x1b[31m.db")).out
        self.assertEqual(said, "job\\x1b[31m.db: 1 trace\n")

    def test_a_trace_of_the_oldest_schema(self):
        with sqlite3.connect(self.path("old.db")) as database:
            database.executescript(stored.read(os.path.join(stored.TRACES, "schema_5.sql")))
        database.close()
        self.merge(self.dir)
        self.assertEqual(self.job().value("SELECT count(*) FROM stalls WHERE NOT expected"), 3)

    def test_the_schema_of_a_stranger_is_refused(self):
        good, bad = self.record(2, "launch_loop", "2")
        with sqlite3.connect(bad) as database:
            database.execute("PRAGMA writable_schema = ON")
            database.execute("UPDATE sqlite_master SET sql = replace(sql, 'bytes INTEGER', 'bytes BLOB') WHERE name = 'call'")
        database.close()
        self.refused(good, bad, says="are not those of this version")

    def test_a_trace_of_an_earlier_analysis_is_analysed_first(self):
        # Of two machines: otherwise the stalls of the job are found anew.
        for rank in range(2):
            self.run_well([harness.workload("load_while_busy"), "10"],
                          env={"SLURMD_NODENAME": f"gpu{rank}", "GPUVERIFY_TRACE": self.path(f"r{rank}.db")})
        self.settle()
        stalls = "SELECT cause, duration_ns, wait_ns, work_ns, advice FROM stalls WHERE process = ? ORDER BY id"
        wanted = [self.open_trace(self.path(f"r{rank}.db")).rows(stalls, 1) for rank in range(2)]
        self.assertTrue(wanted[1])
        with sqlite3.connect(self.path("r1.db")) as database:
            database.execute("UPDATE meta SET value = 1 WHERE key = 'stalls'")
            database.execute("DELETE FROM stall")
        database.close()
        self.merge(self.dir)
        self.assertEqual([self.job().rows(stalls, process) for process in (1, 2)], wanted)


if __name__ == "__main__":
    unittest.main()
