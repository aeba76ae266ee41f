"""For pytest: runs the chosen tests only, and writes each test's outcome at once, so that a crash loses no other's.

FOREIGN_CHOSEN names a file with the tests to run, one a line. FOREIGN_OUTCOMES names the file to write, with the test and,
after a tab, "begun", "passed", "failed" or "skipped"; with --collect-only, the tests alone. Tests that the file has already do
not run.
"""

import os
import re

import pytest

OUTCOMES = open(os.environ["FOREIGN_OUTCOMES"], "a", buffering=1, encoding="utf-8")


@pytest.fixture(scope="class")
def initialize_from_pytest_config(request):
    """numba-cuda's own configuration of pytest, which is not in its package, has this fixture."""
    request.cls._dump_failed_filechecks = False  # pylint: disable=protected-access


def name_of(nodeid):
    """Addresses of objects in a name are others in each run."""
    return re.sub(r"0x[0-9a-f]+", "0x", nodeid).replace("\n", " ").replace("\t", " ")


def names_in(path):
    with open(path, encoding="utf-8") as file:
        return {line.rstrip("\n").partition("\t")[0] for line in file}


@pytest.hookimpl(trylast=True)  # after -k and -m, so that no test that they leave out is chosen
def pytest_collection_modifyitems(config, items):
    had = names_in(os.environ["FOREIGN_OUTCOMES"])
    chosen = names_in(os.environ["FOREIGN_CHOSEN"]) if "FOREIGN_CHOSEN" in os.environ else None
    wanted, left_out = [], []
    for item in items:
        name = name_of(item.nodeid)
        (wanted if name not in had and (chosen is None or name in chosen) else left_out).append(item)
    items[:] = wanted
    config.hook.pytest_deselected(items=left_out)
    if config.option.collectonly:
        OUTCOMES.writelines(name_of(item.nodeid) + "\n" for item in items)


def pytest_runtest_logstart(nodeid):
    OUTCOMES.write(f"{name_of(nodeid)}\tbegun\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or not report.passed:
        OUTCOMES.write(f"{name_of(report.nodeid)}\t{report.outcome}\n")
