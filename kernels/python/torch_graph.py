"""PyTorch: captures and replays a CUDA graph. A wrong call inside it would break the capture."""
from needs import needs

needs("torch")

import torch  # noqa: E402

static = torch.zeros(1000, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    static.add_(1)
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    static.add_(1)
    static.mul_(2)
for _ in range(3):
    graph.replay()
torch.cuda.synchronize()
print("torch graph", static[0].item())
