"""`gpuverify diff` of runs on a real GPU: a change that was made is found, and noise is called so."""

import json
import os

from ground import SKIPPED, Skip, check, times_itself

# Of each; the least with which the rank test comes out at 5 %.
RUNS = 4
BUSY_MS = "150"


def record(bench, folder, name, **environment):
    done = bench.run([*bench.workload("stalls/lazy_launch"), BUSY_MS], folder, True, **environment)
    if done.returncode == SKIPPED:
        raise Skip(done.stdout.strip()[-100:])
    check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
    bench.recover(folder)
    path = os.path.join(folder, name + ".db")
    os.replace(os.path.join(folder, "trace.db"), path)
    return path


def compare(bench, folder, before, after):
    done = bench.run([bench.command, "diff", "--format", "json", "--all", "--top", "0", *before, "--", *after],
                     folder, False)
    check(done.returncode == 0, done.stderr[-300:])
    document = json.loads(done.stdout)
    check(document["test"] == "rank", f"{document['test']}, with {RUNS} runs of each")
    return {(row["area"], row["what"], row["unit"]): row for row in document["changes"]}


@times_itself
def a_load_that_is_moved_out(bench, folder):
    lazy, eager, again = [], [], []
    for i in range(RUNS):  # in turns: what else the machine does meets all
        lazy.append(record(bench, folder, f"lazy{i}", CUDA_MODULE_LOADING="LAZY"))
        eager.append(record(bench, folder, f"eager{i}", CUDA_MODULE_LOADING="EAGER"))
        again.append(record(bench, folder, f"again{i}", CUDA_MODULE_LOADING="LAZY"))
    changes = compare(bench, folder, lazy, eager)
    gone = changes.get(("stalls", "lazy-load", "ns"))
    check(gone, "the lazy load's stall did not change")
    check(gone["after"] == 0, f"{gone['after'] / 1e6:.3f} ms of lazy loads are left")
    check(gone["different"] == 1, f"{gone['change'] / 1e6:.3f} ms are noise: p {gone['p']}")
    check(("kernels", "spin", "count") not in changes, "another number of kernels ran")
    same = compare(bench, folder, lazy, again)
    noise = same.get(("stalls", "lazy-load", "ns"))
    check(not noise or not noise["different"],
          "the stall of the same program is told as different")
    loud = [" ".join(key) for key, row in same.items() if row["different"]]
    return (f"{-gone['change'] / 1e6:.0f} ms of stalls gone, p {gone['p']:.3f}; of {len(same)} changes between runs of"
            f" the same {len(loud)} are told: {', '.join(loud[:3]) or 'none'}")


CASES = [("diff of a load that is moved out", a_load_that_is_moved_out)]
