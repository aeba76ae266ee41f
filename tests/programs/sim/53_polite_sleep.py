# A worker that takes jobs from a folder, and sleeps between them.
#
# mechanism: a sleep of 15 ms after each job, though the next one is there
# FIX=1: it sleeps only if there is no job
# truth: {"cause": "time.sleep() after each job", "line_function": "take", "line": 21, "also_ok": [], "half_ok": [], "lost_share": 0.6, "what": ["sleep"], "lines": [21]}
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
JOBS = 60


def take(folder, number):
    path = os.path.join(folder, f"{number:04}.job")
    while not FIX or not os.path.exists(path):
        time.sleep(0.015)  # <-- here
        if os.path.exists(path):
            break
    with open(path, "rb") as file:
        return file.read()


def main():
    simgpu.start()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(JOBS):
            with open(os.path.join(folder, f"{number:04}.job"), "wb") as file:
                file.write(os.urandom(4096))
        start = time.perf_counter()
        for number in range(JOBS):
            job = take(folder, number)
            simgpu.send(len(job))
            for _ in range(8):
                simgpu.launch(1000)
            simgpu.item()
        print(f"done: {JOBS} steps in {time.perf_counter() - start:.2f} s")


main()
