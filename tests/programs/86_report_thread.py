# Trains an agent; a thread writes a table of the last rewards after each step.
#
# source: https://github.com/pytorch/pytorch/issues/101962 (the thread of SummaryWriter holds the GIL for too long, and training becomes slower)
# mechanism: the thread formats 100 000 numbers in Python for each step: as it holds the GIL, each operation of the loop waits up to 5 ms for it
# FIX=1: a process of its own does so
# truth: {"cause": "a thread formats numbers in Python after each step, and the loop waits for the GIL", "line_function": "render", "line": 30, "also_ok": ["waiting for the GIL, which render or write_reports holds"], "half_ok": ["waiting for the GIL in update, without the holder", "launching or python in update"], "lost_share": 0.65, "what": ["gil"], "lines": [30, "render", "write_reports", 38], "step": "an update of main()", "step_line": 107, "warm_up_steps": 6, "step_ms": [22, 7], "saves_s": 5.4}
import multiprocessing
import os
import queue
import tempfile
import threading
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
PLACES, KEPT = 256, 400
STATES, ACTIONS, WIDTH, BATCH = 128, 18, 512, 2048
STEPS = 2000
MAX_SECONDS = 8.0


def render(records):
    lines = []
    for number, rewards in enumerate(records):
        lines.append(f"{number:6d} " + " ".join(f"{reward:.4f}" for reward in rewards))  # <-- here
    return "\n".join(lines)


def write_reports(rewards, path):
    records = [[0.0] * PLACES] * KEPT
    while (item := rewards.get()) is not None:
        records = records[1:] + [item]
        text = render(records)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


class Report:
    def __init__(self, path):
        if FIX:
            context = multiprocessing.get_context("spawn")
            self.rewards = context.Queue()
            self.worker = context.Process(target=write_reports, args=(self.rewards, path))
        else:
            self.rewards = queue.Queue()
            self.worker = threading.Thread(target=write_reports, args=(self.rewards, path))
        self.worker.start()

    def add(self, rewards):
        if self.rewards.qsize() < 2:  # a report may be left out
            self.rewards.put(rewards.tolist())

    def close(self):
        self.rewards.put(None)
        self.worker.join()


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(STATES, WIDTH)
        self.body = nn.ModuleList(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)) for _ in range(6))
        self.policy, self.value = nn.Linear(WIDTH, ACTIONS), nn.Linear(WIDTH, 1)

    def forward(self, x):
        x = self.first(x).tanh()
        for layer in self.body:
            x = x + layer(x)
        return self.policy(x), self.value(x)[:, 0]


def update(agent, optimizer, states, actions, returns):
    """Four passes over the same experience."""
    with torch.no_grad():
        before = agent(states)[0].log_softmax(-1).gather(1, actions)
    for _ in range(4):
        logits, value = agent(states)
        now = logits.log_softmax(-1)
        ratio = (now.gather(1, actions) - before).exp()[:, 0]
        advantage = returns - value.detach()
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
        gain = torch.minimum(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
        entropy = -(now.exp() * now).sum(-1).mean()
        loss = F.mse_loss(value, returns) - gain - 0.01 * entropy
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
    return loss.detach()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    agent = Agent().to(DEVICE)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-4, fused=True)
    states = torch.randn(8 * BATCH, STATES, device=DEVICE)
    actions = torch.randint(0, ACTIONS, (8 * BATCH, 1), device=DEVICE)
    returns = states[:, :4].sum(1).tanh()
    folder = tempfile.mkdtemp(prefix="report-")
    report = Report(os.path.join(folder, "rewards.txt"))
    start = done = 0
    for step in range(STEPS):
        if step == 6:
            torch.cuda.synchronize()
            start, done = time.perf_counter(), 0
        part = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
        loss = update(agent, optimizer, states[part], actions[part], returns[part])
        report.add(rng.normal(step * 1e-3, 1.0, PLACES))
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        done += 1
        if start and time.perf_counter() - start > MAX_SECONDS:
            break
    torch.cuda.synchronize()
    print(f"done: {done} steps in {time.perf_counter() - start:.2f} s")
    report.close()
    os.unlink(os.path.join(folder, "rewards.txt"))
    os.rmdir(folder)


if __name__ == "__main__":
    main()
