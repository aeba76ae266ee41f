"""slow_loads.py imports it."""

import __main__

__main__.Loader.still()
