"""Imported by slow_loads.py."""

import __main__

__main__.Loader.still()
