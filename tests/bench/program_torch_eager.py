"""program_torch_decoding.py without a graph."""

import os

os.environ["STEPS_EAGER"] = "1"
__import__("program_torch_decoding")
