# Serves requests in batches: each batch waits for a second that seldom comes, while the main thread sleeps until all is done.
#
# mechanism: those that ask wait for their answer before they ask again, so a batch is never full, and waits for its whole window
# FIX=1: the batch goes when nobody else asks
# truth: {"cause": "the batching thread waits 15 ms for more requests than can come", "line_function": "collect", "line": 27, "also_ok": [], "half_ok": [], "lost_share": 0.7, "what": ["thread-lock"], "lines": ["collect", "serve", 27], "claimed": true, "never": ["sleeping"]}
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
ASKING, FULL, WINDOW_S, QUESTIONS = 3, 8, 0.015, 80


def collect(questions):
    batch = [questions.get()]
    until = time.monotonic() + WINDOW_S
    while len(batch) < FULL:
        try:
            if FIX:
                batch.append(questions.get_nowait())
            else:
                batch.append(questions.get(timeout=max(0.0, until - time.monotonic())))  # <-- here
        except queue.Empty:
            break
    return batch


def serve(questions, times):
    simgpu.bind()
    for _ in range(QUESTIONS):
        batch = collect(questions)
        simgpu.send(4096)
        simgpu.launch(2000)
        simgpu.item()
        for answered in batch:
            answered.set()
    times.append(time.perf_counter())


def ask(questions):
    while True:
        answered = threading.Event()
        questions.put(answered)
        answered.wait()


def main():
    simgpu.start()
    questions, times = queue.Queue(), []
    start = time.perf_counter()
    for _ in range(ASKING):
        threading.Thread(target=ask, args=(questions,), daemon=True).start()
    threading.Thread(target=serve, args=(questions, times)).start()
    while not times:
        time.sleep(0.5)
    print(f"done: {QUESTIONS} steps in {times[0] - start:.2f} s", flush=True)


main()
