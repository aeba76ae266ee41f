"""Look-ups of entry points: every name, version and flag gives what the driver gives, and hooked ones give
our hook."""

import os
import re
import subprocess

import harness


def symbols(path, pattern, *options):
    """The functions of a library as {offset: name}."""
    listing = subprocess.run(["nm", *options, "--defined-only", path], capture_output=True,
                             text=True, check=True).stdout
    found = re.findall(rf"^([0-9a-f]+) [tT] {pattern}$", listing, re.M)
    return {int(offset, 16): name for offset, name in found}


class EntryPoints(harness.Case):
    def setUp(self):
        super().setUp()
        self.driver = symbols(harness.built("tests", "sim", "libcuda.so.1"), r"(cu[A-Z]\w+)", "-D")
        self.exports = set(self.driver.values())
        self.assertGreater(len(self.exports), 600)
        names = set(self.exports)
        for name in self.exports:
            names.add(re.sub(r"(_v\d+)?(_ptds|_ptsz)?$", "", name))
        names |= {"", "cuNothing", "cuFoo", "cudnnCreate", "cu", "cuInit_v9", "cudaMalloc",
                  "cuMemAlloc_v2_ptsz", "x" * 200}
        self.names = self.write("names", "".join(f"{name}\n" for name in sorted(names)))
        self.hooked = {name for name in harness.hooked_calls() if name in self.exports}
        self.assertGreater(len(self.hooked), 300)
        self.wrappers = symbols(harness.library(), r"(?:gv_)?(?:hook|gate)_(cu[A-Z]\w+)")
        self.assertGreaterEqual(set(self.wrappers.values()), self.hooked)
        # In the global scope our own export comes first, and leads to the hook.
        self.wrappers.update(symbols(harness.library(), r"(cu[A-Z]\w+)", "-D"))

    def answers(self, how):
        """The answers with the library, checked against those without."""
        argv = [harness.program("lookups"), self.names, how]
        plain = self.run_well(argv, preload=False).out.splitlines()
        hooked = self.run_well(argv).out.splitlines()
        self.assertEqual(len(plain), len(hooked))
        found, wrong = set(), []
        for before, after in zip(plain, hooked):
            asked, offset, source = before.rsplit(" ", 2)
            name = None
            if source == "libcuda.so.1":
                name = self.driver[int(offset, 16)]
                found.add(name)
                if name in self.hooked:
                    # The wrapper of that very export must come back.
                    place, library = after.rsplit(" ", 2)[1:]
                    if (library == "libgpuverify.so" and after.startswith(asked + " ")
                            and self.wrappers.get(int(place, 16)) == name):
                        continue
            if before != after or name in self.hooked:
                wrong.append(f"'{before}' became '{after}'")
        self.assertEqual(wrong[:10], [], f"{len(wrong)} of {len(plain)} answers")
        return found

    def exhaustive(self, how):
        found = self.answers(how)
        # Every hooked call that the driver hands out this way was asked for and swapped.
        self.assertGreater(len(found & self.hooked), 250)

    def test_dlsym_of_every_export(self):
        self.assertEqual(self.answers("dlsym"), self.exports)

    def test_dlvsym_of_every_export(self):
        self.answers("dlvsym")

    def test_dlsym_in_the_global_scope(self):
        self.answers("default")

    def test_cuGetProcAddress(self):
        self.exhaustive("v1")

    def test_cuGetProcAddress_v2(self):
        self.exhaustive("v2")

    def test_cuGetProcAddress_got_from_itself(self):
        self.exhaustive("v1-by-v1")

    def test_cuGetProcAddress_v2_got_from_the_first(self):
        self.exhaustive("v2-by-v1")

    def test_cuGetProcAddress_v2_got_from_itself(self):
        self.exhaustive("v2-by-v2")

    def test_looking_up_is_no_call_and_makes_no_trace(self):
        self.answers("v2")
        self.assertEqual(self.spool_files(), [])
        self.assertFalse(os.path.exists(self.path("trace.db")))
