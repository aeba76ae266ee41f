# Plays games on the host, and trains on what came of them; the loop never waits for the GPU.
#
# mechanism: playing takes 14 ms of Python, and the GPU needs 5 ms for what it gets
# FIX=1: a fifth of the moves
# truth: {"cause": "the host computes in play() while the GPU has nothing to do", "line_function": "play", "line": 24, "also_ok": [], "half_ok": [], "lost_share": 0.6, "what": ["python"], "lines": [24, "play"]}
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
STEPS = 70


def play(seed):
    """A game with a fixed time for thinking, so that it takes as long on each machine."""
    end = time.thread_time() + (0.0028 if FIX else 0.014)
    board = [0] * 64
    while time.thread_time() < end:
        for square in range(64):
            seed = (seed * 1103515245 + 12345) % 2147483648
            board[square] = (board[square] + seed) % 3  # <-- here
    return sum(board)


def main():
    simgpu.start()
    score = 0
    start = time.perf_counter()
    for step in range(STEPS):
        score += play(step)
        simgpu.send(4096 + score % 64)
        for _ in range(5):
            simgpu.launch(1000)
    simgpu.synchronize()
    print(f"done: {STEPS} steps in {time.perf_counter() - start:.2f} s")


main()
