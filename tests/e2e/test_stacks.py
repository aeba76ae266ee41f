"""Where in the program a slow call was made: native frames with their names, Python's frames of
every version that is here, exactly as Python itself tells them."""

import contextlib
import json
import os
import shutil
import sqlite3
import struct
import subprocess
import sys

import harness

# Loading takes long enough to be worth a stack, the rest does not.
SLOW = {"GV_SIM_LOAD_NS": "3000000", "GV_SIM_CONTEXT_NS": "0"}
PT_NOTE = 4
INNER, OUTER = 32, 16  # Python frames that are taken of a deep stack
FAKE = [("inner", 13), ("outer", 23)]
PYTHONS = [f"python3.{minor}" for minor in range(9, 16)]


def line_of(file, text):
    with open(os.path.join(harness.SOURCE, "tests", "e2e", "programs", file),
              encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if text in line:
                return number
    raise LookupError(text)


class Runtime(harness.Case):
    """CUDA's frames, also nvcc's, are never the program's location."""

    def stacks(self, program):
        """Where each stack is, innermost first, by the views."""
        if not os.path.exists(harness.workload(program)):
            self.skipTest("there is no nvcc")
        out = self.run_well([harness.workload(program)], env={"GV_SIM_KERNEL_NS": "3000000", "GPUVERIFY_STACKS": "all"}).out
        trace = self.trace()
        if not trace.rows("SELECT * FROM frames WHERE function IS NOT NULL"):
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        found = trace.rows(
            "SELECT f.function, f.line FROM frames f JOIN (SELECT stack, min(depth) AS depth FROM frames"
            " WHERE kind = 'native' AND library NOT LIKE '%libc.so%' GROUP BY stack) USING (stack, depth)"
            " ORDER BY stack")
        shown = json.loads(self.command("stalls", trace.path, "--all", "--top", "0", "-f", "json").out)["stalls"]
        self.assertTrue(shown)
        return out, found, {stall["where"] for stall in shown}, trace

    def expect_lines(self, program):
        out, found, shown, _ = self.stacks(program)
        wanted = [int(line.split()[1]) for line in out.splitlines()]
        self.assertEqual(list(dict.fromkeys(found)), [("main", line) for line in wanted])
        self.assertLessEqual(shown, {f"launch_lines.cu:{line} main" for line in wanted})

    def test_launches_are_where_they_are_written(self):
        self.expect_lines("launch_lines_debug")

    def test_what_is_inlined_is_where_it_is_called(self):
        self.expect_lines("launch_lines_lines")

    def test_functions_where_there_are_no_lines(self):
        _, found, shown, trace = self.stacks("launch_lines")
        self.assertEqual(set(found), {("main", None)})
        self.assertEqual(shown, {"launch_lines main"})
        advice = trace.rows("SELECT DISTINCT advice FROM stalls WHERE advice LIKE '% at %'")
        self.assertTrue(advice)
        for text, in advice:
            self.assertNotIn("libcudart_static", text)

    def test_nvidias_own_static_runtime(self):
        """It does not run on the simulated driver, but starts to."""
        program = harness.workload("saxpy_static_real")
        if not os.path.exists(program):
            self.skipTest("there is no nvcc")
        self.run_program([program], env={"GPUVERIFY_STACKS": "all"})
        frames = self.trace().rows("SELECT kind, function FROM frames WHERE library = ? AND function IS NOT NULL"
                                   " ORDER BY stack, depth", program)
        if not frames:
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        self.assertIn("libcudart_static_", frames[0][1])
        own = [function for kind, function in frames if kind == "native"]
        self.assertEqual(set(own) - {"_start"}, {"main"})


class Native(harness.Case):

    def deep(self, **env):
        self.run_well([harness.program("deep")], env={**SLOW, **env})
        return self.trace()

    def test_functions_files_and_lines(self):
        trace = self.deep()
        stacks = trace.rows("SELECT stack FROM calls WHERE name = 'cuModuleLoadData'")
        self.assertEqual(len(stacks), 3)
        self.assertEqual(len(set(stacks)), 1, "the same place three times is one stack")
        frames = trace.dicts("SELECT * FROM frames WHERE stack = ? ORDER BY depth", stacks[0][0])
        self.assertEqual({frame["kind"] for frame in frames}, {"native"})
        functions = [frame["function"] for frame in frames[:3]]
        if functions[0] is None:
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        self.assertIn("load()", functions[0])
        self.assertIn("Pipeline::stage<long>(long)", functions[1])
        self.assertEqual(functions[2], "main")
        self.assertEqual(os.path.basename(frames[0]["file"]), "deep.cpp")
        self.assertEqual(frames[0]["line"], line_of("deep.cpp", "the line that a stack shows"))
        self.assertEqual(frames[0]["library"], harness.program("deep"))
        for frame in frames:
            self.assertNotIn("libgpuverify", frame["library"] or "")

    def test_inlined_functions_have_frames_of_their_own(self):
        self.run_well([harness.program("inlined")], env=SLOW)
        trace = self.trace()
        stacks = trace.rows("SELECT stack FROM calls WHERE name = 'cuModuleLoadData' ORDER BY start_ns")
        if not trace.rows("SELECT 1 FROM frames WHERE line IS NOT NULL"):
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        chains = (
            [("Scratch::Scratch(char const*)", "in a constructor"), ("sort_axis", "calls the constructor"),
             ("main", "main() calls sort_axis")],
            [("(anonymous namespace)::Holder::take", "in an unnamed namespace"), ("main", "main() calls take")],
            [("main::{lambda}::operator()", "in a lambda"), ("main", "main() calls the lambda")])
        for (stack,), chain in zip(stacks, chains):
            frames = trace.rows("SELECT function, line, address IS NULL FROM frames WHERE stack = ? ORDER BY depth", stack)
            wanted = [(function, line_of("inlined.cpp", text), int(function != "main")) for function, text in chain]
            self.assertEqual(frames[:len(chain)], wanted)
        where = f"inlined.cpp:{line_of('inlined.cpp', 'in a constructor')} Scratch::Scratch"
        self.assertIn(where, " ".join(self.command("report", trace.path).out.split()))

    def test_line_without_a_table_of_the_units_addresses(self):
        """LLVM's compilers write none."""
        program = self.path("deep")
        if subprocess.run(["objcopy", "-R", ".debug_aranges", harness.program("deep"), program],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("objcopy did not make the program")
        self.run_well([program], env=SLOW)
        lines = self.trace().rows("SELECT DISTINCT line FROM frames WHERE function LIKE '%load()%'")
        if not lines:
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        self.assertEqual(lines, [(line_of("deep.cpp", "the line that a stack shows"),)])

    def test_quick_calls_have_none(self):
        trace = self.deep()
        slow = "duration_ns >= 100000"
        self.assertEqual(trace.value(f"SELECT count(*) FROM calls WHERE NOT {slow} "
                                     "AND stack IS NOT NULL"), 0)
        self.assertEqual(trace.value(f"SELECT count(*) FROM calls WHERE {slow} "
                                     "AND stack IS NULL"), 0)

    def test_all_and_off(self):
        trace = self.deep(GPUVERIFY_STACKS="all")
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE stack IS NULL"), 0)

    def test_off(self):
        trace = self.deep(GPUVERIFY_STACKS="off")
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE stack IS NOT NULL"), 0)
        self.assertEqual(trace.rows("SELECT * FROM frames"), [])

    def test_threshold_is_that_of_stalls(self):
        trace = self.deep(GPUVERIFY_STALL_US="60000000")
        self.assertEqual(trace.rows("SELECT * FROM frames"), [])

    def test_file_that_has_changed_is_not_misnamed(self):
        """Another build at the same path: its symbols are not the running program's."""
        copy = self.path("program")
        shutil.copy(harness.program("deep"), copy)
        self.run_well([copy], env={**SLOW, "GPUVERIFY_COLLECTOR": "off"})
        shutil.copy(harness.program("ending"), self.path("other"))
        os.rename(self.path("other"), copy)
        self.command("recover", "-o", self.path("trace.db"))
        frames = self.trace().dicts("SELECT * FROM frames WHERE library = ?", copy)
        self.assertTrue(frames)
        self.assertEqual({frame["function"] for frame in frames}, {None})

    def test_code_without_line_information_has_no_line(self):
        """The start of every program. Right behind a main() that has lines, elfutils answers with
        the last of those."""
        self.run_well([harness.workload("load_while_busy")], env={"GPUVERIFY_STACKS": "all"})
        frames = self.trace().dicts("SELECT * FROM frames WHERE function = '_start'")
        if not frames:
            self.skipTest("no frame of _start: stripped, or built without elfutils")
        self.assertEqual({(frame["file"], frame["line"]) for frame in frames}, {(None, None)})

    def test_call_that_was_left_has_none(self):
        """A jump out of a call that waits: its stack is gone when that is seen."""
        self.run_well([harness.program("jumped")])
        self.assertEqual(self.trace().rows("SELECT result, stack FROM calls "
                                           "WHERE name = 'cuCtxSynchronize'"), [(None, None)])

    def test_notes_that_are_not_mapped(self):
        """A program header may point anywhere: the loader does not look, and so must we."""
        library = self.path("libnotes.so")
        with open(harness.built(harness.PROGRAMS, "libe2e_plugin.so"), "rb") as file:
            image = bytearray(file.read())
        at, size, count = (struct.unpack_from(kind, image, where)[0]
                           for kind, where in (("<Q", 32), ("<H", 54), ("<H", 56)))
        moved = 0
        for header in range(at, at + size * count, size):
            if struct.unpack_from("<I", image, header)[0] == PT_NOTE:
                struct.pack_into("<Q", image, header + 16, 0x70000000)
                moved += 1
        self.assertGreater(moved, 0)
        with open(library, "wb") as file:
            file.write(image)
        self.run_well([harness.program("reopen"), library, "plugin_work"], env=SLOW, quiet=False)
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE name = 'cuModuleLoadData' "
                                     "AND stack IS NOT NULL"), 1)
        self.assertIn(library, {row[0] for row in trace.rows("SELECT library FROM frames")})

    def test_smallest_stacks(self):
        self.run_well([harness.program("small_stack")], env={**SLOW, "GPUVERIFY_STACKS": "all"})
        self.trace()


class Chosen(harness.Case):
    """Calls that put work on the GPU, or wait for it, have stacks although they are quick."""

    LAUNCHES = 100000

    def launches(self, **env):
        self.run_well([harness.workload("launch_loop"), str(self.LAUNCHES)], env={"GV_SIM_KERNEL_NS": "0", **env})
        return self.trace()

    def expect_samples(self, trace, made):
        """They stand for about all calls that put work on the GPU, and each has its own stack."""
        (stand_for, wrong), = trace.rows("SELECT sum(one_of), sum(class NOT IN ('launch', 'copy', 'set', 'sync', 'alloc', 'free',"
                                         " 'graph', 'stream') OR own_stack IS NOT 1) FROM call_sample JOIN calls ON id = call")
        self.assertGreater(stand_for, made * 0.7)
        self.assertLess(stand_for, made * 1.3)
        self.assertEqual(wrong, 0)

    def test_few_launches_of_a_loop_are_chosen(self):
        trace = self.launches()
        self.expect_samples(trace, self.LAUNCHES)
        self.assertLess(trace.value("SELECT count(*) FROM call_sample"), self.LAUNCHES / 50)

    @harness.depends_on_time("a collector without a CPU for a second costs samples")
    def test_stalls_leave_room_for_them(self):
        """Each call is a stall here, and stalls take all that a thread may borrow for them."""
        self.expect_samples(self.launches(GPUVERIFY_STALL_US="1", GV_SIM_KERNEL_NS="2000"), self.LAUNCHES)

    def test_none_are_chosen_where_all_or_none_have_stacks(self):
        for stacks in ("all", "off"):
            trace = self.launches(GPUVERIFY_STACKS=stacks)
            self.assertEqual(trace.value("SELECT count(*) FROM call_sample"), 0)
            (calls, without), = trace.rows("SELECT count(*), total(stack IS NULL) FROM calls")
            # A collector without a CPU for 0.1 s costs stacks, and says so.
            not_taken = trace.value("SELECT total(count) FROM not_taken WHERE what = 'stack'") if stacks == "all" else calls
            self.assertEqual(without, not_taken)


# Each way through these lines is a stack.
MANY_STACKS = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
context = ctypes.c_void_p()
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
def go(way):
    if way == 1:
        cuda.cuCtxSynchronize()
    elif way & 1:
        go(way >> 1)
    else:
        go(way >> 1)
for way in range(1 << 13, (1 << 13) + 6600):
    go(way)
"""


class TooMany(harness.Case):
    def test_calls_whose_stack_has_no_room_are_counted(self):
        self.run_well([sys.executable, "-c", MANY_STACKS], env={"GPUVERIFY_STACKS": "all"})
        trace = self.trace()
        without = trace.value("SELECT count(*) FROM calls WHERE stack IS NULL")
        self.assertGreater(without, 400)
        self.assertEqual(trace.value("SELECT sum(count) FROM not_taken WHERE what = 'stack'"), without)
        self.assertIn(str(without), self.command("query", trace.path, "not-taken").out)
        self.assertEqual(self.command("check", "--max-losses", "0", trace.path).err, "")
        self.assertNotRegex(self.command("report", trace.path).out, r"(?m)^ *!.*\blost\b")  # as a column of stalls has it


class Budget(harness.Case):
    """Stacks take little of a thread's time, so most calls of a loop have that of an earlier one."""

    WAITS = 2000
    SPIN = {"GV_SIM_KERNEL_NS": "150000"}

    def waits(self, **env):
        self.run_well([harness.program("waits"), str(self.WAITS)], env={**SLOW, **self.SPIN, **env})
        trace = self.trace()
        self.assertEqual(trace.value("SELECT count(*) FROM calls WHERE class = 'sync'"), self.WAITS - 1)
        return trace

    def test_short_waits_of_a_loop_have_their_own_if_they_are_chosen_at_random(self):
        trace = self.waits()
        own = "SELECT count(*) FROM calls WHERE class = 'sync' AND own_stack AND duration_ns < 5e6 AND id {} (SELECT call FROM call_sample)"
        self.assertGreater(trace.value(own.format("IN")), 0)
        self.assertLess(trace.value(own.format("NOT IN")), 4)  # the first of each site

    def test_each_wait_has_the_stack_of_its_place(self):
        trace = self.waits()
        functions = trace.rows(
            "SELECT (SELECT function FROM frames WHERE stack = c.stack AND function LIKE 'wait%')"
            " FROM calls c WHERE class = 'sync' AND duration_ns >= 100000 ORDER BY start_ns")
        self.assertGreater(len(functions), self.WAITS / 2)
        if not trace.value("SELECT count(*) FROM frames WHERE function IS NOT NULL"):
            self.skipTest("this gpuverify was built without elfutils: frames have no names")
        kinds = [function for function, in functions]
        self.assertEqual(set(kinds), {"wait_evenly", "wait_oddly"})
        self.assertGreater(kinds.count("wait_oddly"), self.WAITS / 4)
        self.assertGreater(kinds.count("wait_evenly"), self.WAITS / 4)

    def test_a_stall_among_them_has_its_own(self):
        trace = self.waits()
        loads = trace.rows("SELECT id, own_stack FROM calls WHERE name = 'cuModuleLoadData' ORDER BY start_ns")
        self.assertEqual([own for _, own in loads], [1, 1])
        stall, = trace.rows("SELECT id, own_stack FROM stalls WHERE call = ?", loads[1][0])
        self.assertEqual(stall[1], 1)
        self.assertNotIn("earlier call of the same site", self.command("explain", trace.path, f"s{stall[0]}").out)
        waited = trace.value("SELECT max(id) FROM stalls WHERE NOT own_stack")
        self.assertIn("earlier call of the same site", self.command("explain", trace.path, f"s{waited}").out)
        self.assertIn('"stack":', self.command("explain", trace.path, f"s{waited}", "-f", "json").out)
        with contextlib.closing(sqlite3.connect(trace.path)) as database:
            for how, said in (("truncated", "deeper than what is copied"), ("stopped", "a coroutine begins")):
                database.execute("INSERT OR REPLACE INTO stack_end SELECT stack, ? FROM calls WHERE stack IS NOT NULL", (how,))
                database.commit()
                self.assertIn(said, " ".join(self.command("explain", trace.path, f"s{waited}").out.split()))

    @harness.depends_on_time("a collector without a CPU for 0.1 s costs stacks")
    def test_all_is_exact(self):
        trace = self.waits(GPUVERIFY_STACKS="all")
        self.assertEqual(trace.rows("SELECT DISTINCT own_stack FROM calls"), [(1,)])

    @harness.depends_on_time("which waits are looked at is left to chance")
    def test_stalls_of_a_line_have_that_line(self):
        count = 1000
        script = os.path.join(harness.SOURCE, "tests", "e2e", "programs", "stall_lines.py")
        self.run_well([sys.executable, script, str(count)],
                      env={**self.SPIN, "GV_SIM_LOAD_NS": "150000", "GV_SIM_CONTEXT_NS": "0"})
        trace = self.trace()

        def lines(call):
            return [line for line, in trace.rows(
                "SELECT (SELECT f.line FROM frames f WHERE f.stack = c.stack AND f.kind = 'python' ORDER BY f.depth)"
                f" FROM calls c WHERE c.name = '{call}' AND c.duration_ns >= 100000 ORDER BY c.start_ns")]
        first, second = (line_of("stall_lines.py", f"{which} load") for which in ("first", "second"))
        # Also while the collector is late, and there is no room for a copy.
        self.assertEqual(lines("cuModuleLoadData"), [first, second] * count)
        self.assertGreater(trace.value("SELECT count(*) FROM calls WHERE name = 'cuModuleLoadData'"
                                       " AND NOT own_stack"), 0)
        waits = {line_of("stall_lines.py", f"{which} wait") for which in ("first", "second")}
        self.assertLessEqual(waits, set(lines("cuCtxSynchronize")))
        self.assertLessEqual(set(lines("cuCtxSynchronize")), waits | {None})


@harness.depends_on_time("a call that the machine holds up has a stack more")
class Interpreters(harness.Case):
    """An interpreter that a program opens, and that may be a fake."""

    def embedded(self, losses=False, **env):
        self.run_well([harness.program("embeds_python"),
                       harness.built(harness.PROGRAMS, "libe2e_fake_python.so")],
                      env={**SLOW, **env})
        trace = self.trace(losses=losses)
        loads = trace.rows("SELECT stack FROM calls WHERE name = 'cuModuleLoadData' "
                           "ORDER BY start_ns")[1:]
        self.assertEqual(len(loads), 3)
        for (stack,) in loads:
            self.assertIsNotNone(stack)
        return trace, [trace.rows("SELECT function, line FROM frames WHERE stack = ? "
                                  "AND kind = 'python' ORDER BY depth", stack)
                       for (stack,) in loads]

    def test_closed_interpreter_is_not_asked(self):
        _, frames = self.embedded()
        self.assertEqual(frames, [FAKE, FAKE, []])

    def spoiled(self, how, before=0, outside=0):
        """From the first wrong frame on, this process has no Python frames, and the trace counts the
        stacks without them. `outside`: those of its thread that are not below Python, which nobody can tell."""
        trace, frames = self.embedded(losses=True, FAKE_PYTHON=how)
        self.assertEqual(frames, [FAKE] * before + [[]] * (3 - before))
        self.assertEqual(trace.rows("SELECT what, class, count FROM losses"),
                         [("Python stack", None, 2 - before + outside)])

    def test_frames_without_an_end(self):
        self.spoiled("cycle")

    def test_frame_without_code(self):
        self.spoiled("code")

    def test_name_that_is_no_text(self):
        self.spoiled("name")

    def test_no_line(self):
        self.spoiled("line")

    def test_state_that_cannot_be_read(self):
        """Nor anything else, if the Linux kernel refuses such reads."""
        self.spoiled("state")

    def test_unknown_version(self):
        self.spoiled("version", outside=1)

    def test_frame_without_code_among_good_ones(self):
        self.spoiled("later-code", before=1)

    def test_name_that_is_no_text_among_good_ones(self):
        self.spoiled("later-name", before=1)


class Python(harness.Case):
    """One case for each version, made below."""

    def check(self, name):
        python = shutil.which(name)
        works = python and subprocess.run([python, "-c", "import ctypes"], capture_output=True,
                                          check=False).returncode == 0
        if not works:
            self.skipTest(f"no {name} here")
        self.check_python(python)

    def check_python(self, python):
        script = os.path.join(harness.SOURCE, "tests", "e2e", "programs", "slow_loads.py")
        # Each call has a stack of its own, however slow the build is.
        result = self.run_well([python, script], env={**SLOW, "PYENV_VERSION": None, "GPUVERIFY_LOG": "info",
                                                      "GPUVERIFY_STACKS": "all"})
        told = [line.split("\t") for line in result.out.splitlines()]
        self.assertEqual(len(told), 30)
        trace = self.trace()
        calls = trace.rows("SELECT stack FROM calls WHERE name = 'cuModuleLoadData' "
                           "ORDER BY start_ns")
        self.assertEqual(len(calls), len(told))
        for (stack,), wanted in zip(calls, told):
            frames = trace.dicts("SELECT * FROM frames WHERE stack = ? AND kind = 'python' "
                                 "ORDER BY depth", stack)
            found = {frame["depth"] - frames[0]["depth"]:
                     f"{frame['file']}:{frame['function'].rsplit('.', 1)[-1]}:{frame['line']}" for frame in frames}
            self.assertEqual(found, {depth: line for depth, line in enumerate(wanted)
                                     if len(wanted) <= INNER + OUTER or not INNER <= depth < len(wanted) - OUTER})
        innermost = trace.value("SELECT kind FROM frames WHERE stack = ? ORDER BY depth LIMIT 1",
                                calls[0][0])
        self.assertEqual(innermost, "native", "what ctypes calls through comes before Python")

    def test_code_that_takes_the_place_of_other_code(self):
        """Eight cells of a notebook: the code of each is gone when the next one is made, and its
        address may be given away again."""
        self.run_well([sys.executable, os.path.join(harness.SOURCE, "tests", "e2e", "programs",
                                                    "cells.py")], env=SLOW)
        rows = self.trace().rows(
            "SELECT f.file, f.line FROM calls c JOIN frames f ON f.stack = c.stack "
            "WHERE c.name = 'cuModuleLoadData' AND f.kind = 'python' AND f.file LIKE 'cell_%' "
            "ORDER BY c.start_ns")
        self.assertEqual(rows, [(f"cell_{n}.py", 10 * n + 1) for n in range(8)])

    def test_this_python(self):
        if not (3, 9) <= sys.version_info < (3, 16):
            self.skipTest(f"Python {sys.version.split()[0]} is not known")
        self.check_python(sys.executable)


def add(name):
    def case(self):
        self.check(name)
    setattr(Python, "test_" + name.replace(".", "_"), case)


for version in PYTHONS:
    add(version)
