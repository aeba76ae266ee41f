"""Imports modules that take long. Twin: imports one beforehand, and calls the same code."""
import importlib
import os
import sys
import tempfile

import gpu

SLOW = """
def work():
    return len([str(i) for i in range(200_000)])


values = work()
"""

with tempfile.TemporaryDirectory() as folder:
    sys.path.insert(0, folder)
    for number in range(100):
        with open(os.path.join(folder, f"slow_{number}.py"), "w", encoding="ascii") as file:
            file.write(SLOW)
    import slow_0

    for number, _ in enumerate(gpu.rounds(), 1):
        if gpu.TWIN:
            slow_0.work()  # twin: python
        else:
            importlib.import_module(f"slow_{number}")  # idle: import
