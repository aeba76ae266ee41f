"""README and docs/tour.md show what the commands print, except for numbers, paths and parts left out as '...'."""

import os
import re
import shlex
import unittest

import harness
import stored
import test_gpu_side

NUMBER = re.compile(r"\d[\d.]*( (ns|us|ms|s|min|%|KiB|MiB|GiB|bytes)\b)?")
PICTURE = re.compile(r"(?<= )[▁▂▃▄▅▆▇█.#=|-]+(?= |$)", re.M)
PLACE = re.compile(r"(?<!\S)/[^\s,]+/(?=[^/\s])")
LEFT_OUT = re.compile(r"(?<!\S)\.\.\.(?!\S)")
# With a real driver, doctor describes another machine than the page does.
OF_THE_MACHINE = os.path.exists("/proc/driver/nvidia/version")
RUN_ELSEWHERE = ("probe", "stop")  # by test_probe.py and test_control.py: slow, and of a program that runs


PAGES = ("README.md", "docs/tour.md")
WITH_SIM = ["scripts/with-sim"]


def shown(page):
    """[(command, the output that the page shows)]"""
    found, open_ = [], False
    for line in stored.read(os.path.join(stored.ROOT, page)).splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            open_ = True
        elif line and not line.startswith("    "):
            open_ = False
        elif open_:
            found[-1][1].append(line[4:])
    return [(command, "\n".join(lines)) for command, lines in found]


# Which part cost most differs from run to run.
COST = re.compile(r"gpuverify cost (?:less than |at least )?[\d.]+ % of this run(?: \([^)]*\))?"
                  r"(?:, without what CUPTI costs the GPU)?(?:, and [\d.]+ \w+ at its start and end)?")


def bare(text):
    for pattern, instead in ((COST, "gpuverify cost"), (PLACE, ""), (PICTURE, "~"), (NUMBER, "N")):
        text = pattern.sub(instead, text)
    text = re.sub(r"\bcalls\b", "call", text)
    return " ".join(text.split())


# The simulator's defaults.
USUAL = dict.fromkeys(("GV_SIM_LOAD_NS", "GV_SIM_JIT_NS", "GV_SIM_KERNEL_NS", "GPUVERIFY_STACKS"))
# On a busy machine any call may wait for a CPU: such a run is repeated.
ATTEMPTS = 5
DISTURBED = re.compile(r"\b(descheduled|unknown|no-cpu)\b")
USUAL["GPUVERIFY_STALL_US"] = "4000"


# Commands of README that other tests run as they are written: they build, or install.
RUN_BY = {"scripts/demo --sim": "tests/suite.py", "scripts/test": "scripts/test",
          "sudo ninja -C build install && sudo ldconfig": "tests/install/test_install.py",
          "scripts/wheel && pip install build/wheel/gpuverify-*_x86_64.whl": "tests/install/test_wheel.py"}
PARTS = ["Example", "Install", "Use", "What it costs", "Limits"]


def readme_commands():
    """Those of its blocks, its table, and its sentences, in its order."""
    found = []
    for line in stored.read(os.path.join(stored.ROOT, "README.md")).splitlines():
        if re.match(r"    (\$ )?(scripts/|gpuverify |sudo |export |LD_PRELOAD=)", line):
            found.append(re.sub(r"^    (\$ )?|  +#.*", "", line))
        elif line.startswith("|"):
            found += re.findall(r"`(gpuverify [^`]*)`", line)
        else:
            found += re.findall(r"`(scripts/with-sim gpuverify [^`]*)`", line)
    return found


class AsWritten(harness.Case):
    """README's commands in a folder like a clone that the demo has built, with nothing else on the PATH."""
    gpu = "auto"

    def test_every_command_works(self):
        build = os.path.dirname(os.path.dirname(harness.gpuverify()))
        if not os.path.exists(os.path.join(build, "build.ninja")):
            self.skipTest("not in a build folder")
        os.symlink(build, self.path("build"))
        for name in ("scripts", "kernels"):
            os.symlink(os.path.join(harness.SOURCE, name), self.path(name))
        exported, commands = "true", [command for command in readme_commands() if command not in RUN_BY]
        self.assertGreater(len(commands), 13, commands)
        for command in commands:
            with self.subTest(command):
                # A machine with a GPU; scripts/with-sim needs none.
                result = self.run_program(["bash", "-c", f"{exported} && {command}"], preload=False, sim="with-sim" not in command,
                                          cwd=self.dir, env={"PATH": "/usr/bin:/bin", "HOME": self.dir, "GPUVERIFY_TRACE": None})
                self.assertEqual(result.status, 0, str(result))
            if command.startswith("export "):
                exported = command
        self.settle()
        for name in ("slow.db", "slow.html", "slow.pftrace", "fast.db"):
            self.assertTrue(os.path.exists(self.path(name)), name)

    def test_it_is_short_and_has_its_parts(self):
        lines = stored.read(os.path.join(stored.ROOT, "README.md")).splitlines()
        self.assertLessEqual(len(lines), 90)
        self.assertEqual([line[3:] for line in lines if line.startswith("## ")], PARTS)
        self.assertEqual(sum(line.startswith("| ") for line in lines), 1 + 8)
        self.assertIn("(docs/page.png)", "".join(lines))
        for command, place in RUN_BY.items():
            self.assertIn(command, readme_commands())
            self.assertTrue(os.path.exists(os.path.join(stored.ROOT, place)))


class WithSim(harness.Case):
    def test_finds_the_gpuverify_that_was_built(self):
        script = os.path.join(harness.SOURCE, *WITH_SIM)
        build = os.path.dirname(os.path.dirname(harness.gpuverify()))
        result = self.run_program([script, "gpuverify", "--version"], preload=False, env={"GV_BUILD": build, "PATH": "/usr/bin:/bin"})
        self.assertEqual((result.status, result.out[:9]), (0, "gpuverify"), str(result))


@harness.depends_on_time("a call that the machine holds up is one more stall than README shows")
class Readme(test_gpu_side.Seen):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("build", "kernels"))
        for name in ("load_in_loop", "driver_tour"):
            os.symlink(harness.workload(name), self.path("build", "kernels", name))
        for name, words in (("slow", []), ("fast", ["10", "once"])):
            for _ in range(ATTEMPTS):
                self.run_program([harness.workload("load_in_loop"), *words],
                                 env={**USUAL, "GPUVERIFY_TRACE": self.path(f"{name}.db")})
                self.settle()
                trace = harness.Trace(self.path(f"{name}.db"))
                causes = " ".join(row[0] for row in trace.rows("SELECT cause FROM stalls"))
                whats = [row[0] for row in trace.rows("SELECT what FROM findings ORDER BY id")]
                trace.close()
                if not DISTURBED.search(" ".join([causes, *whats])) and (name == "fast" or whats[:1] == ["waits"]):
                    break
            else:
                self.skipTest("the machine is busy: the program waited for a CPU")

    def leave_a_session(self):
        self.run_program([self.path("build", "kernels", "driver_tour")], cwd=self.dir,
                         env={"GPUVERIFY_TRACE": None, "GPUVERIFY_COLLECTOR": "off"})

    def test_pages_show_what_the_commands_print(self):
        commands = [shown_here for page in PAGES for shown_here in shown(page)]
        self.assertGreater(len(commands), 8, commands)
        for command, wanted in commands:
            words = shlex.split(command)
            if words[:1] == WITH_SIM:
                words = words[1:]
            self.assertEqual(words[0], "gpuverify")
            if words[1] in RUN_ELSEWHERE or (words[1] == "doctor" and OF_THE_MACHINE):
                continue
            if words[1] == "recover":
                self.leave_a_session()
            with self.subTest(command):
                for _ in range(ATTEMPTS if words[1] == "run" else 1):
                    result = self.run_program([harness.gpuverify(), *words[1:]], preload=False, cwd=self.dir,
                                              env={**USUAL, "GPUVERIFY_TRACE": None, "COLUMNS": "100"})
                    if not DISTURBED.search(result.err):
                        break
                else:
                    if words[1] == "run":
                        self.skipTest("the machine is busy: the program waited for a CPU")
                if words[1] == "run":
                    os.utime(self.path("fast.db"))  # which README runs next
                pattern = " ?.* ?".join(re.escape(bare(part)) for part in LEFT_OUT.split(wanted))
                said = bare(result.out + result.err)
                self.assertTrue(re.fullmatch(pattern, said), f"\n{pattern}\n{said}\n{result.out}{result.err}")


if __name__ == "__main__":
    unittest.main()
