# Answers requests of a client that thinks for 25 ms after each answer.
#
# mechanism: parsing a request takes 10 ms of Python, and the GPU needs 2 ms; waiting for requests is no fault
# FIX=1: parsing takes 1 ms
# truth: {"cause": "the server parses each request in Python before the GPU gets it", "line_function": "parse", "line": 39, "also_ok": [], "half_ok": [], "lost_share": 0.4, "what": ["python"], "lines": [39, "parse"], "claimed": true}
import os
import selectors
import socket
import subprocess
import sys
import time

REQUESTS = 40


def client(port):
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(REQUESTS):
            connection.sendall(bytes(64))
            connection.recv(64)
            time.sleep(0.025)


if "client" in sys.argv:
    client(int(sys.argv[2]))
    sys.exit()

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "site-packages"))
import simgpu  # noqa: E402

FIX = os.environ.get("FIX") == "1"


def parse(request):
    end = time.thread_time() + (0.001 if FIX else 0.01)
    value = len(request)
    while time.thread_time() < end:
        for byte in request:
            value = (value * 31 + byte) % 65521  # <-- here
    return value


def answer(request):
    value = parse(request)
    simgpu.send(4096 + value % 64)
    simgpu.launch(2000)
    return str(simgpu.item() * 0 + value).encode()


def serve(connection):
    count = 0
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_READ)
        while True:
            selector.select()
            request = connection.recv(64)
            if not request:
                return count
            connection.sendall(answer(request))
            count += 1


def main():
    simgpu.start()
    with socket.create_server(("127.0.0.1", 0)) as server:
        child = subprocess.Popen([sys.executable, __file__, "client", str(server.getsockname()[1])])
        connection, _ = server.accept()
    with connection:
        start = time.perf_counter()
        count = serve(connection)
    print(f"done: {count} steps in {time.perf_counter() - start:.2f} s")
    child.wait()


main()
