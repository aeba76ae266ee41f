"""The version as meson.build says it. All else is made from that, or is compared with it by a test."""

import os
import re

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../meson.build"), encoding="utf-8") as file:
    VERSION = re.search(r"^project\(.*?\bversion: '(.+?)'", file.read(), re.M | re.S).group(1)
