"""A server: each request decodes ten tokens without a graph; then it is idle for nine times as long."""

import os

os.environ.update(STEPS_EAGER="1", STEPS_TOKENS="10", STEPS_REST="9")
__import__("program_torch_decoding")
