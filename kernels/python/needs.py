"""needs("numba") ends the program with status 77 and a word when a package is not there."""
import importlib.util
import sys


def needs(*packages):
    for package in packages:
        try:
            found = importlib.util.find_spec(package)
        except ModuleNotFoundError:  # of a package inside one that is not there
            found = None
        if found is None:
            print(f"skipped: no {package} here")
            sys.exit(77)
