"""gpuverify snapshot: a copy of the trace of a running program."""

import fcntl
import os
import re
import signal
import subprocess
import unittest

import harness

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = harness.built(harness.PROGRAMS, "e2e_controlled")
LAUNCHES = "SELECT count(*) FROM calls WHERE name = 'cuLaunchKernel'"


class Sandbox(harness.Case):

    gpu = "on"

    def begin(self, path=None, **env):
        self.trace_path = path or self.path("it.db")
        process = self.start([PROGRAM, "wait"], env={"GPUVERIFY_TRACE": self.trace_path, **env}, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")  # 20 launches
        return process

    def work(self, process):
        """3 launches."""
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")

    def end(self, process):
        process.stdin.close()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()
        return self.trace(self.trace_path)

    def take(self, operand, name="snap.db", **options):
        result = self.command("snapshot", operand, "-o", self.path(name), **options)
        return result, self.path(name)

    def check_files(self, *names, folder=None):
        """Nothing else was left in the folder."""
        self.assertEqual([name for name in sorted(os.listdir(folder or self.dir)) if ".db" in name], sorted(names))



class Snapshot(Sandbox):

    def test_a_link_is_called_so(self):
        process = self.begin()
        os.symlink(self.trace_path, self.path("link"))
        for command in ("snapshot", "-o", self.path("snap.db")), ("start",):
            self.assertIn("link is a symbolic link: name the trace itself\n",
                          self.command(command[0], self.path("link"), *command[1:], status=3).err)
        self.end(process)
        self.check_files("it.db")

    def test_while_the_program_runs(self):
        process = self.begin()
        self.work(process)
        result, path = self.take(self.trace_path)
        self.assertRegex(result.out, r"^\S+/snap\.db: the first [\d.]+ (s|ms) of \S+/it\.db\n$")
        self.work(process)
        by_pid = self.take(str(process.pid), "by-pid.db")[1]
        self.work(process)
        final = self.end(process)
        snapshot = self.open_trace(path)
        self.assertEqual([trace.value(LAUNCHES) for trace in (snapshot, self.open_trace(by_pid), final)], [23, 26, 29])
        self.assertEqual(snapshot.value("PRAGMA integrity_check"), "ok")
        self.assertEqual(os.stat(path).st_mode & 0o777, 0o600)
        calls = "SELECT id, name, start_ns, duration_ns, thread FROM calls WHERE id <= ? ORDER BY id"
        last = snapshot.value("SELECT max(id) FROM calls")
        self.assertEqual(snapshot.rows(calls, last), final.rows(calls, last))
        meta = snapshot.meta()
        self.assertEqual((meta["state"], "session" in meta, "spool_directory" in meta), ("complete", False, False))
        self.assertGreater(int(meta["snapshot_ns"]), snapshot.value("SELECT max(start_ns + duration_ns) FROM calls"))
        self.check_files("it.db", "snap.db", "by-pid.db")

    def test_it_is_a_trace_for_every_command(self):
        process = self.begin()
        self.work(process)
        path = self.take(self.trace_path)[1]
        # What a finished trace has, and one that is being written has not.
        snapshot = self.open_trace(path)
        self.assertGreater(snapshot.value("SELECT count(*) FROM stalls"), 0)
        self.assertGreater(snapshot.value("SELECT count(*) FROM fact"), 0)
        self.assertGreater(snapshot.value("SELECT count(*) FROM frames WHERE file LIKE '%/controlled.c'"), 0)
        self.assertEqual(snapshot.rows("SELECT end_ns >= (SELECT value FROM meta WHERE key = 'snapshot_ns'), ended"
                                       " FROM processes"), [(1, None)])
        before = self.command("report", path).out
        self.assertRegex(before, r"Snapshot after [\d.]+ (s|ms): the program still ran\.")
        self.work(process)
        self.assertEqual(self.command("report", path).out, before)  # it does not lead to the session
        self.assertIn("no running process", self.command("stop", path, status=3).err)
        self.assertIn("nothing to recover", self.command("recover", path).err)
        self.assertEqual(self.take(path, "again.db")[0].out.split(": ")[1].split(" ")[0], "all")
        self.assertIn("still ran when the snapshot was taken", self.command("check", path, "--no-unfinished", status=3).out)
        self.assertIn("is not complete", self.command("diff", path, path).out)
        self.end(process)

    def test_of_a_trace_that_is_complete(self):
        process = self.begin()
        trace = self.end(process)
        result, path = self.take(self.trace_path)
        self.assertRegex(result.out, "all of .* has ended")
        self.assertEqual(list(self.open_trace(path).database.iterdump()), list(trace.database.iterdump()))

    def test_a_trace_that_is_still_empty_is_left_alone(self):
        finished = self.end(self.begin()).path
        for beside, locked in ("begun.db-journal", False), ("other", True):
            with self.subTest(beside), open(self.write("begun.db", ""), "rb") as begun:
                path = self.write(beside, "of begun.db")
                if locked:
                    fcntl.flock(begun, fcntl.LOCK_SH)
                self.assertIn("begun.db exists, and is not a finished trace", self.take(finished, "begun.db", status=3)[0].err)
                os.unlink(path)
        self.take(finished, "begun.db")

    def test_its_name(self):
        process = self.begin()
        other = self.write("other.db", "mine")
        os.symlink(other, self.path("link.db"))
        for name in ("other.db", "link.db"):
            self.assertIn("left alone", self.take(self.trace_path, name, status=3)[0].err)
        for operand in self.trace_path, str(process.pid):
            self.assertIn("it.db is the trace itself", self.take(operand, "it.db", status=3)[0].err)
        self.assertIn("No such file", self.take(self.trace_path, "no/where.db", status=3)[0].err)
        self.assertIn("-o FILE is missing", self.command("snapshot", self.trace_path, status=2).err)
        self.assertIn("-o FILE is missing", self.command("snapshot", self.trace_path, "-o", "-", status=2).err)
        for _ in range(2):
            self.take(self.trace_path, "twice.db")
        self.write("empty.db", "")
        self.take(self.trace_path, "empty.db")
        with open(other, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")
        self.assertEqual(self.end(process).value(LAUNCHES), 20)
        self.assertIn("it.db is the trace itself", self.take(self.trace_path, "it.db", status=3)[0].err)
        self.check_files("empty.db", "it.db", "link.db", "other.db", "twice.db")

    def test_nobody_there(self):
        for operand in (str(os.getpid()), self.path("none.db"), "/etc/passwd"):
            self.assertIn("recorded", self.take(operand, status=3)[0].err)

    def test_another_user(self):
        harness.need_root(self, "to be another user")
        process = self.begin()
        os.chown(self.spool, 12345, 12345)
        self.assertIn("another user", self.take(str(process.pid), status=3)[0].err)
        os.chown(self.spool, os.geteuid(), os.getegid())
        self.end(process)

    def test_the_collector_was_killed(self):
        process = self.begin()
        os.kill(self.await_collector(), signal.SIGKILL)
        self.work(process)
        result, path = self.take(self.trace_path)
        self.assertIn("its collector has ended", result.err)
        self.assertIn("some of its processes still run: results so far", self.command("report", self.trace_path).err)
        snapshot = self.open_trace(path)
        self.assertEqual((snapshot.value(LAUNCHES), "snapshot_ns" in snapshot.meta()), (23, True))
        process.stdin.close()
        process.wait(harness.SOON_S)
        process.stdout.close()
        self.command("recover", self.spool)
        self.assertEqual(self.trace(self.trace_path).value(LAUNCHES), 23)

    def test_in_another_container(self):
        harness.need_root(self, "cannot make a pid namespace")
        process = self.begin()
        result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", harness.gpuverify(), "snapshot", self.trace_path,
                                 "-o", self.path("snap.db")], env=self.environment(preload=False), capture_output=True,
                                text=True, check=False)
        if "unshare" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.assertIn("in another container", result.stderr)
        self.end(process)
        self.check_files("it.db")

    def asking(self, name="snap.db"):
        """A command that waits for the stopped collector."""
        command = self.start([harness.gpuverify(), "snapshot", self.trace_path, "-o", self.path(name)], preload=False,
                             stderr=subprocess.PIPE, text=True)
        harness.wait_for(lambda: [part for part in os.listdir(self.dir) if part.startswith(name + ".")], "it has begun")
        harness.pause(0.3)  # until it has asked
        return command

    def test_the_collector_is_killed_meanwhile(self):
        process = self.begin()
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        command = self.asking()
        os.kill(collector, signal.SIGKILL)
        self.assertIn("its collector has ended", command.communicate(timeout=harness.SOON_S)[1])
        self.assertEqual(self.open_trace(self.path("snap.db")).value(LAUNCHES), 20)
        process.stdin.close()
        process.wait(harness.SOON_S)
        process.stdout.close()
        self.command("recover", self.spool)
        self.check_files("it.db", "snap.db")

    def test_the_command_is_killed_meanwhile(self):
        process = self.begin()
        collector = self.await_collector()
        for number in (signal.SIGTERM, signal.SIGKILL):
            os.kill(collector, signal.SIGSTOP)
            command = self.asking(f"{number}.db")
            command.send_signal(number)
            command.communicate(timeout=harness.SOON_S)
            self.assertEqual(command.returncode, -number)
            os.kill(collector, signal.SIGCONT)
            self.take(self.trace_path)
        self.end(process)
        left = [name for name in os.listdir(self.dir) if name.startswith(f"{signal.SIGKILL}.db.")]
        self.assertEqual(len(left), 1)
        self.assertEqual(os.path.getsize(self.path(left[0])), 0)
        self.check_files("it.db", "snap.db", *left)

    def test_another_file_comes_to_be_there_meanwhile(self):
        process = self.begin()
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        command = self.asking()
        mine = self.write("snap.db", "mine")
        os.kill(collector, signal.SIGCONT)
        self.assertIn("left alone", command.communicate(timeout=harness.SOON_S)[1])
        self.assertEqual(command.returncode, 3)
        with open(mine, encoding="ascii") as file:
            self.assertEqual(file.read(), "mine")
        self.end(process)
        self.check_files("it.db", "snap.db")

    def test_the_program_ends_meanwhile(self):
        process = self.begin()
        collector = self.await_collector()
        os.kill(collector, signal.SIGSTOP)
        command = self.asking()
        process.stdin.close()
        os.kill(collector, signal.SIGCONT)
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()
        self.assertEqual(command.communicate(timeout=harness.SOON_S)[1], "")
        self.assertEqual(command.returncode, 0)
        self.assertEqual(self.trace(self.path("snap.db")).value(LAUNCHES), 20)
        self.assertEqual(self.trace(self.trace_path).value(LAUNCHES), 20)
        self.check_files("it.db", "snap.db")

    def test_no_room_beside_the_trace(self):
        folder = self.path("disk")
        with harness.small_disk(self, folder, "900k"):
            process = self.begin(os.path.join(folder, "it.db"))
            self.assertIn("has no room for a copy", self.take(self.trace_path, status=3)[0].err)
            self.assertEqual(self.end(process).value(LAUNCHES), 20)
            self.check_files("it.db", folder=folder)
            for trace in self.traces:
                trace.close()
            self.traces.clear()

    def test_to_another_disk(self):
        folder = self.path("disk")
        process = self.begin()
        for size, status in (("100k", 3), ("20m", 0)):
            with harness.small_disk(self, folder, size):
                result, path = self.take(self.trace_path, "disk/snap.db", status=status)
                if status:
                    self.assertIn("No space left on device", result.err)
                    self.check_files(folder=folder)
                else:
                    self.assertIn("20", self.command("query", path, LAUNCHES).out.split())
                    self.check_files("snap.db", folder=folder)
        self.end(process)
        self.check_files("it.db")


class Rotation(Sandbox):
    """The lines of docs/control.md; each finds that a minute has passed."""

    DATE = '#!/bin/sh\necho >>minutes\nexec /bin/date -u -d "@$(( $(wc -l <minutes) * 60 ))" "$@"\n'

    @staticmethod
    def documented(pattern):
        with open(os.path.join(ROOT, "docs", "control.md"), encoding="utf-8") as page:
            return re.search(pattern, page.read(), re.M)[1]

    def rotate(self, line):
        bin_folder = self.path("bin")
        os.makedirs(bin_folder, exist_ok=True)
        self.write("bin/date", self.DATE, mode=0o755)
        os.symlink(harness.gpuverify(), self.path("bin", "gpuverify"))
        process = self.begin(self.path("serve.db"))
        taken = []
        for _ in range(8):
            result = subprocess.run(["/bin/sh", "-c", line.replace("/var/lib/serve", self.dir)], cwd=self.dir,
                                    env=self.environment(preload=False, PATH=f"{bin_folder}:/usr/bin:/bin"),
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            taken.append(result.stdout.split(":")[0].split("/")[-1])
        self.assertEqual(len(set(taken)), 8)
        self.end(process)
        self.check_files("serve.db", *taken[-6:])

    def test_cron(self):
        self.rotate(self.documented(r"^\*/10 \* \* \* \* (.*)$").replace("\\%", "%"))

    def test_systemd(self):
        self.rotate(self.documented(r"^ExecStart=/bin/sh -c '(.*)'$").replace("%%", "%").replace("$$", "$"))


if __name__ == "__main__":
    unittest.main()
