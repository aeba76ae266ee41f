"""Metrics for Prometheus: export --to openmetrics, and gpuverify metrics beside a program. What they say is read with
Prometheus' own client, whose parser of OpenMetrics is strict."""

import errno
import importlib
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

import harness
import stored

SITES = os.path.join(harness.SOURCE, ".venv", f"lib/python{sys.version_info.major}.{sys.version_info.minor}", "site-packages")
try:
    sys.path.append(SITES)
    openmetrics = importlib.import_module("prometheus_client.openmetrics.parser")
except ImportError:
    openmetrics = None
finally:
    sys.path.remove(SITES)
PROGRAM = harness.program("controlled")
NAME = re.compile(r'^GV_METRIC\(\w+, \w+, (\w+), "(\w+)"', re.M)
# While the program runs; the analysis of the whole trace decides.
GUESSED = ("gpuverify_idle_seconds_total", "gpuverify_stall_seconds_total", "gpuverify_stalls_total")
SUFFIX = {"counter": "_total", "info": "_info", "gauge": ""}
# Names that could break a line of the format, or bring another one.
HOSTILE = ("'a\"b\\c' || char(10) || 'gpuverify_stalls_total 9'", "'}  1'", "CAST(x'66ff80' AS TEXT)", "char(27) || '[31m'", "''",
           "printf('%.*c', 10000, 'x')", "char(1114109)", "char(8232) || char(133) || char(13)")


def read(text):
    """{name: {labels: value}} of a text in OpenMetrics' format; each of its rules is checked."""
    families = list(openmetrics.text_string_to_metric_families(text))
    found = {}
    for family in families:
        for sample in family.samples:
            labels = tuple(sorted(sample.labels.items()))
            assert labels not in found.setdefault(sample.name, {}), sample
            found[sample.name][labels] = sample.value
    return found


def total(found, name, **labels):
    return sum(value for key, value in found.get(name, {}).items() if set(labels.items()) <= set(key))


@unittest.skipUnless(openmetrics, "Python's package prometheus_client is needed: scripts/setup installs it")
class Metrics(harness.Case):
    gpu = "on"

    def make(self, source, *changes):
        stored.make_anew(source, self.path("trace.db"), *changes)

    def once(self, path=None):
        return read(self.command("export", path or self.path("trace.db"), "--to", "openmetrics", sim=False).out)

    def query(self, sql, path=None):
        return float(self.command("query", path or self.path("trace.db"), "--value", sql, sim=False).out or 0)

    def serve(self, *words, **env):
        """The server, and what asks it."""
        server = self.start([harness.gpuverify(), "metrics", "--listen", "127.0.0.1:0", *words], preload=False,
                            env={"TMPDIR": self.path(""), **env}, text=True)
        line = server.stdout.readline()
        self.assertRegex(line, r"^metrics of .* at http://127\.0\.0\.1:\d+/metrics\n$")
        self.port = int(line.rsplit(":", 1)[1].split("/")[0])
        return server

    def ask(self, path="/metrics", method="GET"):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method)
        with urllib.request.urlopen(request, timeout=harness.SOON_S) as answer:
            self.assertEqual(answer.headers["Content-Type"], "application/openmetrics-text; version=1.0.0; charset=utf-8")
            return answer.read().decode()

    def stop(self, server):
        """It ends when asked to, and leaves nothing."""
        server.send_signal(signal.SIGTERM)
        out, err = server.communicate(timeout=harness.SOON_S)
        self.assertEqual((server.returncode, out), (0, ""), err)
        self.assertEqual([name for name in os.listdir(self.path("")) if "metrics" in name], [])
        return err


class Once(Metrics):
    def test_the_sums_are_those_of_the_views(self):
        for source in ("lazy_launch", "starved", "lines", "add"):
            self.make(source)
            found = self.once()
            for name, labels, sql in (
                    ("gpuverify_stall_seconds_total", {}, "total(wait_ns + jit_ns) / 1e9 FROM stalls WHERE NOT expected"),
                    ("gpuverify_stalls_total", {}, "count(*) FROM stalls WHERE NOT expected"),
                    ("gpuverify_idle_seconds_total", {}, "total(duration_ns) / 1e9 FROM idle"),
                    ("gpuverify_calls_total", {}, "total(count) FROM calls"),
                    ("gpuverify_calls_total", {"class": "launch"}, "total(count) FROM calls WHERE class = 'launch'"),
                    ("gpuverify_loads_total", {}, "count(*) FROM loads"),
                    ("gpuverify_lost_records_total", {}, "total(count) FROM losses")):
                self.assertAlmostEqual(total(found, name, **labels), self.query("SELECT " + sql), 6, (source, name))

    def test_stalls_have_their_line(self):
        self.make("lazy_launch")
        lines = [dict(key)["line"] for key in self.once()["gpuverify_stalls_total"]]
        self.assertTrue(any(re.match(r"\S+:\d+", line) for line in lines), lines)

    def test_older_time_counts_too(self):
        self.make("days")
        older = self.query("SELECT total(total_ns) / 1e9 FROM minutes WHERE what = 'stall'")
        found = self.once()
        self.assertGreater(total(found, "gpuverify_stall_seconds_total", line="older"), 0)
        self.assertAlmostEqual(total(found, "gpuverify_stall_seconds_total"), older, 3)
        self.assertEqual(total(found, "gpuverify_calls_total", **{"class": "launch"}), 259200010)
        self.assertEqual(total(found, "gpuverify_launches_total", work="kernel"), 259200010)
        self.assertEqual(total(found, "gpuverify_gpu_seen_seconds_total", gpu="GPU-1"), 259800)

    def test_hostile_names(self):
        for name in HOSTILE:
            self.make("lazy_launch", f"UPDATE frame SET function = {name}, file = {name}", f"UPDATE api SET class = {name}",
                      f"UPDATE device SET name = {name}, uuid = {name}", f"UPDATE load SET kind = {name}",
                      f"UPDATE meta SET value = {name} WHERE key = 'program'")
            found = self.once()
            self.assertEqual(total(found, "gpuverify_stalls_total"), self.query("SELECT count(*) FROM stalls WHERE NOT expected"))
            for samples in found.values():
                for labels in samples:
                    self.assertTrue(all(len(value) <= 200 for _, value in labels), labels)

    def test_many_names_are_few_series(self):
        self.make("add", "INSERT INTO api (id, name, class) WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n"
                  " WHERE i < 2999) SELECT 5000 + i, 'f' || i, 'class ' || i FROM n",
                  "INSERT INTO call (id, thread, api, start_ns, duration_ns, result)"
                  " SELECT 100000 + id, 1, id, 1000, 10 + id, 0 FROM api WHERE id >= 5000", "DELETE FROM meta WHERE key = 'totals'")
        classes = self.once()["gpuverify_calls_total"]
        self.assertLessEqual(len(classes), 201)
        self.assertGreater(classes[(("class", "others"),)], 2500)
        self.assertEqual(sum(classes.values()), self.query("SELECT total(count) FROM calls"))


class Live(Metrics):
    def begin(self, **env):
        process = self.start([PROGRAM, "wait"], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")  # 20 launches
        return process

    def launches(self):
        return total(read(self.ask()), "gpuverify_launches_total", work="kernel")

    @harness.depends_on_time("the newest seconds of a trace are analysed a few seconds later")
    def test_beside_a_program(self):
        process = self.begin()
        server = self.serve("--interval", "1s", self.path("trace.db"))
        try:
            self.ask()
        except urllib.error.HTTPError as error:  # nothing is analysed yet
            self.assertEqual(error.code, 503)
        last = {}

        def reached(count):
            try:
                found = read(self.ask())
            except urllib.error.HTTPError:
                return False
            for name, samples in found.items():
                for labels, value in samples.items() if name.endswith("_total") else ():
                    self.assertGreaterEqual(value, last.get((name, labels), 0), (name, labels))
                    last[name, labels] = value
            return total(found, "gpuverify_launches_total", work="kernel") == count

        harness.wait_for(lambda: reached(20), "the first launches")
        process.stdin.write("\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")  # 3 launches
        harness.wait_for(lambda: reached(23), "the later launches")
        process.stdin.close()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()
        process.stderr.close()
        harness.wait_for(lambda: total(read(self.ask()), "gpuverify_running_processes") == 0, "the end")
        at_end = read(self.ask())
        self.assertEqual(self.stop(server), "")
        self.trace()
        once = self.once()
        for name in once.keys() - {"gpuverify_analysed_timestamp_seconds", *GUESSED}:
            for labels in once[name]:
                self.assertAlmostEqual(at_end[name].get(labels, 0), once[name][labels], 3, (name, labels))
        self.assertAlmostEqual(total(at_end, GUESSED[0]), total(once, GUESSED[0]), 1)

    def test_a_collector_after_a_killed_one_counts_on(self):
        process = self.begin()
        server = self.serve("--interval", "1s", self.path("trace.db"))
        harness.wait_for(lambda: "gpuverify_launches_total" in self.text_or_nothing() and self.launches() == 20, "the first launches")
        os.kill(self.await_collector(), signal.SIGKILL)
        self.assertEqual(self.launches(), 20)
        process.stdin.write("\n")
        process.stdin.close()
        self.assertEqual(process.wait(harness.SOON_S), 0)
        process.stdout.close()
        process.stderr.close()
        self.command("recover", self.spool)
        self.stop(server)

    def test_of_a_process_number(self):
        process = self.start([harness.program("flood"), "1", "1"], stdin=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        server = self.serve("--interval", "10min", str(process.pid))  # the first sums do not wait for it
        harness.wait_for(lambda: "run_info" in self.text_or_nothing(), "the first sums")
        process.communicate("\n", timeout=harness.PROGRAM_S)
        self.assertEqual(process.returncode, 0)
        self.stop(server)

    def text_or_nothing(self):
        try:
            return self.ask()
        except urllib.error.HTTPError:
            return ""


class Http(Metrics):
    def test_the_trace_is_served_as_it_is_exported(self):
        self.make("starved")
        server = self.serve(self.path("trace.db"))
        for path in ("/metrics", "/metrics?name=x"):
            self.assertEqual(self.ask(path), self.command("export", self.path("trace.db"), "--to", "openmetrics", sim=False).out)
        for path, method, code in (("/", "GET", 404), ("/metricsx", "GET", 404), ("/metrics", "POST", 405), ("/x", "HEAD", 404)):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.ask(path, method)
            self.assertEqual(refused.exception.code, code)
            refused.exception.close()
        for path in ("/metrics", "/x"):  # with the length of what GET answers
            told, asked = self.send(f"HEAD {path} HTTP/1.1\r\n\r\n".encode(), -1), self.send(f"GET {path} HTTP/1.1\r\n\r\n".encode(), -1)
            self.assertEqual(told, asked.split("\r\n\r\n")[0] + "\r\n\r\n")
        self.stop(server)

    def send(self, data, lines=1):
        """The first line of the answer to raw bytes, or all of it."""
        with socket.create_connection(("127.0.0.1", self.port), harness.SOON_S) as client:
            client.sendall(data)
            answer = client.makefile("rb")
            return answer.readline().decode().strip() if lines == 1 else answer.read().decode()

    def test_anything_else_is_refused(self):
        self.make("add")
        server = self.serve(self.path("trace.db"))
        for data, answer in ((b"GET /metrics HTTP/1.1\r\n\r\n", "200 OK"), (b"GET /metrics HTTP/1.0\n\n", "200 OK"),
                             (b"GET /metrics\r\n\r\n", "400 Bad Request"), (b"\0" * 20, "400 Bad Request"),
                             (b"\r\n\r\n", "400 Bad Request"), (b"GET /../etc/passwd HTTP/1.1\r\n\r\n", "404 Not Found"),
                             (b"GET /metrics HTTP/1.1\r\n" + b"x: y\r\n" * 5000, "431 Request Header Fields Too Large")):
            self.assertEqual(self.send(data), "HTTP/1.1 " + answer)
        self.stop(server)

    def test_slow_clients_hold_nobody_up(self):
        self.make("add")
        server = self.serve(self.path("trace.db"))
        slow = []
        for number in range(100):
            client = socket.create_connection(("127.0.0.1", self.port), harness.SOON_S)
            client.sendall((b"G", b"GET /metrics HTTP/1.1\r\n", b"GET /metrics HTTP/1.1\r\n\r\n")[number % 3])
            slow.append(client)
            if number % 10 == 0:
                self.assertIn("# EOF", self.ask())
        started = time.monotonic()
        self.assertIn("# EOF", self.ask())
        self.assertLess(time.monotonic() - started, 5 * harness.SLOWER)
        for client in slow:
            client.close()
        self.stop(server)

    def test_no_descriptor_left_is_no_busy_loop(self):
        self.make("add")
        server = self.serve(self.path("trace.db"))
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (18, 18))  # poll() takes no more places than that
        slow = [socket.create_connection(("127.0.0.1", self.port), harness.SOON_S) for _ in range(20)]

        def cpu_s():
            with open(f"/proc/{server.pid}/stat", encoding="utf-8") as file:
                return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")

        before = cpu_s()
        time.sleep(1)
        self.assertLess(cpu_s() - before, 0.1)
        for client in slow:
            client.close()
        self.stop(server)

    def test_listens_at_both_loopbacks(self):
        families = [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
        for family, host in tuple(families):
            with socket.socket(family) as own:
                own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    own.bind((host, 19400))
                except OSError as why:
                    if why.errno == errno.EADDRINUSE:
                        self.skipTest("something else listens there")
                    families.remove((family, host))  # a container without IPv6
        self.make("add")
        server = self.start([harness.gpuverify(), "metrics", self.path("trace.db")], preload=False,
                            env={"TMPDIR": self.path("")}, text=True)
        self.assertIn(" at http://localhost:19400/metrics\n", server.stdout.readline())
        for _, host in families:
            with socket.create_connection((host, 19400), harness.SOON_S) as client:
                client.sendall(b"GET /metrics HTTP/1.1\r\n\r\n")
                self.assertEqual(client.makefile("rb").readline(), b"HTTP/1.1 200 OK\r\n", host)
        again = self.command("metrics", self.path("trace.db"), status=3, sim=False)
        self.assertIn("cannot listen at localhost:19400: Address already in use", again.err)
        self.stop(server)

    def test_wrong_use(self):
        self.make("add")
        for address in ("9400", "localhost:9400", "[::1]", "1.2.3:9400", "127.0.0.1:99999", "127.0.0.1:-1", "::1:9400", ":9400"):
            result = self.command("metrics", "--listen", address, self.path("trace.db"), status=2, sim=False)
            self.assertIn("needs an IP address and a port", result.err)
        self.assertIn("cannot listen", self.command("metrics", "--listen", "192.0.2.1:9400", self.path("trace.db"), status=3,
                                                    sim=False).err)
        self.assertIn("1s to 10min", self.command("metrics", "--interval", "1ms", self.path("trace.db"), status=2, sim=False).err)
        self.write("no.db", "text\n")
        self.assertIn("not a gpuverify trace", self.command("metrics", self.path("no.db"), status=3, sim=False).err)
        self.command("metrics", self.path("none.db"), status=3, sim=False)


class Docs(harness.Case):
    def names(self):
        with open(os.path.join(harness.SOURCE, "report/commands/metrics/metrics.def"), encoding="utf-8") as table:
            return {name + SUFFIX[kind] for kind, name in NAME.findall(table.read())}

    def test_the_dashboard_asks_for_metrics_that_exist(self):
        with open(os.path.join(harness.SOURCE, "docs/grafana.json"), encoding="utf-8") as file:
            board = json.load(file)
        asked = [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]
        self.assertGreater(len(asked), 5)
        found = {name for expression in asked for name in re.findall(r"gpuverify_\w+", expression)}
        self.assertLessEqual(found, self.names())
        self.assertEqual(len({panel["id"] for panel in board["panels"]}), len(board["panels"]))

    def test_the_page_lists_them_all(self):
        with open(os.path.join(harness.SOURCE, "docs/metrics.md"), encoding="utf-8") as file:
            listed = re.findall(r"^\| `(gpuverify_\w+)", file.read(), re.M)
        self.assertEqual(sorted(listed), sorted(self.names()))
