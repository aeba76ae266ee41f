#!/usr/bin/env python3
"""Fetches CPython interpreters of several versions from the packages of distributions, to run as they
are: fetch_pythons.py FOLDER [SECONDS]. Nothing is installed, and root is not needed.

Prints a line for each version: 'python3.14 3.14.8-1 Debian forky', or 'python3.14 - why not'. What
was fetched works as FOLDER/bin/python3.N, and stays for the next time. SECONDS (default 60) are for
all of them together.
"""

import collections
import concurrent.futures
import fcntl
import glob
import hashlib
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time

Source = collections.namedtuple("Source", "distribution suite url keyring pins")

DEBIAN = ("http://deb.debian.org/debian", "/usr/share/keyrings/debian-archive-keyring.gpg", None)
UBUNTU = "http://archive.ubuntu.com/ubuntu"
LOADERS = ("lib64", "usr/lib64", "lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu")
LOADER = "ld-linux-x86-64.so.2"

# Debian's keys are at hand where these tests run, Ubuntu's are not on Debian: there, the packages of
# the first release of a suite, which do not change, are known by their sums.
JAMMY = {
    "libc6":
        "ea9a27e0ebdd0cfc9c750d94f8074f3a35d1f97dcc77ae04c370fb498a6b6db2",
    "libexpat1":
        "1bfdea56a97926fb0b21690e3e259bb124e3d761aa10f5c4f2b06b165b9b7c60",
    "libffi8":
        "b4f88c91fa6f4c942097be6abfc365fb133c5e147640168cbb7704fd855eac10",
    "libpython3.10-minimal":
        "e83f695339a6b6b691ccfe11e50a54693606371d294351bdeaaedf2fcc1ba09a",
    "libpython3.10-stdlib":
        "9f631dd658cf253c4a0016d17072056218d8f839383fb41c28fbba1f860364d4",
    "python3.10-minimal":
        "beb041e53740a7720e4289f0caf3e418469951cd66bb5efbefb298e6b016a187",
    "zlib1g":
        "52449467942cc943d651fd16867014e9339f3657935fc09b75b3347aa5a78066",
}
NOBLE = {
    "libc6":
        "af36c7ac770770fe3d3c10e85d6bc538e76e57570ba7db7d397fb9f654783ef3",
    "libexpat1":
        "730b29497212289cda8a3139e693a3538af0cb57846c24f807d1bb293a591c5e",
    "libffi8":
        "637e6a7744de08cd331a41f4efd0d24e6ea9064843dea9d1c6ca87bdb5f038a2",
    "libpython3.12-minimal":
        "28ddd9458eee6592895865de205ee8bd173fc4107e3efd9be214ecb4dbb2b151",
    "libpython3.12-stdlib":
        "d5428fb7fc16f2b930d6df489bdb69a94f72adb7ed21541c9e76f2d5c2a444e1",
    "python3.12-minimal":
        "af9ce0b1da62af10ae8984d27638a7f6901cb20a2893fbedb72dc52fa53c87bc",
    "zlib1g":
        "0b93d16d7498f092fa3070fbbad28cdbc6b3d640f1a7681b96fc37f20d1219f1",
}
PYTHONS = {
    "3.9": (Source("Debian", "bullseye", *DEBIAN), ("libffi7", "python3-distutils")),
    "3.10": (Source("Ubuntu", "jammy", UBUNTU, None, JAMMY), ("libffi8",)),
    "3.11": (Source("Debian", "bookworm", *DEBIAN), ("libffi8",)),
    "3.12": (Source("Ubuntu", "noble", UBUNTU, None, NOBLE), ("libffi8",)),
    "3.13": (Source("Debian", "trixie", *DEBIAN), ("libffi8",)),
    "3.14": (Source("Debian", "forky", *DEBIAN), ("libffi8",)),
    "3.15": (Source("Debian", "forky", *DEBIAN), ("libffi8", "libgcc-s1", "libzstd1")),
}

LAUNCHER = """#!/bin/sh
PYTHONHOME={root}/usr
export PYTHONHOME
exec {loader} --library-path \\
    "{path}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}" {root}/usr/bin/python{version} "$@"
"""


class Cannot(Exception):
    """It cannot be had: the message says why."""


def command(words, deadline, **more):
    left = deadline - time.monotonic()
    if left <= 0:
        raise Cannot("the time was up")
    try:
        return subprocess.run(words, timeout=left, check=True, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more).stdout
    except subprocess.TimeoutExpired:
        raise Cannot("the time was up") from None
    except FileNotFoundError:
        raise Cannot(f"there is no {words[0]} here") from None
    except subprocess.CalledProcessError as why:
        said = [line for line in why.stdout.splitlines() if line.startswith(("E:", "W:"))]
        raise Cannot(f"{words[0]}: {(said or [f'exit status {why.returncode}'])[0]}") from None


def configuration(root, source):
    """apt's, with nothing of this machine's."""
    for folder in ("lists/partial", "cache/archives/partial", "empty"):
        os.makedirs(os.path.join(root, "apt", folder), exist_ok=True)
    apt = os.path.join(root, "apt")
    how = f"signed-by={source.keyring}" if source.keyring else "trusted=yes"
    with open(os.path.join(apt, "sources"), "w", encoding="utf-8") as file:
        file.write(f"deb [arch=amd64 {how}] {source.url} {source.suite} main\n")
    with open(os.path.join(apt, "status"), "w", encoding="utf-8"):
        pass
    settings = {
        "Dir::Etc::main": f"{apt}/empty/none", "Dir::Etc::parts": f"{apt}/empty",
        "Dir::Etc::sourcelist": f"{apt}/sources", "Dir::Etc::sourceparts": f"{apt}/empty",
        "Dir::Etc::preferencesparts": f"{apt}/empty", "Dir::State": apt,
        "Dir::State::lists": f"{apt}/lists", "Dir::State::status": f"{apt}/status",
        "Dir::Cache": f"{apt}/cache", "APT::Architecture": "amd64", "APT::Architectures": "amd64",
        "APT::Sandbox::User": "", "Acquire::Languages": "none", "Acquire::Retries": "1",
        "Acquire::http::Timeout": "10", "Debug::NoLocking": "true",
        # A mirror that is some weeks behind serves as well.
        "Acquire::Check-Valid-Until": "false",
    }
    path = os.path.join(apt, "conf")
    with open(path, "w", encoding="utf-8") as file:
        for name, value in settings.items():
            file.write(f'{name} "{value}";\n')
        file.write("#clear Acquire::IndexTargets;\n"
                   'Acquire::IndexTargets::deb::Packages { MetaKey "$(COMPONENT)/binary-$(ARCHITECTURE)/'
                   'Packages"; flatMetaKey "Packages"; };\n')
    return {**os.environ, "APT_CONFIG": path, "LC_ALL": "C"}


def package_of(path):
    return os.path.basename(path).split("_")[0]


def release_of(paths, package):
    return next(os.path.basename(path).split("_")[1] for path in paths if package_of(path) == package)


def check_sums(paths, pins):
    for path in paths:
        name = package_of(path)
        with open(path, "rb") as file:
            found = hashlib.sha256(file.read()).hexdigest()
        if pins[name] != found:
            raise Cannot(f"the package {name} has the sum {found}, not the known one")


def fetch(root, version, deadline):
    """The versions of the interpreter and of its C library."""
    source, libraries = PYTHONS[version]
    env = configuration(root, source)
    folder = os.path.join(root, "apt", "packages")
    packages = [f"python{version}-minimal", f"libpython{version}-minimal",
                f"libpython{version}-stdlib", "libc6", "zlib1g", "libexpat1", *libraries]
    os.makedirs(folder)
    command(["apt-get", "-q", "update"], deadline, env=env)
    command(["apt-get", "-q", "download", *packages], deadline, env=env, cwd=folder)
    found = glob.glob(os.path.join(folder, "*.deb"))
    if len(found) != len(packages):
        raise Cannot(f"apt-get brought {len(found)} of {len(packages)} packages")
    if source.pins is not None:
        check_sums(found, source.pins)
    for path in found:
        into = "libc" if package_of(path) == "libc6" else "."
        command(["dpkg-deb", "-x", path, os.path.join(root, into)], deadline)
    return release_of(found, f"python{version}-minimal"), release_of(found, "libc6")


def libc_version(text):
    return tuple(int(number) for number in re.search(r"(\d+)\.(\d+)", text).groups())


def write_launcher(root, version, libc, path, deadline):
    """With the newer C library of two, theirs and the host's: what it loads is of either. Only this
    program is to have it, not what it starts: so it is no matter of the environment."""
    theirs = os.path.join(root, "libc")
    newer = libc_version(libc) > libc_version(os.confstr("CS_GNU_LIBC_VERSION"))
    loader = loader_of(theirs if newer else "/")
    libraries = [root, theirs] if newer else [root]
    folders = [os.path.join(place, part, "x86_64-linux-gnu")
               for place in libraries for part in ("lib", "usr/lib")]
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(LAUNCHER.format(root=shlex.quote(root), loader=shlex.quote(loader),
                                   path=":".join(folders), version=version))
    os.chmod(path + ".new", 0o755)
    command([path + ".new", "-c", "import ctypes, threading, asyncio"], deadline)
    os.rename(path + ".new", path)


def loader_of(root):
    for folder in LOADERS:
        path = os.path.join(root, folder, LOADER)
        if os.path.isfile(path):
            return path
    raise Cannot(f"there is no {LOADER} in {root}")


def have(folder, version, deadline):
    """The line that says so."""
    name = f"python{version}"
    root = os.path.join(folder, name)
    path = os.path.join(folder, "bin", name)
    source, libraries = PYTHONS[version]
    note = os.path.join(root, "-".join(["fetched", *libraries]))
    try:
        if not (os.path.exists(note) and os.path.exists(path)):
            shutil.rmtree(root, ignore_errors=True)
            os.makedirs(root)
            release, libc = fetch(root, version, deadline)
            write_launcher(root, version, libc, path, deadline)
            shutil.rmtree(os.path.join(root, "apt"))
            with open(note, "w", encoding="utf-8") as file:
                file.write(f"{release} {source.distribution} {source.suite}\n")
        with open(note, encoding="utf-8") as file:
            return f"{name} {file.read().strip()}"
    except (Cannot, OSError) as why:
        return f"{name} - {why}"


def main():
    folder = os.path.abspath(sys.argv[1])
    deadline = time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else 60)
    os.makedirs(os.path.join(folder, "bin"), exist_ok=True)
    if platform.machine() != "x86_64":
        print("\n".join(f"python{version} - these are for x86-64" for version in PYTHONS))
        return
    with open(os.path.join(folder, "lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with concurrent.futures.ThreadPoolExecutor(len(PYTHONS)) as threads:
            for line in threads.map(lambda version: have(folder, version, deadline), PYTHONS):
                print(line, flush=True)


if __name__ == "__main__":
    main()
