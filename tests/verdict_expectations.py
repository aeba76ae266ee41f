"""The expected verdict of each behaviour of kernels/verdicts, on the simulator and on a real GPU."""

import json
import re

# argument of the workload: (expected finding, a part of its evidence)
SEEN = {
    "no-kernel": ("no kernel", "no launch"),
    "idle": ("idle", "sleeping"),
    "transfer": ("transfer-bound", "copied between host and device"),
    "copies": ("transfer-bound", "in gaps caused by these calls"),
    "launch": ("launch-bound", "a launch takes the host"),
    "load": ("load/JIT-bound", "went into starting CUDA"),
    "stalled": ("stalled", "module-load"),
    "underfilled": ("under-filled", "1 block on"),
    "refused": ("no kernel", "CUDA_ERROR_INVALID_VALUE (1)"),
    "recorded": ("no kernel", "no kernel or graph ended"),
    "accelerated": ("accelerated", "computed for"),
}

# The same for host-only traces; unknown things must not be guessed.
UNSEEN = {"no-kernel": "no kernel", "stalled": "stalled", "load": "load/JIT-bound",
          "refused": "no kernel", "copies": "transfer-bound"}
# What must not come before the expected finding.
BEHIND = {"copies": "launch-bound", "launch": "transfer-bound"}
NOTHING_RAN = {"no-kernel", "refused", "recorded"}
GUESSES = {"GPU mostly idle", "under-filled", "accelerated"}
TOLD = 3


def findings(report):
    """{class: evidence} of the findings in a report's JSON."""
    document = json.loads(report)
    told = document["verdict"]["findings"][:TOLD]
    return document, {finding["class"]: finding["evidence"] for finding in told}


UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60}
PART_OF_WHOLE = re.compile(r"([0-9.]+) (ns|us|ms|s) (?:of|in a run of) ([0-9.]+) (ns|us|ms|s)\b")


def larger_than_the_whole(evidence):
    """Parts ("40 ms of 30 ms") that are larger than the whole that they are said to be of."""
    return [found.group(0) for found in PART_OF_WHOLE.finditer(evidence)
            if float(found[1]) * UNITS[found[2]] > float(found[3]) * UNITS[found[4]]]


def complaint(behaviour, report):
    """What is wrong with a report of a run whose GPU side was seen, or None."""
    document, told = findings(report)
    wanted, part = SEEN[behaviour]
    if wanted not in told:
        return f"{behaviour}: not {wanted} but {told}"
    if part not in told[wanted]:
        return f"{behaviour}: '{part}' is not in '{told[wanted]}'"
    names = list(told)
    if BEHIND.get(behaviour) in names[:names.index(wanted)]:
        return f"{behaviour}: {wanted} is behind {BEHIND[behaviour]}"
    wrong = [part for evidence in told.values() for part in larger_than_the_whole(evidence)]
    if wrong:
        return f"{behaviour}: more than there is: {wrong}"
    facts = document["facts"]
    if behaviour not in NOTHING_RAN and not 0 < facts["busy_ns"] <= facts["window_ns"] * 1.05:
        return f"{behaviour}: busy for {facts['busy_ns']} of {facts['window_ns']} ns"
    return None
