"""Stored small traces: tests/e2e/traces/NAME.sql fills the project's own schema, and what a command
prints of it is compared, whole, with a text file beside it. JSON is compared as values, and stored with
a line for each that is not nested deeper than two.

    tests/e2e/stored.py [--build DIR]      writes all these files anew, and the pages of docs/ that show
                                           what a command prints of itself; look at the difference
"""

import argparse
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

import trace_schema

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TRACES = os.path.join(HERE, "traces")
# page of docs/: the command whose output is the page's block of text
PAGES = {"views.md": ("schema",), "environment.md": ("help", "environment")}
APPLICATION_ID = 0x47707556

# (trace, file that holds the output, the command's words with the trace as {}, another one as {name},
# exit status, terminal's columns)
OUTPUTS = []


def output(trace, name, *words, status=0, columns=""):
    """Declares the output traces/<trace>.<name> of a command about a stored trace."""
    OUTPUTS.append((trace, name, words, status, columns))


output("lazy_launch", "explain.txt", "explain", "{}")
output("lazy_launch", "explain_2.txt", "explain", "{}", "2")
output("lazy_launch", "explain_3.txt", "explain", "{}", "3")
output("lazy_launch", "stalls.txt", "stalls", "{}")
output("lazy_launch", "stalls.json", "stalls", "{}", "--format", "json")
output("lazy_launch", "stalls.csv", "stalls", "{}", "--format=csv", "--all")
output("lazy_launch", "stalls_lock.txt", "stalls", "{}", "--cause", "lock")
output("lazy_launch", "stalls_min.txt", "stalls", "{}", "--min", "820ms")
output("lazy_launch", "stalls_none.txt", "stalls", "{}", "--min", "2s")
output("lazy_launch", "stalls.md", "stalls", "{}", "--format=markdown", "-n1")
# Recorded on a real GPU; the commands find its stalls.
output("lock_copy", "stalls.csv", "stalls", "{}", "--format=csv", "--all")
output("lock_copy", "explain_2.txt", "explain", "{}", "2")
output("host_function", "stalls.txt", "stalls", "{}", "--all")
output("host_function", "explain_1.txt", "explain", "{}", "1")
output("host_function", "explain_2.txt", "explain", "{}", "2")
output("host_function", "explain_3.txt", "explain", "{}", "3")
output("host_function", "query.txt", "query", "{}", "host-functions")
output("hang", "explain.txt", "explain", "{}")
output("hang", "stalls.txt", "stalls", "{}")
output("hostile", "explain.txt", "explain", "{}")
output("hostile", "stalls.txt", "stalls", "{}")
output("job", "ranks.txt", "report", "{}", "-s", "findings", "-s", "ranks", "-s", "spread", "-s", "collectives")
output("job", "clocks.txt", "query", "{}", "SELECT * FROM clocks")
output("lazy_launch", "report.txt", "report", "{}")
output("hostile", "report.txt", "report", "{}")
output("add", "report.txt", "report", "{}")
output("add", "stalls.txt", "stalls", "{}")
output("add", "report.json", "report", "{}", "--format", "json")
output("add", "report_kernels.csv", "report", "{}", "--format", "csv", "--section", "kernels")
output("add", "report_copies.md", "report", "{}", "--format", "markdown", "-s", "copies", "-s", "run")
output("add", "report_part.txt", "report", "{}", "--process", "4242", "--from", "1.5s", "--to", "1.7s",
       "--device", "0", "-n", "3")
output("lazy_launch", "diff.txt", "diff", "{}", "{early_launch}")
output("lazy_launch", "diff.json", "diff", "{}", "{early_launch}", "--format", "json", "--all")
output("lazy_launch", "diff_calls.csv", "diff", "{}", "{early_launch}", "--format", "csv", "-s", "calls")
output("lazy_launch", "diff_stalls.md", "diff", "-f", "markdown", "-s", "stalls", "--exit-code", "{}",
       "{early_launch}", status=1)
output("lazy_launch", "diff_same.txt", "diff", "--exit-code", "{}", "{}")
output("lazy_launch", "diff_ranges.txt", "diff", "--section=stalls", "--all", "{}", "{early_launch}", "{}", "--",
       "{early_launch}", "{early_launch}")
output("lazy_launch", "diff_rank.txt", "diff", "-s", "stalls", "-s", "calls", "-n2", "{}", "{}", "{}", "{}", "--",
       "{early_launch}", "{early_launch}", "{early_launch}", "{early_launch}")
output("full_spool", "report.txt", "report", "{}", "-s", "findings")
output("other_profiler", "report.txt", "report", "{}", "-s", "findings", "-s", "timeline", "-s", "devices",
       "-s", "gaps")
output("sampled", "report.txt", "report", "{}", "-s", "findings", "-s", "devices", "-s", "kernels", "-s", "copies")
output("sampled", "kernels.csv", "report", "{}", "--format=csv", "-s", "kernels")
output("sampled", "diff.txt", "diff", "{}", "{}")
output("sampled", "query.txt", "query", "{}", "SELECT * FROM scaled")
output("sampled", "ledger.txt", "query", "{}", "SELECT phase, what, total_ns, error_ns, confidence FROM ledger ORDER BY 1, 2")
output("other_profiler", "explain_2.txt", "explain", "{}", "2")
output("other_profiler", "stalls.csv", "stalls", "{}", "--format=csv")
output("other_profiler", "check.txt", "check", "{}", "--min-gpu-busy", "0.4", "--max-gpu-gap", "3s",
       status=3)
output("busy_anyway", "report.txt", "report", "{}", "-s", "findings")
output("busy_anyway", "explain_1.txt", "explain", "{}", "1")
output("busy_anyway", "explain_3.txt", "explain", "{}", "3")
output("busy_anyway", "explain_5.txt", "explain", "{}", "5")
output("unexplained", "report.txt", "report", "{}", "-s", "findings", "-s", "stalls")
output("unexplained", "stalls.txt", "stalls", "{}")
output("unexplained", "explain.txt", "explain", "{}")
output("unexplained", "explain_2.txt", "explain", "{}", "2")
output("unexplained", "explain_3.txt", "explain", "{}", "3")
output("unexplained", "query.txt", "query", "{}", "stall-causes")
output("other_process", "stalls.txt", "stalls", "{}")
output("other_process", "explain.json", "explain", "{}", "2", "--format", "json")
output("other_process", "explain_1.txt", "explain", "{}", "1")
output("other_process", "explain_2.txt", "explain", "{}", "2")
output("other_process", "explain_3.txt", "explain", "{}", "3")
output("new_ptx", "report.txt", "report", "{}", "-s", "findings")
output("new_ptx", "explain_1.txt", "explain", "{}", "1")
output("new_ptx", "explain_2.txt", "explain", "{}", "2")
output("hostile", "diff.txt", "diff", "{}", "{add}")
output("starved", "report.txt", "report", "{}", "-s", "findings", "-s", "idle")
output("starved", "idle.txt", "idle", "{}", "-n", "4")
output("starved", "idle.json", "idle", "{}", "-r", "gil", "-n", "1", "--format", "json")
output("starved", "idle.csv", "idle", "{}", "--sort", "start", "-n", "3", "--format", "csv")
output("starved", "explain_i6.txt", "explain", "{}", "i6")
output("starved", "explain_i5.txt", "explain", "{}", "i5")
output("starved", "explain_i63.txt", "explain", "{}", "i63")
output("starved", "explain.json", "explain", "i11", "--format", "json")
output("starved", "query.txt", "query", "{}", "idle-lines")
output("starved", "check.txt", "check", "{}", "--all", "--max-idle", "20%", "--max-idle-of", "data=5%",
       "--max-idle-of", "gil=10%", status=1)
output("starved", "diff.txt", "diff", "{}", "{mostly_host}", "-s", "findings", "-s", "ledger", "-n", "4")
output("mostly_host", "report.txt", "report", "{}", "-s", "findings")
output("inferred_idle", "report.txt", "report", "{}", "-s", "findings")
output("inferred_idle", "idle.txt", "idle", "{}")
output("inferred_idle", "explain_i1.txt", "explain", "{}", "i1")
output("starved", "export_idle.folded", "export", "{}", "--to", "folded", "--of", "idle")
output("lazy_launch", "export_stalls.folded", "export", "{}", "--to", "folded", "--of", "stalls")
output("days", "report.txt", "report", "{}", "-s", "findings", "-s", "minutes", "-s", "changes")
output("days", "report.json", "report", "{}", "-s", "changes", "-s", "minutes", "-f", "json", "-n", "3")
output("days", "night.txt", "report", "{}", "-s", "minutes", "-s", "findings", "--from", "2023-11-16 03:00", "--to", "03:05")
output("days", "query.txt", "query", "{}", "SELECT * FROM minutes WHERE minute_ns BETWEEN 259140000000000 AND 259260000000000 "
       "ORDER BY minute_ns, what, process, name")
output("lines", "report.txt", "report", "{}", "-s", "findings", "-s", "gpu_lines")
output("lines", "report.csv", "report", "{}", "-f", "csv", "-s", "gpu_lines")
output("graphs", "report.txt", "report", "{}", "-s", "findings", "-s", "gpu_lines", "-s", "graphs")
output("lines", "query.txt", "query", "{}", "gpu-lines")
output("lines", "export.folded", "export", "{}", "--to", "folded")
output("lines", "export.svg", "export", "{}", "--to", "svg")
# Without a file: the newest trace.
output("lazy_launch", "explain.json", "explain", "s2", "--format", "json")
output("hang", "explain.json", "explain", "--format", "json")
for width in (60, 120):
    output("kernels", f"kernels_{width}.txt", "report", "-s", "findings", "-s", "kernels", "-s", "launches",
           columns=str(width))
    output("kernels", f"diff_{width}.txt", "diff", "{lazy_launch}", "{}", "-s", "launches", columns=str(width))
    output("kernels", f"stalls_{width}.txt", "stalls", "{}", columns=str(width))


def schema_version():
    with open(os.path.join(ROOT, "report/store", "schema.h"), encoding="utf-8") as header:
        for line in header:
            if line.startswith("#define GV_SCHEMA_VERSION "):
                return int(line.split()[2])
    raise LookupError("no GV_SCHEMA_VERSION in report/store/schema.h")


def fill(path, rows):
    """Makes a trace as the file `path`, with rows that are SQL."""
    database = sqlite3.connect(path)
    database.executescript(f"PRAGMA application_id = {APPLICATION_ID};"
                           f"PRAGMA user_version = {schema_version()};")
    for sql in (trace_schema.sql(), rows):
        database.executescript(f"BEGIN;\n{sql}\nCOMMIT;")
    database.close()
    os.chmod(path, 0o600)


def make(name, path):
    """Makes the stored trace `name` as the file `path`."""
    fill(path, expected(name, "sql"))


def totals_version():
    with open(os.path.join(ROOT, "report/analyse/totals", "totals.h"), encoding="utf-8") as header:
        return int(re.search(r"define GV_TOTALS_VERSION (\d+)", header.read())[1])


def make_anew(name, path, *changes):
    """The same, replacing an earlier one, with `changes`, one statement each."""
    if os.path.exists(path):
        os.remove(path)
    make(name, path)
    database = sqlite3.connect(path)
    for change in changes:
        database.execute(change)
    database.commit()
    database.close()


def make_all(trace, words, folder):
    """Makes the traces in a command's words, in a folder. Returns the words, filled in."""
    named = set(re.findall(r"{(\w+)}", " ".join(words)))
    for name in {trace} | named:
        if not os.path.exists(os.path.join(folder, name + ".db")):
            make(name, os.path.join(folder, name + ".db"))
        os.utime(os.path.join(folder, name + ".db"), (0, 0))
    os.utime(os.path.join(folder, trace + ".db"))  # the newest, which commands find by themselves
    return [word.format(trace + ".db", **{name: name + ".db" for name in named}) for word in words]


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def expected(trace, name):
    return read(os.path.join(TRACES, f"{trace}.{name}"))


def rows_of(value, depth=2):
    """JSON, with a line for each member of what is nested up to so deep."""
    if not depth or not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    indent = "  " * (3 - depth)
    if isinstance(value, dict):
        members = [f"{json.dumps(name)}: {rows_of(member, depth - 1)}" for name, member in value.items()]
    else:
        members = [rows_of(member, depth - 1) for member in value]
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return f"{begin}\n{indent}" + f",\n{indent}".join(members) + f"\n{indent[2:]}{end}"


def comparable(name, text):
    """What is stored of an output."""
    return rows_of(json.loads(text)) + "\n" if name.endswith(".json") else text


def page_path(name):
    return os.path.join(ROOT, "docs", name)


def page_with(name, shown):
    """A page of docs/, with what a command prints in its block of text."""
    before, _, after = read(page_path(name)).split("```\n")
    return f"{before}```\n{shown}```\n{after}"


def refresh(build):
    command = os.path.join(os.path.abspath(build), "report", "gpuverify")
    for name, words in PAGES.items():
        shown = subprocess.run([command, *words], stdout=subprocess.PIPE, check=True,
                               env={**os.environ, "COLUMNS": ""}).stdout.decode()
        text = page_with(name, shown)
        with open(page_path(name), "w", encoding="utf-8") as page:
            page.write(text)
    with tempfile.TemporaryDirectory() as place:
        for trace, name, words, status, columns in OUTPUTS:
            argv = ["gpuverify", *make_all(trace, words, place)]
            done = subprocess.run(argv, executable=command, cwd=place, stdout=subprocess.PIPE, check=False,
                                  stdin=subprocess.DEVNULL,
                                  env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": columns})
            if done.returncode != status:
                sys.exit(f"{' '.join(argv)}: exit status {done.returncode}, not {status}")
            with open(os.path.join(TRACES, f"{trace}.{name}"), "w", encoding="utf-8", newline="") as file:
                file.write(comparable(name, done.stdout.decode()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    refresh(parser.parse_args().build)
    known = {f"{trace}.{name}" for trace, name, *_ in OUTPUTS}
    for path in glob.glob(os.path.join(TRACES, "*")):
        name = os.path.basename(path)
        if not name.endswith(".sql") and name not in known:
            print(f"{name}: nothing prints this any more")


if __name__ == "__main__":
    main()
