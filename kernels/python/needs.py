"""needs("numba") ends the program with status 77 and a message if the package is missing."""
import importlib.util
import sys


def needs(*packages):
    for package in packages:
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:  # a package inside a missing one
            found = None
        if found is None:
            print(f"skipped: no {package} here")
            sys.exit(77)
