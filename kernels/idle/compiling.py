"""Calls a compiler: modules of Numba, Triton or Inductor, which here only have the real ones' paths and functions.
Twin: the same module as a part of something else.

    compiling.py [numba|triton|inductor] [twin]
"""
import importlib
import os
import sys
import tempfile

import gpu

PATHS = {"numba": ("numba/core/compiler.py", "compile_extra"),
         "triton": ("triton/compiler/compiler.py", "compile"),
         "inductor": ("torch/_inductor/compile_fx.py", "compile_fx")}
SOURCE = """
def {function}():
    return len([str(i) for i in range(200_000)])
"""

which = next((word for word in sys.argv[1:] if word in PATHS), "numba")
path, function = PATHS[which]
if gpu.TWIN:
    path = "model/layers/encoder.py"
with tempfile.TemporaryDirectory() as folder:
    package = os.path.dirname(os.path.join(folder, path))
    os.makedirs(package)
    while package != folder:  # these come before the real ones, if they are installed
        open(os.path.join(package, "__init__.py"), "w", encoding="ascii").close()
        package = os.path.dirname(package)
    with open(os.path.join(folder, path), "w", encoding="ascii") as file:
        file.write(SOURCE.format(function=function))
    sys.path.insert(0, folder)
    call = getattr(importlib.import_module(path[:-len(".py")].replace("/", ".")), function)
    for _ in gpu.rounds():
        call()  # idle: compile  # twin: python
