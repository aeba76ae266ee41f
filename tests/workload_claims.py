"""What a program of kernels/ordinary says of itself, against its trace. It prints lines
"claim WHAT AMOUNT OF":

  kernels N NAME      so many ran on the GPU, and so many launches were called
  graphs N graph      so many graphs ran
  copies N DIRECTION  so many copies ran
  sets N memset       so many memory sets ran
  bytes N DIRECTION   so much was copied
  streams N NAME      the kernels NAME ran on so many streams
  devices N NAME      the kernels NAME ran on so many devices
  processes N ...     so many processes are in the trace
  calls N NAME        so many calls of this name, whatever its version
  polls N NAME        the same, of calls whose number differs from run to run
  losses N ...        so many rows of losses are in the trace
  longest X ms NAME   the longest kernel NAME took as long
  events X ms NAME    two CUDA events around all kernels NAME but the first were as far apart

Kernels are those whose name begins with NAME. What ran on the GPU is only checked where it was seen.
"""

import re

CLAIM = re.compile(r"^claim (\w+) ([\d.]+) (?:ms )?(.*)$", re.M)
# What clocks may differ by, and what lies between two kernels on the GPU.
MARGIN_MS = 1.0
MARGIN_PART = 0.05

NAMED = "(name = ?1 OR name LIKE ?1 || '(%')"
# In calls as it is linked: sum_up(int) is _Z6sum_upi.
LINKED = "(kernel = ?1 OR kernel GLOB '_Z' || length(?1) || ?1 || '*')"
COUNTED_ON_GPU = {
    "kernels": f"SELECT count(*) FROM gpu_ops WHERE kind = 'kernel' AND {NAMED}",
    "graphs": "SELECT count(*) FROM gpu_ops WHERE kind = ?1",
    "copies": "SELECT count(*) FROM gpu_ops WHERE kind = 'copy' AND name = ?1",
    "sets": "SELECT count(*) FROM gpu_ops WHERE kind = 'set' AND name = ?1",
    "bytes": "SELECT coalesce(sum(bytes), 0) FROM gpu_ops WHERE kind = 'copy' AND name = ?1",
    "streams": f"SELECT count(DISTINCT stream) FROM gpu_ops WHERE kind = 'kernel' AND {NAMED}",
    "devices": f"SELECT count(DISTINCT device) FROM gpu_ops WHERE kind = 'kernel' AND {NAMED}",
}
COUNTED_IN_CALLS = {
    "kernels": f"SELECT count(*) FROM calls WHERE class = 'launch' AND result = 0 AND {LINKED}",
    "streams": f"SELECT count(DISTINCT stream) FROM calls WHERE class = 'launch' AND {LINKED}",
    "processes": "SELECT count(*) FROM processes WHERE ?1 = ?1",
    "calls": "SELECT sum(count) FROM calls WHERE base_name(name) = ?1",
    "polls": "SELECT sum(count) FROM calls WHERE base_name(name) = ?1",
    "losses": "SELECT count(*) FROM losses WHERE ?1 = ?1",
}
MEASURED_ON_GPU = {
    "longest": f"SELECT max(duration_ns) / 1e6 FROM gpu_ops WHERE {NAMED}",
    "events": "SELECT sum(duration_ns) / 1e6 FROM (SELECT duration_ns FROM gpu_ops"
              f" WHERE {NAMED} ORDER BY start_ns LIMIT -1 OFFSET 1)",
}
TABLES = (COUNTED_ON_GPU, COUNTED_IN_CALLS, MEASURED_ON_GPU)
VERSION = re.compile(r"(_v\d+)?(_ptsz|_ptds)?$")


class Mismatch(AssertionError):
    """The trace differs from the program's claims."""


def agree(table, found, amount):
    if table is not MEASURED_ON_GPU:
        return found == int(amount)
    return found is not None and abs(found - float(amount)) <= MARGIN_MS + MARGIN_PART * float(amount)


def check(output, trace, gpu):
    """`output` of the program, its open trace, and whether the GPU side must be in it. Returns the number
    of comparisons."""
    trace.create_function("base_name", 1, lambda name: VERSION.sub("", name))
    claims = CLAIM.findall(output)
    if not claims:
        raise Mismatch("the program claims nothing")
    compared = 0
    for what, amount, name in claims:
        if not any(what in table for table in TABLES):
            raise Mismatch(f"nobody knows what the claim {what!r} means")
        for table in TABLES:
            if what not in table or not (gpu or table is COUNTED_IN_CALLS):
                continue
            found = trace.execute(table[what], (name,)).fetchone()[0]
            if not agree(table, found, amount):
                where = "calls" if table is COUNTED_IN_CALLS else "the GPU's side"
                raise Mismatch(f"{what} {name}: {found} in {where}, the program says {amount}")
            compared += 1
    return compared
