"""Waits for a compiler in a child process, a command that is called ptxas. Twin: it has another name."""
import os
import subprocess
import tempfile

import gpu

with tempfile.TemporaryDirectory() as folder:
    tool = os.path.join(folder, "tool" if gpu.TWIN else "ptxas")
    os.symlink("/bin/sh", tool)
    for _ in gpu.rounds():
        subprocess.run([tool, "-c", "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"], check=True)  # idle: compile  # twin: child
