# Trains an actor on the GPU; a thread keeps a compressed journal of what it did.
#
# source: https://github.com/389ds/389-ds-base/issues/7639 (log compression holds the lock that all worker threads need)
# source: https://github.com/Delgan/loguru/issues/837 (logging is blocked for ten seconds while a log file is compressed)
# mechanism: the journal's thread compresses while it holds the lock that record() needs in each step
# FIX=1: it takes what was recorded under the lock, and compresses afterwards
# truth: {"cause": "the journal's thread holds the lock while it compresses, and the loop waits for the lock in record()", "line_function": "flush", "line": 52, "also_ok": ["waiting for the lock in record()"], "half_ok": ["waiting for a lock, without a line"], "lost_share": 0.6, "what": ["thread-lock"], "lines": [52, "flush", "record", "compress"]}
import os
import tempfile
import threading
import time
import zlib

import numpy as np
import torch
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
STATES, ACTIONS, WIDTH, BATCH = 256, 32, 1024, 4096
STEPS = 3000
MAX_SECONDS = 9.0
KEPT = 60


class Journal:
    """The last records, written to a file again and again."""

    def __init__(self, path):
        self.path = path
        self.lock = threading.Lock()
        self.records = []
        self.ends = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def record(self, values):
        with self.lock:
            self.records.append(values)
            del self.records[:-KEPT]

    def compress(self, records):
        return zlib.compress(b"".join(records), 6)

    def flush(self):
        if FIX:
            with self.lock:
                records = list(self.records)
            packed = self.compress(records)
        else:
            with self.lock:
                packed = self.compress(self.records)  # <-- here
        with open(self.path, "wb") as file:
            file.write(packed)

    def run(self):
        while not self.ends:
            time.sleep(0.25)
            self.flush()

    def close(self):
        self.ends = True
        self.thread.join()


def make_actor():
    return nn.Sequential(nn.Linear(STATES, WIDTH), nn.Tanh(), *(m for _ in range(6) for m in (nn.Linear(WIDTH, WIDTH), nn.Tanh())),
                         nn.Linear(WIDTH, ACTIONS))


def main():
    torch.manual_seed(0)
    actor = make_actor().to(DEVICE)
    optimizer = torch.optim.Adam(actor.parameters(), lr=3e-4, fused=True)
    states = torch.randn(16 * BATCH, STATES, device=DEVICE)
    noise = np.random.default_rng(0).normal(size=(64, 1024)).astype(np.float32)
    folder = tempfile.mkdtemp(prefix="journal-")
    journal = Journal(os.path.join(folder, "journal.z"))
    start = done = 0
    for step in range(STEPS):
        if step == 10:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        x = states[(step % 16) * BATCH :][:BATCH]
        for _ in range(4):
            advantage = x[:, :ACTIONS].tanh()
            loss = -(actor(x).log_softmax(-1) * advantage).mean()
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        journal.record((noise + step).tobytes())
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")
    journal.close()
    os.unlink(journal.path)
    os.rmdir(folder)


if __name__ == "__main__":
    main()
