#!/usr/bin/env python3
"""Traces that were recorded on real GPUs, as small files: recorded/NAME.sql.xz.

    tests/fleet/recorded.py pack TRACE.db -o tests/fleet/recorded/NAME.sql.xz [--build DIR]

packs a finished trace: anonymised, as the rows of its tables. A file of another schema version than gpuverify's cannot be
read: record it anew.
"""

import argparse
import csv
import glob
import io
import lzma
import os
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile

import generate

FOLDER = os.path.join(generate.HERE, "recorded")
SUFFIX = ".sql.xz"
MOST_BYTES = 100_000
HEAD = "-- schema {}: {}, on {}, driver {}\n"


def quoted(value):
    return "NULL" if value is None else repr(value) if isinstance(value, (int, float)) else "'" + str(value).replace("'", "''") + "'"


def pack(trace, path, build):
    """Stores a trace. Only its command line is kept as it was, without folders."""
    with sqlite3.connect(f"file:{os.path.abspath(trace)}?mode=ro", uri=True) as database:
        words, driver = database.execute("SELECT arguments, driver_version FROM process ORDER BY id").fetchone()
        devices = " and ".join(name for name, in database.execute("SELECT DISTINCT name FROM device ORDER BY name"))
    words = shlex.join(word.rsplit("/", 1)[-1] for word in shlex.split(words))
    with tempfile.TemporaryDirectory() as place:
        anonymous = os.path.join(place, "trace.db")
        subprocess.run([os.path.join(build, "report", "gpuverify"), "export", trace, "--anonymise", "-o", anonymous], check=True)
        with sqlite3.connect(anonymous) as database:
            text = [HEAD.format(database.execute("PRAGMA user_version").fetchone()[0], words, devices or "no GPU", driver)]
            tables = database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
            for table, in tables:
                text += [f"INSERT OR REPLACE INTO {table} VALUES ({', '.join(map(quoted, row))});\n"
                         for row in database.execute(f"SELECT * FROM {table}")]
    stored = lzma.compress("".join(text).encode(), preset=9 | lzma.PRESET_EXTREME)
    if len(stored) > MOST_BYTES:
        sys.exit(f"{trace} takes {len(stored)} bytes, more than {MOST_BYTES}: record a shorter run")
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, "wb") as file:
        file.write(stored)
    print(f"{path}: {len(stored)} bytes, {text[0][3:]}", end="")


def paths():
    return sorted(glob.glob(os.path.join(FOLDER, "*" + SUFFIX)))


def unpack(folder):
    """Makes the stored traces in a folder. What anonymising left out is made up: sessions, programs, a job, teams and builds,
    and a day each, but for every seventh: that remains without a time, as it is."""
    for number, path in enumerate(paths()):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            text = file.read()
        name = os.path.basename(path)[:-len(SUFFIX)]
        found, words = re.match(HEAD.format(r"(\d+)", "(.*)", ".*", ".*"), text).groups()
        version = generate.stored.schema_version()
        if int(found) != version:
            raise AssertionError(f"{path} has version {found} of the schema, not {version}. Record it anew, on a machine with a GPU:\n"
                                 f"  gpuverify run -o {name}.db -- {words}\n  tests/fleet/recorded.py pack {name}.db -o {path}")
        trace = os.path.join(folder, f"{name}.db")
        generate.stored.fill(trace, text)
        start_unix_ns = generate.START_UNIX_NS + number * generate.DAY_NS
        with sqlite3.connect(trace) as database:
            database.execute("INSERT INTO meta VALUES ('session', ?), ('host', ?)", (name, f"node{number % 3}"))
            if number % 7 != 3:
                database.execute("INSERT INTO meta VALUES ('start_unix_ns', ?1), ('unix_offset_ns', ?1)", (start_unix_ns,))
            database.execute("UPDATE process SET program = ?", (name.rstrip("_0123456789"),))
            database.execute("UPDATE process_rank SET job = 'a job' WHERE rank IS NOT NULL")
            for variable, value in (("GPUVERIFY_TEAM", f"team-{number % 3}"), ("GPUVERIFY_BUILD", f"build-{2 * number // len(paths())}")):
                database.execute("INSERT OR REPLACE INTO variable SELECT id, ?, ? FROM process", (variable, value))


LINE = "coalesce(nullif(gv_line(function, NULL, file, line), ''), '')"
IDLE = f"""SELECT process, device, what, {LINE} AS line, count, total_ns FROM ledger WHERE what NOT IN
    ('kernel', 'graph', 'collective', 'copy', 'copy-exposed', 'copy-pageable', 'set', 'benchmark', 'not-seen', 'no-request', 'gpuverify')"""
FINDINGS = f"""SELECT process, phase, rtrim(key) AS key, what, {LINE} AS line, lost_ns,
    coalesce(saves_ns, 0) AS saves_ns, (SELECT phase_ns FROM finding WHERE id = findings.id) AS phase_ns FROM findings"""
# Late: after the process's first launch.
LOADS = """SELECT process, coalesce(library, kind) AS library, duration_ns, coalesce(wait_ns, 0) AS wait_ns,
    coalesce(start_ns > (SELECT min(start_ns) FROM calls c WHERE c.process = l.process AND c.class = 'launch'), 0) AS late FROM loads l"""


def told(command, *words):
    """The rows that a command lists of a trace. It knows the lines of the program, and waits also of a trace not analysed yet."""
    done = subprocess.run([command, *words, "--format", "csv"], capture_output=True, text=True, check=True)
    return list(csv.DictReader(io.StringIO(done.stdout)))


def read(command, trace, fleet):
    """Adds what a finished trace holds to a generate.Fleet: from its views and from what a user is told, not from what is exported."""
    database = sqlite3.connect(trace)
    meta = dict(database.execute("SELECT key, value FROM meta"))
    session, of = meta.get("session") or trace, {}
    lanes = {row["process"]: 1 for row in told(command, "query", trace, "SELECT DISTINCT process FROM ledger")}
    for row in database.execute(
            """SELECT id, program, job, coalesce(host, (SELECT value FROM meta WHERE key = 'host')), rank, world_size, driver_version,
                start_ns, coalesce(end_ns, (SELECT max(start_ns + duration_ns) FROM calls c WHERE c.process = p.id), start_ns) - start_ns
            FROM processes p"""):
        process, program, job, host, rank, world, driver, start_ns, duration_ns = row
        variables = dict(database.execute("SELECT name, value FROM environment WHERE process = ?", (process,)))
        devices = database.execute("SELECT count(DISTINCT device) FROM gpu_ops WHERE process = ?", (process,)).fetchone()[0]
        unseen = lanes.get(str(process), 0)
        of[process] = generate.Process(session, process, program, variables.get("GPUVERIFY_TEAM"), variables.get("GPUVERIFY_BUILD"), host,
                                       job, rank, world, driver, start_ns + meta["unix_offset_ns"] if "unix_offset_ns" in meta else None,
                                       duration_ns, devices or unseen)
    fleet.processes += of.values()
    fleet.stalls += [generate.Stall(of[int(row["process"])], row["cause"], row["name"], row["where"] or None, 1,
                                    int(row["wait_ns"]) + int(row["jit_ns"])) for row in told(command, "stalls", trace)]
    fleet.idle += [generate.Idle(of[int(row["process"])], row["device"], row["what"], row["line"] or None, int(row["count"]),
                                 int(row["total_ns"])) for row in told(command, "query", trace, IDLE)]
    fleet.findings += [generate.Finding(of[int(row["process"])], row["phase"], row["key"], row["what"], row["line"] or None,
                                        int(row["lost_ns"]), int(row["saves_ns"]), float(row["phase_ns"]))
                       for row in told(command, "query", trace, FINDINGS)]
    fleet.loads += [generate.Load(of[int(row["process"])], row["library"], row["late"] == "1", 1, int(row["duration_ns"]),
                                  int(row["wait_ns"])) for row in told(command, "query", trace, LOADS)]
    database.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("pack", choices=["pack"])
    parser.add_argument("trace")
    parser.add_argument("-o", dest="path", required=True)
    parser.add_argument("--build", default=os.path.join(generate.stored.ROOT, "build"))
    options = parser.parse_args()
    pack(options.trace, options.path, options.build)


if __name__ == "__main__":
    main()
