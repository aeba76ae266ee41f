"""Writes results as JSON, and compares them with earlier ones of the same machine."""

import ctypes
import hashlib
import json
import os
import platform
import subprocess
import time

# Ratios outside of this range are marked.
NOTABLE = (0.8, 1.25)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("model name", "CPU part")):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def gpu_and_driver():
    """(name of device 0, version that the driver says it supports), or nothing."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return None, None
    name, version, device = ctypes.create_string_buffer(128), ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGet(ctypes.byref(device), 0) != 0:
        return None, None
    driver.cuDeviceGetName(name, 128, device)
    driver.cuDriverGetVersion(ctypes.byref(version))
    cuda = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
        number = next((word for word in words if word.count(".") >= 1 and word[0].isdigit()), "")
        cuda = f"{number} ({cuda})" if number else cuda
    except OSError:
        pass
    return name.value.decode("utf-8", "replace"), cuda


def machine():
    gpu, driver = gpu_and_driver()
    return {"processor": processor(), "processors": len(os.sched_getaffinity(0)),
            "kernel": "Linux " + ".".join(platform.release().split(".")[:2]), "libc": " ".join(platform.libc_ver()), "gpu": gpu,
            "driver": driver}


def key(about):
    """A key of the hardware."""
    text = json.dumps([about["processor"], about["processors"], about["gpu"]])
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def commit(checkout):
    version = os.path.join(checkout, "VERSION")  # of an unpacked archive
    if os.path.exists(version):
        with open(version, encoding="utf-8") as file:
            return next((line.split()[1] for line in file if line.startswith("commit ")), None)
    try:
        done = subprocess.run(["git", "-C", checkout, "describe", "--always", "--dirty"],
                              capture_output=True, text=True, check=False)
    except OSError:  # no git here
        return None
    return done.stdout.strip() or None


def result(group, bench, checkout, command):
    return {"group": group, "machine": machine(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "load": os.getloadavg()[0], "commit": commit(checkout), "command": command,
            "scale": bench.scale, "found": bench.found, "notes": bench.notes,
            "tables": bench.tables, "charts": bench.charts}


def write(path, what):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(what, file, indent=1)
        file.write("\n")
    os.replace(path + ".part", path)


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None


def middle(value):
    """The number of a result to compare."""
    if isinstance(value, dict):
        value = value.get("median")
    return value if isinstance(value, (int, float)) else None


def compare(now, before):
    """Prints each number beside the earlier one. Other hardware is not compared."""
    if before is None:
        return
    if key(now["machine"]) != key(before["machine"]) or now["scale"] != before["scale"]:
        print("  the earlier result is of another machine or scale: not compared")
        return
    print(f"compared with {before['date']}, {before['commit']}:")
    for name, value in now["found"].items():
        new, old = middle(value), middle(before["found"].get(name))
        if new is None or not old:
            continue
        ratio = new / old
        mark = "" if NOTABLE[0] <= ratio <= NOTABLE[1] else "  <--"
        print(f"  {name:36} {old:12.4g} {new:12.4g} {ratio:8.2f}{mark}")
