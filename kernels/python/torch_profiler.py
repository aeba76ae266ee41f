"""PyTorch with its own profiler, which uses CUPTI: [sessions [threads]]. Counts the kernels of each
session, and says whether they lie inside it. Launches 200 kernels between two sessions; with
`threads`, so many threads launch all the time."""
import sys
import threading
import time

from needs import needs

needs("torch")

import torch  # noqa: E402
from torch.profiler import ProfilerActivity, profile  # noqa: E402

sessions = int(sys.argv[1]) if len(sys.argv) > 1 else 1
threads = int(sys.argv[2]) if len(sys.argv) > 2 else 0
is_over = threading.Event()


def add(values, count):
    for _ in range(count):
        values += 1
    torch.cuda.synchronize()


def keep_launching():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        own = torch.zeros(1000, device="cuda")
        while not is_over.is_set():
            for _ in range(50):
                own += 1
            stream.synchronize()


values = torch.ones(1000, device="cuda")
logits = torch.zeros(1000, device="cuda")
torch.relu(logits)
add(values, 50)
others = [threading.Thread(target=keep_launching) for _ in range(threads)]
for other in others:
    other.start()
for session in range(sessions):
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiled:
        for _ in range(150):
            logits = torch.relu(logits)
        torch.cuda.synchronize()
    events = profiled.events()
    calls = [event for event in events if event.name == "aten::relu"]
    kernels = [event for event in events
               if "clamp" in event.name and event.device_type == torch.autograd.DeviceType.CUDA]
    begun = min((event.time_range.start for event in calls), default=0)
    inside = sum(event.time_range.start >= begun for event in kernels)
    print(f"session {session}: {len(calls)} calls, {len(kernels)} kernels, {inside} after the first call",
          flush=True)
    time.sleep(0.8)
    add(values, 200)
is_over.set()
for other in others:
    other.join()
print("torch profiler", values[0].item())
