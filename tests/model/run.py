#!/usr/bin/env python3
"""The model checker's runs on the spool (docs/testing.md): that each memory order is needed.

  tests/model/run.py FOLDER [--all]

FOLDER is a build. The cases must hold, and still do so when the operations in the table HARMLESS, each
with its reason there, lose half of their memory order. Of all others, each one that acquires or releases
is weakened in addition: then some case must fail. What no case reaches must be in the table UNREACHED.
"""

import argparse
import collections
import concurrent.futures
import os
import re
import subprocess
import sys

from harmless import HARMLESS, UNREACHED

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where each atomic operation counts.
SOURCES = ("trace/spool_free_list.h", "trace/spool_writer.c", "trace/spool_reader.c", "preload/thread.h",
           "preload/thread.c", "preload/calls.c", "preload/process_exit.c")
JOBS = 2

Place = collections.namedtuple("Place", "path function operation location half")
Site = collections.namedtuple("Site", "place line address")


def run(program, *options):
    """Whether all cases hold, and what was printed."""
    done = subprocess.run([program, *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{program}: exit status {done.returncode}\n{done.stdout}")
    return done.returncode == 0, done.stdout


def lines_of(program, addresses):
    """(function, path, line) of the call that returns to each address."""
    words = ["addr2line", "-f", "-e", program] + [hex(address - 1) for address in addresses]
    text = subprocess.run(words, text=True, stdout=subprocess.PIPE, check=True).stdout.splitlines()
    for function, place in zip(text[::2], text[1::2]):
        path, line = re.sub(r" \(discriminator.*", "", place).rsplit(":", 1)
        yield function, os.path.relpath(os.path.realpath(path), CHECKOUT), int(line)


def halves(operation, order, failure):
    """What an operation can lose."""
    if order in ("acquire", "acq_rel") or order == "seq_cst" and operation != "store":
        yield "acquire"
    if order in ("release", "acq_rel") or order == "seq_cst" and operation != "load":
        yield "release"
    if failure in ("acquire", "seq_cst"):
        yield "failure"


def sites_of(program, text):
    found = [line.split(" ", 5)[1:] for line in text.splitlines() if line.startswith("site ")]
    addresses = [int(words[0], 16) for words in found]
    for words, address, (function, path, line) in zip(found, addresses, lines_of(program, addresses)):
        if path not in SOURCES:
            continue
        operation, order, failure, location = words[1], words[2], words[3], words[4]
        location = re.sub(r" \d+ ", " ", location)
        for half in [*halves(operation, order, failure), None]:
            yield Site(Place(path, function, operation, location, half), line, address)


def weakening(sites):
    """The options that weaken some sites."""
    words = []
    for half in ("acquire", "release", "failure"):
        addresses = sorted({hex(site.address) for site in sites if site.place.half == half})
        if addresses:
            words += ["--weaken", f"{half}:{','.join(addresses)}"]
    return words


def unreached(sites):
    """(path, line, text) of the atomic operations in the sources that no case comes to."""
    reached = {(site.place.path, site.line) for site in sites}
    call = re.compile(r"\batomic_(?!signal_fence)\w+\(")
    for path in SOURCES:
        with open(os.path.join(CHECKOUT, path), encoding="utf-8") as file:
            lines = file.read().splitlines()
        for number, text in enumerate(lines, 1):
            statement = text if text.rstrip().endswith(";") else text + lines[number] if number < len(lines) else text
            if call.search(text) and "memory_order_relaxed)" not in statement and (path, number) not in reached:
                yield path, number, text.strip()


def describe(place):
    return f"{place.path}: {place.function}: {place.operation} of {place.location or 'nothing'}, {place.half}"


def check_places(program, sites):
    """Weakens one place after the other, besides the harmless ones. The number of problems, and those."""
    by_place = collections.defaultdict(list)
    for site in sites:
        if site.place.half:
            by_place[site.place].append(site)
    harmless = [site for place in HARMLESS for site in by_place[place]]
    needed = [place for place in by_place if place not in HARMLESS]
    problems = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = pool.map(lambda place: run(program, *weakening(by_place[place] + harmless)), needed)
        for place, (holds, text) in zip(needed, answers):
            failure = text.splitlines()[-2] if not holds else "NO CASE FAILS"
            print(f"{'FAILED' if holds else 'caught'} {describe(place)}: {failure}")
            problems += holds
    for place in HARMLESS:
        if not by_place[place]:
            print(f"FAILED {describe(place)}: listed as harmless, but no case comes there")
            problems += 1
    return problems, harmless


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    program = os.path.join(parser.parse_args().folder, "tests/model/model_spool")
    if not os.path.exists(program):
        print("not built: the compiler cannot instrument for ThreadSanitizer, or another sanitizer is on")
        return 77
    holds, text = run(program, "--explain", "--sites")
    print("".join(line + "\n" for line in text.splitlines() if not line.startswith("site ")), end="")
    if not holds:
        return 1
    sites = list(sites_of(program, text))
    problems, harmless = check_places(program, sites)
    holds, text = run(program, "--explain", *weakening(harmless))
    print(f"{'passed' if holds else 'FAILED'} {len(HARMLESS)} harmless places, all weakened at once")
    if not holds:
        print(text)
        problems += 1
    for path, number, line in unreached(sites):
        known = any(path == where and start in line for where, start in UNREACHED)
        print(f"{'unreached' if known else 'FAILED no case reaches'} {path}:{number}: {line}")
        problems += not known
    print(f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
