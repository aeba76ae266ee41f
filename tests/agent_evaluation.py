#!/usr/bin/env python3
"""Can an agent that has only the tools of `gpuverify mcp` name what is slow, and prove the fix? tests/agent_evaluation.py BUILD [NAME...]

It reads each simulated program of tests/programs/sim as an agent would: it runs it, takes the first finding for the cause, runs the fixed
twin (FIX=1), and asks diff whether the finding went away. Cause and line are compared with the truth in the program's head, which no tool
sees. It fails if more than one of the programs is named wrongly. One that was named wrongly while others took its CPU, as it says itself,
runs once more.
"""

import csv
import io
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "programs"))
import known_flaws  # noqa: E402

try:
    import mcp_client
except ImportError as why:
    print(f"{sys.executable} has no client: {why}; scripts/setup all installs it")
    sys.exit(77)

SIM = os.path.join(HERE, "programs", "sim")
MAY_MISS = 1


def first_finding(answer):
    """The first row of the tool findings. A wait for a CPU is this machine's, not the program's."""
    rows = list(csv.DictReader(io.StringIO(answer)))
    found = next((row for row in rows if row["what"] != "no-cpu"), None)
    return found and {**found, "line": int(found["line"] or 0)}


def went_away(finding, answer):
    """What diff says of the finding: gone, or at most half of it left."""
    key = " ".join([finding["what"], os.path.basename(finding["file"]), finding["function"]])
    row = re.search(rf"^{re.escape(key)}[, ].* (?:gone|-([\d.]+) %)$", answer, re.M)
    return bool(row) and (row[1] is None or float(row[1]) >= 50)


def evaluate(agent, build, name, folder):
    path = os.path.join(SIM, name)
    argv = [sys.executable, path] if name.endswith(".py") else [os.path.join(build, "tests", "programs", "sim", name[:-2])]
    slow, fixed = (os.path.join(folder, f"{name}.{kind}.db") for kind in ("slow", "fixed"))
    output = agent.call("run", program=argv, trace=slow)
    finding = first_finding(agent.call("findings", trace=slow))
    busy = int(re.search(r"^descheduled (\d+) ms$", output, re.M)[1]) > 250 * known_flaws.loop(output)[0]
    if not finding:
        return "nothing", busy, None, False
    agent.call("explain", trace=slow)
    agent.call("run", program=["env", "FIX=1", *argv], trace=fixed)
    truth, _ = known_flaws.read(path)
    return known_flaws.judge(truth, name, finding), busy, finding, went_away(finding, agent.call("diff", before=slow, after=fixed))


def main():
    build, *names = sys.argv[1:]
    build = os.path.abspath(build)
    names = [name for name in known_flaws.programs(SIM) if not names or name.startswith(tuple(names))]
    right, calls, answered = 0, 0, 0
    for name in names:
        environment = {**mcp_client.environment(os.path.dirname(HERE), build), **known_flaws.environment(os.path.join(SIM, name))}
        for _ in range(2):
            with tempfile.TemporaryDirectory() as folder:
                with mcp_client.Agent([os.path.join(build, "report", "gpuverify"), "mcp"], environment, folder) as agent:
                    said, busy, finding, proven = evaluate(agent, build, name, folder)
            if said == "right" or not busy:
                break
        where = f"{finding['what']} {os.path.basename(finding['file'])}:{finding['line']} {finding['function']}" if finding else "-"
        print(f"{said:8} {name:22} {where}; {'proven' if proven else 'not proven'}; {agent.calls} calls, {agent.bytes} bytes", flush=True)
        right, calls, answered = right + (said == "right"), calls + agent.calls, answered + agent.bytes
    print(f"{right} of {len(names)} named right; {calls / len(names):.1f} calls and {answered / len(names):.0f} bytes each")
    return right < len(names) - MAY_MISS


if __name__ == "__main__":
    sys.exit(main())
