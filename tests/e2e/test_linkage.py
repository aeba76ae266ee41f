"""The same program gives the same rows, however it reaches CUDA."""

import os
import re
import sys

import harness
