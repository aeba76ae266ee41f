"""Waits for a server on this machine. Twin: the server answers at once, and the program computes."""
import socket
import threading
import time

import gpu


def serve(server):
    connection, _ = server.accept()
    while connection.recv(1):
        if not gpu.TWIN:
            time.sleep(0.04)
        connection.sendall(b"x")


server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=serve, args=(server,), daemon=True).start()
with socket.create_connection(server.getsockname()) as connection:
    for _ in gpu.rounds():
        connection.sendall(b"x")
        connection.recv(1)  # idle: network
        if gpu.TWIN:
            values = [str(i) for i in range(200_000)]  # twin: python
