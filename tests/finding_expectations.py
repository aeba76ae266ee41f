"""What is said of each behaviour of kernels/verdicts, on the simulator and on a real GPU."""

import json

# argument of the workload: (fact, a part of its detail)
FACTS = {
    "no-kernel": ("no kernel", "no launch"),
    "refused": ("no kernel", "CUDA_ERROR_INVALID_VALUE (1)"),
    "recorded": ("no kernel", "no kernel or graph ended"),
    "accelerated": ("accelerated", "the GPU computed for"),
}
# argument: the function whose line is in one of the first findings, and what it may lose there
FINDINGS = {
    "idle": ("idle", {"sleep"}),
    "transfer": ("transfer", {"copying", "copy-pageable", "round-trip", "waits"}),
    "copies": ("copies", {"copying", "copy-pageable", "round-trip", "waits"}),
    "launch": ("run_spin", {"launching", "between-kernels", "no-cpu"}),
    "load": ("load", {"jit", "loading", "module-load"}),
}
SEEN = [*FACTS, *FINDINGS]
# The same for host-only traces: what is not known is not guessed.
UNSEEN = {"no-kernel": "no kernel", "refused": "no kernel"}
TOLD = 3


def complaint(behaviour, report):
    """What is wrong with a report of a run whose GPU side was seen, or None."""
    document = json.loads(report)
    facts = {fact["name"]: fact["detail"] for fact in document["facts"]}
    told = [(finding["function"], finding["what"]) for finding in document["findings"][:TOLD]]
    if behaviour in FACTS:
        name, part = FACTS[behaviour]
        return None if part in facts.get(name, "") else f"{behaviour}: no {name} with '{part}' in {facts}"
    function, words = FINDINGS[behaviour]
    if not any(function == at and what in words for at, what in told):
        return f"{behaviour}: not {function}, {words}, but {told}"
    return None if document["numbers"]["busy_ns"] > 0 else f"{behaviour}: never busy"
