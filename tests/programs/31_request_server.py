# An image classifier behind HTTP: a thread waits for requests, the client is a process of its own.
#
# source: https://github.com/triton-inference-server/server/issues/5082 (0.07 s of a request's 0.08 s are its preprocessing in Python)
# source: https://github.com/pytorch/serve/pull/2491 (preprocessing times far exceed inference time)
# mechanism: each request's pixels are normalised one by one in Python, and made into a tensor from a list; the GPU works for a few ms a request
# FIX=1: the bytes are copied to the GPU, and normalised there
# truth: {"cause": "each request's image is normalised pixel by pixel in Python before the GPU gets it", "line_function": "preprocess", "line": 62, "also_ok": ["host code in preprocess"], "half_ok": ["GPU idle between requests"], "lost_share": 0.6, "what": ["python", "native", "host-code"], "lines": [62, "preprocess"]}
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.request

SIZE = 224
SECONDS = 9.0
WARM = 8


def client(port):
    """Sends images, one after the other; says how many, and how long it took."""
    image = os.urandom(3 * SIZE * SIZE)
    count = start = 0
    while not start or time.perf_counter() - start < SECONDS:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/classify", data=image).read()
        time.sleep(0.005)
        count += 1
        if count == WARM:
            start = time.perf_counter()
    print(count - WARM, time.perf_counter() - start)


if "client" in sys.argv:
    client(sys.argv[2])
    sys.exit()

import torch  # noqa: E402
from torch import nn  # noqa: E402

FIX = os.environ.get("FIX") == "1"
DEVICE = "cuda"
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Classifier(nn.Module):
    def __init__(self, dim=768, depth=16):
        super().__init__()
        self.patches = nn.Conv2d(3, dim, 16, 16)
        self.blocks = nn.Sequential(*(nn.TransformerEncoderLayer(dim, 12, 4 * dim, batch_first=True) for _ in range(depth)))
        self.head = nn.Linear(dim, 1000)

    def forward(self, x):
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


def preprocess(body):
    if FIX:
        pixels = torch.frombuffer(bytearray(body), dtype=torch.uint8).to(DEVICE).view(SIZE, SIZE, 3).permute(2, 0, 1)[None] / 255
        return (pixels - torch.tensor(MEAN, device=DEVICE).view(3, 1, 1)) / torch.tensor(STD, device=DEVICE).view(3, 1, 1)
    planes = [[(value / 255 - MEAN[c]) / STD[c] for value in body[c::3]] for c in range(3)]  # <-- here
    return torch.tensor(planes).view(1, 3, SIZE, SIZE).to(DEVICE)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with torch.inference_mode():
            scores = self.server.model(preprocess(body)).softmax(-1)
            best = scores.topk(5)
        answer = json.dumps({"classes": best.indices[0].tolist(), "scores": best.values[0].tolist()}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *words):
        pass


def main():
    torch.manual_seed(0)
    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    server.model = Classifier().to(DEVICE).eval()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    said = subprocess.run([sys.executable, __file__, "client", str(server.server_port)], stdout=subprocess.PIPE, text=True, check=True)
    server.shutdown()
    thread.join()
    count, seconds = said.stdout.split()
    print(f"done: {count} steps in {float(seconds):.2f} s")


if __name__ == "__main__":
    main()
