"""gpuverify mcp: the commands as tools for agents. The official SDK's client talks to it over stdio; tests/agent_evaluation.py has more."""

import csv
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import unittest

import harness
from test_python_package import OWN_SITE, PACKAGE

sys.path[:0] = [os.path.join(harness.SOURCE, "tests"), OWN_SITE]
try:
    import mcp_client  # noqa: E402
except ImportError:  # none, or one that does not go with this Python's own packages
    mcp_client = None
finally:
    sys.path[:2] = []
sys.path.append(OWN_SITE)  # for what the SDK imports later

SERVER = mcp_client and mcp_client.environment(harness.SOURCE, harness.BUILD, OWN_SITE)
TOOLS = ["check", "diff", "explain", "findings", "ledger", "look", "query", "run", "stalls", "summary"]
LIMIT = 4096
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


class Without(harness.Case):
    def test_it_says_what_to_install(self):
        self.write("mcp.py", "raise ImportError('no SDK')")  # in the working folder, so it is not read
        python = {"GPUVERIFY_PYTHON": sys.executable}
        said = self.command("mcp", status=3, env={**python, "PYTHONPATH": self.path("nowhere")}).err
        self.assertRegex(said, "needs gpuverify's Python package, which .* does not have")
        blocked = self.path("blocked")
        os.mkdir(blocked)
        self.write("blocked/mcp.py", "raise ImportError('no SDK')")
        said = self.command("mcp", status=3, env={**python, "PYTHONPATH": os.pathsep.join([blocked, PACKAGE])}).err
        self.assertRegex(said, r"^gpuverify: \S+ cannot serve agents: no SDK; pip install 'mcp>=2'\n$")

    def test_wrong_use(self):
        self.assertIn("usage: gpuverify mcp", self.command("mcp", "x", status=2).err)
        self.assertIn("usage: gpuverify mcp", self.command("mcp", "--seconds", "x", status=2).err)


@unittest.skipUnless(mcp_client, "Python's package mcp is not installed: scripts/setup all")
class Tools(harness.Case):
    gpu = "auto"

    def agent(self, *words, **changes):
        environment = {**self.environment(preload=False, GPUVERIFY_TRACE=None), **SERVER, **changes}
        return mcp_client.Agent([harness.gpuverify(), "mcp", *words], environment, self.dir)

    def record(self, agent, name, *words):
        return agent.call("run", program=[harness.workload("load_in_loop"), *words], trace=name)

    def test_from_a_program_to_what_changed(self):
        with self.agent() as agent:
            tools = agent.tools()
            self.assertEqual(sorted(tools), TOOLS)
            with open(os.path.join(harness.SOURCE, "docs", "agents.md"), encoding="utf-8") as page:
                rows = re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", page.read().partition("## Tools")[2].partition("## ")[0])
            self.assertEqual({name: re.findall(r"`(\w+)`", words) for name, words in rows},
                             {name: list(tool.input_schema["properties"]) for name, tool in tools.items()})
            self.assertEqual([name for name, tool in tools.items() if not tool.annotations.read_only_hint], ["run"])
            said = self.record(agent, "slow.db", "6")
            self.assertRegex(said, r"^exit code 0\n6 frames in .*\n\ngpuverify: load_in_loop ran ")
            self.assertIn("trace: slow.db", said)
            self.record(agent, "fast.db", "2")
            self.assertIn("load_in_loop.c:", agent.call("summary", trace="slow.db"))
            self.assertIn("spin", agent.call("summary", trace="slow.db", section="kernels"))
            self.assertRegex(agent.call("findings", trace="slow.db"), r"^finding,what,lost_ns,.*\nf1,")
            self.assertRegex(agent.call("explain", trace="slow.db"), "^finding f1 ")
            self.assertRegex(agent.call("ledger", trace="slow.db"), r"(?m)^1,0,main,kernel,")
            stall = agent.call("stalls", trace="slow.db", cause="module-load", top=1)
            name = re.search(r"(?m)^(s\d+) .* module-load ", stall)[1]
            self.assertRegex(agent.call("explain", trace="slow.db", name=name), f"^stall {name} ")
            self.assertRegex(agent.call("diff", before="slow.db", after="fast.db"), r"(?m)^launches +6 +2 +-4 ")
            rules = ["max-stall 10ms", "min-launches 1"]
            self.assertRegex(agent.call("check", trace="slow.db", rules=rules), r"(?s)^broken: max-stall.*2 rules: 1 broken")
            self.assertLessEqual(len(agent.call("look", seconds=1).encode()), LIMIT)

    def test_what_goes_wrong_is_said(self):
        with self.agent() as agent:
            for tool, words, said in (
                    ("summary", {"trace": "none.db"}, "none.db"),
                    ("summary", {"trace": "--help"}, "'--help' begins with '-'"),
                    ("run", {"program": ["touch", "made"], "trace": "-a.db"}, "'-a.db' begins with '-'"),
                    ("run", {"program": []}, "usage: gpuverify run"),
                    ("run", {"program": ["no-such-program"]}, "exit code 127"),
                    ("check", {"trace": "none.db", "rules": ["update yes"]}, "unknown rule 'update'"),
                    ("look", {"pid": 1 << 40}, ""),
                    ("diff", {"before": "a\0b", "after": "c"}, "null byte")):
                answer, is_error = agent.ask(tool, **words)
                self.assertIn(said, answer, tool)
                self.assertEqual(is_error, tool != "run" or "trace" in words, answer)
        self.assertFalse(os.path.exists(self.path("made")))

    def test_no_shell_and_no_options(self):
        with self.agent() as agent:
            said = agent.call("run", program=["/bin/echo", "; touch made", "$(touch made)", "--output=made"])
            self.assertIn("; touch made $(touch made) --output=made", said)
            self.record(agent, "a.db", "2")
            for rule in ("accept made", "update", "junit made", "max-stall 1ms --junit made", "rules made"):
                agent.ask("check", trace="a.db", rules=[rule])
            agent.ask("stalls", trace="a.db", cause="x --format csv")
        self.assertFalse(os.path.exists(self.path("made")))

    def test_a_query_only_reads_and_ends(self):
        with self.agent() as agent:
            self.record(agent, "a.db", "2")
            for sql in ("DELETE FROM call", "ATTACH 'made' AS m", "PRAGMA query_only = OFF", "SELECT 1; SELECT 2",
                        "SELECT load_extension('x')"):
                answer, is_error = agent.ask("query", trace="a.db", sql=sql)
                self.assertTrue(is_error, answer)
            self.assertFalse(os.path.exists(self.path("made")))
            answer = agent.call("query", trace="a.db", sql=ENDLESS + "i FROM n", rows=3)
            self.assertRegex(answer, r"^i\n1\n2\n3\n\.\.\. all of it: gpuverify query --format=csv a.db 'WITH ")
            answer = agent.call("query", trace="a.db", sql=ENDLESS + "i FROM n", rows=10**9)
            self.assertEqual(shlex.split(answer.splitlines()[-1])[:5], ["...", "all", "of", "it:", "gpuverify"])
            self.assertTrue(LIMIT - 64 < len(answer.encode()) <= LIMIT, len(answer))
            answer = agent.call("query", trace="a.db", sql="SELECT printf('%.*c', 9000, 'ä') AS one_line")
            self.assertLessEqual(len(answer.encode()), LIMIT)
            answer, is_error = agent.ask("query", trace="a.db", sql="SELECT nosuch FROM in_flight")
            self.assertTrue(is_error)
            self.assertRegex(answer, r"(?s)no such column: nosuch.*\nviews: calls, .*\n\nin_flight: ")
            answer, is_error = agent.ask("query", trace="a.db", sql="SELECT nosuch FROM calls, gpu_ops, stalls, idle, steps, findings")
            self.assertLessEqual(len(answer.encode()), LIMIT)

    @harness.depends_on_time("it waits until a query's time is over")
    def test_a_query_without_rows_ends(self):
        with self.agent() as agent:
            self.record(agent, "a.db", "2")
            answer, is_error = agent.ask("query", trace="a.db", sql=ENDLESS + "count(*) FROM n")
            self.assertRegex(answer, "no answer within 20 s, so it was ended")
            self.assertTrue(is_error)

    def test_views_are_described(self):
        with self.agent() as agent:
            found = agent.resources()
            described = self.command("schema").out
            self.assertEqual("\n\n".join(agent.read(uri) for uri in found).strip(), described.strip())
            self.assertIn("gpuverify://views/stalls", found)

    def test_run_can_be_switched_off(self):
        with self.agent("--no-run") as agent:
            self.assertEqual(sorted(agent.tools()), [name for name in TOOLS if name != "run"])
            answer, is_error = agent.ask("run", program=["true"])
            self.assertTrue(is_error, answer)

    def test_run_has_a_limit(self):
        """What was recorded until then is shown; a program that ignores SIGTERM ends too, with what it started."""
        with self.agent("--seconds", "2") as agent:
            said = self.record(agent, "a.db", "1000")
            self.assertRegex(said, r"^exit code \S+; it was ended after 2 s, the limit")
            self.assertIn("gpuverify: load_in_loop ran ", said)
            said = agent.call("run", program=["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
            self.assertRegex(said, r"^exit code -9; it was ended after 2 s, the limit")

    def test_the_end_of_a_long_output_is_shown(self):
        with self.agent() as agent:
            said = agent.call("run", program=["sh", "-c", "i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done; exit 3"])
            self.assertLessEqual(len(said.encode()), LIMIT)
            self.assertRegex(said, r"^exit code 3; this is the end of its output\nline \d+\n")
            self.assertIn("\nline 1999\n", said)
            for ending in ("", "; kill -9 $PPID"):  # with a summary, and without
                said = agent.call("run", program=["sh", "-c", "printf %5000s | tr ' ' x; printf done" + ending])
                self.assertLessEqual(len(said.encode()), LIMIT)
                self.assertRegex(said, r"^exit code \S+; this is the end of its output\n\.\.\.x{1000,}done")

    def test_a_refusal_of_any_length_is_one(self):
        with self.agent() as agent:
            answer, is_error = agent.ask("summary", trace="x" * 5000)
            self.assertTrue(is_error, answer)
            self.assertLessEqual(len(answer.encode()), LIMIT)

    def test_an_answer_is_never_longer(self):
        """Also if the command that prints all of it is, or its bytes are no UTF-8; the rows come first."""
        with self.agent() as agent:
            self.record(agent, "a.db", "1")
            answer = agent.call("query", trace="a.db", sql=ENDLESS + "i FROM n" + " " * 6000, rows=10**9)
            self.assertRegex(answer, r"(?s)^i\n1\n2\n.*\n\.\.\. all of it: gpuverify query in a shell, with the same arguments$")
            self.assertTrue(LIMIT // 2 < len(answer.encode()) <= LIMIT, len(answer))
            answer = agent.call("query", trace="a.db", sql=f"SELECT CAST(x'{'80' * 3000}' AS TEXT) AS t")
            self.assertRegex(answer, r"^t\n")
            self.assertLessEqual(len(answer.encode()), LIMIT)

    def test_rows_are_counted(self):
        """Not lines: a value may have newlines, and what the command says beside them is no row."""
        os.mkdir(self.path("job"))
        for rank in (0, 1):
            job = {"RANK": rank, "WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "job", "GPUVERIFY_TRACE": self.path(f"job/{rank}.db")}
            self.run_well([harness.workload("load_in_loop"), "1"], env=job)
        self.settle()
        with self.agent() as agent:
            self.record(agent, "a.db", "1")
            sql = "WITH n(i) AS (VALUES (1), (2), (3)) SELECT i, printf('a%s\"b%sc', char(10), char(10)) AS text FROM n"
            answer = agent.call("query", trace="a.db", sql=sql, rows=2)
            rows, _, rest = answer.partition("... all of it: ")
            self.assertTrue(rest, answer)
            self.assertEqual(list(csv.reader(rows.splitlines(keepends=True))),
                             [["i", "text"], ["1", 'a\n"b\nc'], ["2", 'a\n"b\nc']])
            self.assertNotIn("all of it", agent.call("query", trace="a.db", sql=sql, rows=3))
            answer = agent.call("query", trace="a.db", sql=ENDLESS + "i, printf('a%sb', char(10)) AS text FROM n", rows=10**9)
            rows = answer.partition("\n... all of it: ")[0]
            self.assertEqual(list(csv.reader(rows.splitlines(keepends=True), strict=True))[-1][1], "a\nb")
            answer = agent.call("query", trace="job", sql="SELECT 1 AS one", rows=1)
            self.assertRegex(answer, r"^one\n1\ngpuverify: merging 2 traces for this command; [^\n]*$")
            self.assertRegex(agent.call("findings", trace="job"), r"^finding,what,")

    def test_the_command_that_checks_all_rules(self):
        """Nothing that it names is gone."""
        with self.agent() as agent:
            self.record(agent, "a.db", "2")
            rules = ["max-stall 1ns", "require-kernel it's", *["max-stall 1ns"] * 40]
            answer = agent.call("check", trace="a.db", rules=rules)
            self.assertLessEqual(len(answer.encode()), LIMIT)
            said, _, shown = answer.rpartition("\n... all of it: ")
            done = self.run_program(["sh", "-c", shown], preload=False,
                                    env={"PATH": os.path.dirname(harness.gpuverify()) + ":/usr/bin:/bin"})
            self.assertEqual((done.status, done.out[:len(said)]), (1, said), shown)
            self.assertRegex(done.out, r"\n42 rules: \d+ broken")
            self.assertRegex(agent.call("check", trace="a.db", rules=[*rules, *["min-launches 1"] * 100]),
                             r"\n\.\.\. all of it: gpuverify check in a shell, with the same arguments$")

    def test_a_query_may_begin_with_a_comment(self):
        with self.agent() as agent:
            self.record(agent, "a.db", "1")
            self.assertEqual(agent.call("query", trace="a.db", sql="-- how many?\nSELECT 1 AS one"), "one\n1\n")
            self.assertEqual(agent.ask("query", trace="a.db", sql="--list")[1], True)
            self.assertRegex(agent.call("query", trace="a.db", sql="SELECT 1 AS one", rows=-1), r"^one\n\.\.\. all of it: ")

    def test_what_a_program_leaves_behind_is_not_waited_for(self):
        with self.agent("--seconds", "1000") as agent:
            self.assertRegex(agent.call("run", program=["sh", "-c", "yes & echo hi"]), "^exit code 0; this is the end of its output\ny\n")

    def test_nothing_goes_on_when_the_agent_leaves(self):
        for leave, code in ((lambda server: server.send_signal(signal.SIGTERM), 128 + signal.SIGTERM),
                            (lambda server: server.kill(), -signal.SIGKILL),
                            (lambda server: server.stdin.close(), 0)):
            with self.subTest(code):
                self.leave(leave, code)

    def test_an_agent_that_does_not_read(self):
        server = self.start([harness.gpuverify(), "mcp"], preload=False, stdin=subprocess.PIPE, env=SERVER)
        server.stdout.close()
        server.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
                           b'"capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}\n')
        server.stdin.flush()
        self.assertEqual(server.wait(harness.SOON_S), 128 + signal.SIGPIPE)
        self.assertEqual(server.stderr.read(), b"")

    def test_a_cancelled_request_ends(self):
        with self.agent() as agent:
            self.record(agent, "a.db", "1")
        query = {"trace": "a.db", "sql": ENDLESS + "count(*) FROM n"}
        for tool, words in (("run", {"program": ["sh", "-c", "echo $$ > pid; exec sleep 1000"]}), ("query", query)):
            with self.subTest(tool):
                server = self.serve()
                self.send(server, id=2, method="tools/call", params={"name": tool, "arguments": words})
                pid = self.pid() if tool == "run" else harness.wait_for(lambda: running(server.pid, "query"), "its start")  # noqa: B023
                self.send(server, method="notifications/cancelled", params={"requestId": 2})
                harness.wait_for(lambda: harness.is_dead(pid), "its end", 10)  # noqa: B023
                self.send(server, id=3, method="ping")
                self.assertEqual([json.loads(server.stdout.readline())["id"] for _ in "12"], [1, 3])
                server.stdin.close()
                self.assertEqual(server.wait(harness.SOON_S), 0)

    def test_no_rules_are_left_behind(self):
        with self.agent() as agent:
            self.record(agent, "a.db", "2")
        os.mkdir(self.path("empty"))
        server = self.serve(TMPDIR=self.path("empty"))
        self.send(server, id=2, method="tools/call",
                  params={"name": "check", "arguments": {"trace": "a.db", "rules": ["max-stall 1ns"] * 20000}})
        harness.wait_for(lambda: running(server.pid, "check"), "its start")
        server.terminate()
        self.assertEqual(server.wait(harness.SOON_S), 128 + signal.SIGTERM)
        self.assertEqual(os.listdir(self.path("empty")), [])

    def test_without_a_client(self):
        for closed in ("<&-", ">&-"):
            done = self.run_program(["sh", "-c", f'exec "$0" mcp {closed}', harness.gpuverify()], preload=False, env=SERVER)
            self.assertEqual((done.status, done.err), (3, "gpuverify: mcp talks to its client over standard input and output: "
                                                          "one of them is closed\n"), closed)

    def serve(self, **changes):
        server = self.start([harness.gpuverify(), "mcp"], preload=False, stdin=subprocess.PIPE, env={**SERVER, **changes})
        self.send(server, id=1, method="initialize", params={"protocolVersion": "2025-06-18", "capabilities": {},
                                                             "clientInfo": {"name": "x", "version": "1"}})
        self.send(server, method="notifications/initialized")
        return server

    def send(self, server, **message):
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        server.stdin.flush()

    def pid(self):
        """Of a program that writes it."""
        return int(harness.wait_for(lambda: os.path.exists(self.path("pid")) and open(self.path("pid")).read(), "the program's start"))

    def leave(self, leave, code):
        if os.path.exists(self.path("pid")):
            os.unlink(self.path("pid"))
        server = self.serve()
        self.send(server, id=2, method="tools/call",
                  params={"name": "run", "arguments": {"program": ["sh", "-c", "echo $$ > pid; exec sleep 1000"]}})
        pid = self.pid()
        leave(server)
        self.assertEqual(server.wait(harness.SOON_S), code)
        harness.wait_for(lambda: harness.is_dead(pid), "the program's end")


def running(server, name):
    """The process of a command that the server waits for."""
    for task in os.listdir(f"/proc/{server}/task"):
        with open(f"/proc/{server}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                if name in harness.command_line(int(child)):
                    return int(child)
    return None
