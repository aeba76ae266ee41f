"""A decoding loop: the replay of a CUDA graph, and a synchronisation of the stream, each step. With STEPS_EAGER, the
launches of its kernels instead. STEPS_TOKENS=N: N times a step."""

import os

import steps

(torch,) = steps.need("torch")
LAYERS, EAGER, TOKENS = 48, "STEPS_EAGER" in os.environ, int(os.environ.get("STEPS_TOKENS", "1"))
torch.manual_seed(1)
weights = [torch.randn(1024, 1024, device="cuda", dtype=torch.float16) / 32 for _ in range(LAYERS)]
state = torch.randn(1, 1024, device="cuda", dtype=torch.float16)
stream = torch.cuda.Stream()
graph = torch.cuda.CUDAGraph()
torch.cuda.synchronize()


def decode():
    hidden = state
    for weight in weights:
        hidden = torch.nn.functional.gelu(hidden @ weight)
    state.copy_(torch.nn.functional.layer_norm(hidden, (1024,)))


with torch.no_grad(), torch.cuda.stream(stream):
    decode()
    stream.synchronize()
    with torch.cuda.graph(graph, stream=stream):
        decode()


def step():
    for _ in range(TOKENS):
        if EAGER:
            decode()
        else:
            graph.replay()
        stream.synchronize()


with torch.no_grad(), torch.cuda.stream(stream):
    steps.run(step)
