"""The files of export: what may be overwritten, what is left; and --to csv, read back."""

import csv
import json
import os
import re
import signal
import subprocess

import harness
import stored

HOSTILE = ("'a,b\"c' || char(10) || 'd'", "'=cmd()'", "char(27) || '[31m'", "CAST(x'66ff80' AS TEXT)", "'</script>'", "''")


class Exported(harness.Case):
    def make(self, source, *changes):
        stored.make_anew(source, self.path("trace.db"), *changes)

    def export(self, *words, status=0):
        return self.command("export", self.path("trace.db"), *words, status=status, sim=False)


class Output(Exported):
    def test_the_trace_is_never_overwritten(self):
        self.make("lines")
        os.symlink("trace.db", self.path("link"))
        for name in ("html", "perfetto", "folded"):
            for path in ("trace.db", "link"):
                self.assertIn("is the trace itself", self.export("--to", name, "-o", self.path(path), "--force", status=3).err)
        self.export("--to", "folded")

    def test_a_new_file_is_for_its_owner_only(self):
        """As the trace is; whoever wants to share it says so once."""
        self.make("lines")
        self.addCleanup(os.umask, os.umask(0o022))
        for name, path in (("html", "x"), ("folded", "y"), ("csv", "out/calls.csv")):
            self.export("--to", name, "-o", self.path("out" if name == "csv" else path))
            self.assertEqual(os.stat(self.path(path)).st_mode & 0o777, 0o600, name)
            os.chmod(self.path(path), 0o640)
            self.export("--to", name, "-o", self.path("out" if name == "csv" else path))
            self.assertEqual(os.stat(self.path(path)).st_mode & 0o777, 0o640, name)

    def test_a_full_disk_is_the_outputs(self):
        self.make("lines")
        for name in ("html", "perfetto", "folded", "openmetrics", "svg"):
            self.assertEqual(self.export("--to", name, "-o", "/dev/full", status=3).err,
                             "gpuverify: cannot write /dev/full: No space left on device\n")

    def test_nothing_half_written_is_left(self):
        self.make("lines", "INSERT INTO call (id, thread, api, start_ns, duration_ns, result) WITH RECURSIVE n(i) AS (SELECT 10000"
                  " UNION ALL SELECT i + 1 FROM n WHERE i < 600000) SELECT i, 1, 1, 20000000000 + 10 * i, 5, 0 FROM n")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            export = self.start([harness.gpuverify(), "export", self.path("trace.db"), "--to", "perfetto", "-o", self.path("x")],
                                preload=False, stdout=subprocess.DEVNULL,
                                preexec_fn=lambda number=number: signal.signal(number, signal.SIG_DFL))  # nohup ignores SIGHUP
            harness.wait_for(lambda: len(os.listdir(self.dir)) > 1, "the file that is being written")
            export.send_signal(number)
            export.communicate(timeout=harness.SOON_S)
            self.assertEqual((export.returncode, os.listdir(self.dir)), (-number, ["trace.db"]))
        subprocess.run(["bash", "-c", 'ulimit -c 0 -f 8; exec "$0" export "$1" --to html -o "$2"', harness.gpuverify(),
                        self.path("trace.db"), self.path("x.html")], check=False, stderr=subprocess.DEVNULL)
        self.assertEqual(os.listdir(self.dir), ["trace.db"])


class Csv(Exported):
    def views(self):
        return re.findall(r"^(\w+): ", self.command("schema", sim=False).out, re.M)

    def read(self, view):
        with open(self.path(f"out/{view}.csv"), encoding="utf-8", newline="") as file:
            return list(csv.reader(file))

    def check(self, *views):
        """Each view has its file, and these (default: all) the same rows as a query has."""
        every = self.views()
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(view + ".csv" for view in every))
        for view in views or every:
            head, *rows = self.read(view)
            wanted = json.loads(self.command("query", self.path("trace.db"), f"SELECT * FROM {view}", "--format", "json",
                                             sim=False).out)
            self.assertEqual(len(rows), len(wanted), view)
            for row, want in zip(rows, wanted):
                self.assertEqual(head, list(want), view)
                for found, value in zip(row, want.values()):
                    if isinstance(value, (int, float)):
                        self.assertEqual(float(found), value, view)
                    elif value is None:
                        self.assertEqual(found, "", view)

    def test_a_file_for_each_view(self):
        for source in ("add", "starved"):
            self.make(source)
            self.export("--to", "csv", "-o", self.path("out"))
            self.check()

    def test_hostile_texts_stay_in_their_fields(self):
        for name in HOSTILE:
            self.make("lines", f"UPDATE gpu_name SET name = {name}", f"UPDATE frame SET function = {name}")
            self.export("--to", "csv", "-o", self.path("out"))
            self.check("kernel_summary", "frames")

    def test_only_its_own_files_are_overwritten(self):
        self.make("lines")
        os.mkdir(self.path("out"))
        self.write("out/notes.txt", "mine\n")
        self.write("out/stalls.csv", "mine\n")
        self.assertIn("stalls.csv exists, and is not an earlier export as csv",
                      self.export("--to", "csv", "-o", self.path("out"), status=3).err)
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["notes.txt", "stalls.csv"])
        self.export("--to", "csv", "-o", self.path("out"), "--force")
        self.assertIn("notes.txt", os.listdir(self.path("out")))

    def test_wrong_use(self):
        self.make("lines")
        self.assertIn("needs -o FOLDER", self.export("--to", "csv", status=2).err)
        self.assertIn("needs -o FOLDER", self.export("--to", "csv", "-o", "-", status=2).err)
        self.assertIn("have no effect", self.export("--to", "csv", "-o", "x", "--of", "idle", status=2).err)
        self.assertIn("Not a directory", self.export("--to", "csv", "-o", self.path("trace.db"), status=3).err)
        self.assertIn("cannot make", self.export("--to", "csv", "-o", self.path("no/where"), status=3).err)
