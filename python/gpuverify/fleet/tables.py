"""The tables of a fleet, as `gpuverify rows` (report/commands/fleet/rows.sql) writes them.

The files of a table are below vVERSION/TABLE/day=DAY/job=JOB/host=HOST, one for each trace. All of a version have
the same columns: another column makes another version. docs/fleets.md describes the columns.
"""

from __future__ import annotations

VERSION = 2
FOLDER = f"v{VERSION}"


def _columns(words: str) -> dict[str, str]:
    """Names and Arrow's types: $ is a text, the others are integers."""
    return {word.rstrip("$"): "string" if word.endswith("$") else "int64" for word in words.split()}


# Without the columns day, job and host, which the folders say, and the column trace, which all have.
TABLES = {
    "processes": _columns("process pid program$ start_unix_ns duration_ns gpus gpu_name$ gpu$ driver_version ended$ exit_code "
                          "exit_signal lost_records rank local_rank world_size container$ team$ build$ gpuverify_version$"),
    "stalls": _columns("process cause$ call_name$ location$ code$ times wait_ns jit_ns lost_ns most_ns"),
    "ledger": _columns("process device phase$ what$ state$ location$ code$ claimed_by$ times account_ns"),
    "findings": _columns("process device phase$ key$ what$ location$ code$ lost_ns saves_ns phase_ns steps title$ fix$"),
    "loads": _columns("process kind$ library$ late location$ times load_ns wait_ns most_ns"),
    "kernel_summary": _columns("name$ times total_ns median_ns most_ns"),
    "api_summary": _columns("name$ class$ times total_ns median_ns most_ns errors"),
    "calls": _columns("process id thread name$ class$ start_ns duration_ns result stream bytes kernel$ times"),
    "gpu_ops": _columns("process id device kind$ name$ start_ns duration_ns stream bytes call_id"),
}
# A row for each call makes a fleet a hundred times as large, and no question needs them.
ON_REQUEST = ("calls", "gpu_ops")
LABELS = ("team", "build")
