"""What `gpuverify look` says of programs that hang or wait: the situations that the end-to-end tests have by the same names."""

import json
import os
import subprocess
import sys

from ground import ROOT, Skip, check

sys.path.insert(0, os.path.join(ROOT, "tests", "look"))
import situations  # noqa: E402

# What it says where another process's memory may not be read.
REFUSED = 3


def situation(name):
    def case(bench, folder):
        with subprocess.Popen([sys.executable, situations.PROGRAM, name], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
            try:
                said = process.stdout.readline().strip()
                check(said == "ready", f"it said {said!r}, and not that it is ready")
                done = subprocess.run([bench.command, *situations.words(name, process.pid)], capture_output=True, text=True,
                                      timeout=60, check=False)
                if done.returncode == REFUSED:
                    raise Skip(done.stderr.strip()[-200:])
                check(done.returncode == 0, f"exit code {done.returncode}: {done.stderr[-300:]}")
                seen = json.loads(done.stdout)
                check(process.poll() is None, "the program has ended")
            finally:
                process.kill()
        wrong = situations.mismatch(name, seen)
        check(wrong is None, wrong)
        return seen["summary"]
    return case


CASES = [(f"look: {name}", situation(name)) for name in situations.SITUATIONS]
