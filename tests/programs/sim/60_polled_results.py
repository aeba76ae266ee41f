# Serves requests in batches: a thread of its own gives them to the GPU, and those that asked look for their results.
#
# mechanism: each asks again 20 ms after its question, though the answer is there after 3 ms; the batching thread, and the GPU, wait for the next
# FIX=1: the answer wakes who waits for it
# truth: {"cause": "those that ask sleep 20 ms between looks for their results", "line_function": "ask", "line": 33, "also_ok": [], "half_ok": ["the batching thread waits for requests"], "lost_share": 0.8, "what": ["thread-lock", "sleep"], "lines": ["serve", "ask", 33], "claimed": true}
import os
import queue
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"
ASKING, QUESTIONS = 4, 70


class Question:
    def __init__(self):
        self.answered = threading.Event()


def ask(questions):
    for _ in range(QUESTIONS):
        question = Question()
        questions.put(question)
        if FIX:
            question.answered.wait()
            continue
        while not question.answered.is_set():
            # A result is seldom there at once.
            time.sleep(0.02)  # <-- here


def serve(questions):
    simgpu.bind()
    for _ in range(QUESTIONS):
        batch = []
        while len(batch) < ASKING:
            batch.append(questions.get())
        simgpu.send(4096)
        simgpu.launch(2000)
        simgpu.item()
        for question in batch:
            question.answered.set()


def main():
    simgpu.start()
    questions = queue.Queue()
    threads = [threading.Thread(target=ask, args=(questions,)) for _ in range(ASKING)]
    threads.append(threading.Thread(target=serve, args=(questions,)))
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"done: {QUESTIONS} steps in {time.perf_counter() - start:.2f} s")


main()
