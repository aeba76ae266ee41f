#!/usr/bin/env python3
"""Runs the model checker on the spool (docs/internals/testing.md), and checks that each memory order is needed.

  tests/model/run.py FOLDER

FOLDER is a build. The cases must hold. They must still hold if the operations in the table HARMLESS
lose half of their memory order. Of all others, each one that acquires or releases is weakened in
addition, and then some case must fail. What no case reaches must be in the table UNREACHED.
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
# Files with atomic operations to check, and functions.
SOURCES = ("trace/spool_free_list.h", "trace/spool_writer.c", "trace/spool_reader.c", "preload/base/thread.h",
           "preload/base/thread.c", "preload/hooks/calls.c")
PARTLY = {"preload/process/exit.c": ("wait_until_drained", "end_as", "note_code")}
# Words with a tag against ABA in their upper half.
TAGGED = ("header free.head", "header empty.head")
JOBS = 2

Place = collections.namedtuple("Place", "path function operation location half")
Site = collections.namedtuple("Site", "place line address")


def run(program, *options):
    """Whether all cases hold, and what was printed."""
    done = subprocess.run([program, *options], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)
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


def halves(operation, order, failure, location):
    """The halves that an operation can lose."""
    if operation == "compare" and location in TAGGED:
        yield "tag"
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
        function = function.split(".")[0]
        if path not in SOURCES and function not in PARTLY.get(path, ()):
            continue
        operation, order, failure, location = words[1], words[2], words[3], words[4]
        location = re.sub(r" \d+ ", " ", location)
        for half in (*halves(operation, order, failure, location), None):
            yield Site(Place(path, function, operation, location, half), line, address)


def weakening(sites):
    """The options that weaken some sites."""
    words = []
    for half in ("acquire", "release", "failure", "tag"):
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


def group(sites):
    by_place = collections.defaultdict(list)
    for site in sites:
        if site.place.half:
            by_place[site.place].append(site)
    return by_place


def check_harmless(program, by_place):
    """Weakens all of them at once. Returns the number of problems, and the options."""
    unknown = [place for place in HARMLESS if place not in by_place]
    for place in unknown:
        print(f"FAILED listed as harmless, but no case comes there: {describe(Place(*place))}")
    options = weakening(site for place in HARMLESS if place not in unknown for site in by_place[place])
    holds, text = run(program, "--explain", *options)
    print(f"{'harmless' if holds else 'FAILED'}: {len(HARMLESS)} halves of orders, all weakened at once")
    if not holds:
        print(text)
    return len(unknown) + (not holds), options


def check_needed(program, by_place, harmless):
    """Weakens one operation after the other, besides the harmless ones. Returns the number of problems."""
    needed = [place for place in by_place if place not in HARMLESS]
    problems = 0
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        answers = pool.map(lambda place: run(program, *harmless, *weakening(by_place[place])), needed)
        for place, (holds, text) in zip(needed, answers):
            print(f"{'FAILED no case needs' if holds else 'needed'} {describe(place)}"
                  + ("" if holds else f": {text.splitlines()[-2]}"))
            problems += holds
    return problems


def check_reached(sites):
    problems = 0
    for path, number, line in unreached(sites):
        why = [reason for (where, start), reason in UNREACHED.items() if path == where and line.startswith(start)]
        print(f"{'unreached' if why else 'FAILED no case reaches'} {path}:{number}: {line}")
        problems += not why
    return problems


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
    by_place = group(sites)
    problems, harmless = check_harmless(program, by_place)
    problems = problems or check_needed(program, by_place, harmless)
    problems += check_reached(sites)
    print(f"{problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
