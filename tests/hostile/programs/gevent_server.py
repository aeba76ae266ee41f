"""REQUESTS: gevent's pywsgi server and a pool of its workers in one process. Each request calls CUDA at some depth, from
the request's greenlet and from workers."""

import ctypes
import sys

from gevent import monkey

monkey.patch_all()

import gevent  # noqa: E402
import gevent.pool  # noqa: E402
import gevent.pywsgi  # noqa: E402
import gevent.threadpool  # noqa: E402

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
answers = []


def call(levels):
    if levels:
        return call(levels - 1)
    return cuda.cuCtxSynchronize() + cuda.cuMemAlloc_v2(ctypes.byref(ctypes.c_uint64()), ctypes.c_size_t(1 << 50))


def work(levels):
    result = call(levels)
    gevent.sleep(0)
    return result + call(levels // 2)


def in_real_thread(levels):
    cuda.cuCtxSetCurrent(context)
    return call(levels)


def application(environment, start):
    number = int(environment["PATH_INFO"][1:])
    jobs = [gevent.spawn(work, (number * 7 + job) % 30) for job in range(3)]
    native = gevent.get_hub().threadpool.apply(in_real_thread, (number % 10,)) if number % 5 == 0 else 2
    gevent.joinall(jobs)
    start("200 OK", [("Content-Type", "text/plain")])
    return [f"{number} {[job.value for job in jobs]} {native} {call(number % 40)}\n".encode()]


def ask(port, number):
    with gevent.socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(f"GET /{number} HTTP/1.0\r\n\r\n".encode())
        answer = b""
        while more := connection.recv(65536):
            answer += more
    answers.append(answer.rpartition(b"\r\n\r\n")[2].decode())


def main(requests):
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    server = gevent.pywsgi.WSGIServer(("127.0.0.1", 0), application, log=None)
    server.start()
    clients = gevent.pool.Pool(8)
    for number in range(requests):
        clients.spawn(ask, server.server_port, number)
    clients.join()
    server.stop()
    print("".join(sorted(answers, key=lambda line: int(line.split()[0]))), end="")


main(int(sys.argv[1]))
