"""gpuverify doctor: what would and would not be recorded on this machine, and of a program."""

import json
import os
import platform
import shutil
import stat

import harness


class Doctor(harness.Case):
    gpu = "auto"

    def doctor(self, *words, status=0, quiet=True, **options):
        result = self.command("doctor", "--format", "json", *words, status=status, **options)
        if quiet:  # the dynamic loader may speak
            self.assertEqual(result.err, "")
        return json.loads(result.out)

    def program(self, path, status=1):
        """{what: check} of a program, without the machine."""
        return {check["what"]: check for check in self.doctor("--no-trial", path, status=status)
                if check["about"] == "program"}

    def wrong(self, path, what, part):
        checks = self.program(path)
        self.assertEqual(checks[what]["state"], "wrong", checks)
        self.assertIn(part, checks[what]["found"])
        self.assertTrue(checks[what]["fix"])

    def test_machine_with_everything(self):
        checks = {check["what"]: check for check in self.doctor()}
        self.assertEqual(checks["driver"]["found"], "CUDA 13.0, 1 device")
        self.assertIn("recorded through a simulated CUPTI", checks["GPU side"]["found"])
        self.assertIn("simulated GPU 0", checks["device"]["found"])
        self.assertIn("libgpuverify.so", checks["library"]["found"])

    def test_what_the_user_chose_is_no_fault(self):
        for mode, state, found in (("sampled", "fine", "calls chosen at random are measured"), ("off", "note", "only calls are recorded")):
            with self.subTest(mode):
                side = next(check for check in self.doctor(env={"GPUVERIFY_GPU": mode}) if check["what"] == "GPU side")
                self.assertEqual((side["state"], side["fix"]), (state, None))
                self.assertIn(found, side["found"])
                self.assertIn(f"GPUVERIFY_GPU={mode}", side["found"])

    def test_gpu_counters(self):
        folders = f"{harness.simulator()}:{harness.simulator()}/nvml"
        with open(self.path("gpm"), "w", encoding="utf-8"):
            pass
        for with_gpm, state, count in ({"GV_SIM_GPM": self.path("gpm")}, "fine", "1 of 1"), ({}, "note", "0 of 1"):
            checks = {check["what"]: check for check in
                      self.doctor("--no-trial", env={"LD_LIBRARY_PATH": folders, **with_gpm})}
            self.assertEqual(checks["GPM"]["state"], state)
            self.assertTrue(checks["GPM"]["found"].startswith(count + " GPUs"))
        self.assertIn("needs Hopper", checks["GPM"]["found"])
        self.assertNotIn("too old", checks["GPM"]["found"])
        self.assertNotIn("GPM", [check["what"] for check in self.doctor("--no-trial")])

    def test_a_driver_that_knows_of_no_gpu_counters(self):
        """Its NVML lacks a symbol."""
        os.mkdir(self.path("old"))
        with open(f"{harness.simulator()}/nvml/libnvidia-ml.so.1", "rb") as whole, \
                open(self.path("old", "libnvidia-ml.so.1"), "wb") as old:
            old.write(whole.read().replace(b"nvmlGpmSampleGet\0", b"nvmlGpmSampleNot\0"))
        with open(self.path("gpm"), "w", encoding="utf-8"):
            pass
        checks = {check["what"]: check for check in self.doctor("--no-trial", env={
            "LD_LIBRARY_PATH": f"{harness.simulator()}:{self.path('old')}", "GV_SIM_GPM": self.path("gpm")})}
        self.assertIn("0 of 1 GPUs report use of their units (GPM): the driver is too old", checks["GPM"]["found"])

    def test_native_stacks(self):
        name = "native stacks"
        checks = {check["what"]: check for check in self.doctor("--no-trial", preexec_fn=harness.refuse_ptrace)}
        self.assertEqual(checks[name]["state"], "note")
        self.assertIn("refused", checks[name]["found"])
        self.assertIn("SYS_PTRACE", checks[name]["fix"])
        checks = {check["what"]: check for check in self.doctor(
            "--no-trial", status=1, preexec_fn=harness.refuse_ptrace, env={"GPUVERIFY_IDLE_STACKS": "native"})}
        self.assertEqual(checks[name]["state"], "wrong")

    def test_library_that_the_container_does_not_have(self):
        checks = {check["what"]: check for check in self.doctor(
            "--no-trial", status=1, env={"LD_PRELOAD": "/nowhere/lib/libgpuverify.so"}, quiet=False)}
        self.assertEqual((checks["preload"]["state"], "/nowhere/lib" in checks["preload"]["found"]), ("wrong", True))

    def test_no_proc(self):
        harness.need_root(self, "cannot make namespaces")
        without = ["unshare", "--mount", "sh", "-c"]
        script = 'mount -t tmpfs gv-e2e /proc && exec "$0" "$@"'
        for words in (("doctor", "--no-trial"), ("run", "true")):
            result = self.run_program([*without, script, harness.gpuverify(), *words], preload=False)
            if "unshare" in result.err or "mount:" in result.err:
                self.skipTest(result.err.strip())
            self.assertIn("/proc is not mounted", result.out + result.err)
            self.assertNotIn("install gpuverify again", result.out)
        script = script.replace("exec", f"LD_PRELOAD={harness.library()} exec")
        result = self.run_program([*without, script, harness.program("ending")], preload=False)
        self.assertEqual(result.err, "gpuverify: cannot record: /proc is not mounted; mount -t proc proc /proc\n")

    def test_text(self):
        result = self.command("doctor", harness.workload("driver_tour"))
        self.assertIn("Ready to profile.", result.out)
        self.assertRegex(result.out, r"(?m)^  fine   linking +\S*driver_tour")

    def test_no_driver(self):
        result = self.command("doctor", status=1, sim=False)
        self.assertIn("libcuda.so.1", result.out)
        self.assertIn("install NVIDIA's driver", result.out)
        self.assertIn("Something would not be recorded.", result.out)

    def test_no_driver_and_no_trial(self):
        result = self.command("doctor", "--no-trial", status=None, sim=False)
        if result.status == 0:
            self.skipTest("there is a driver here")
        self.assertEqual(result.status, 1)
        self.assertIn("install NVIDIA's driver", result.out)
        checks = {check["what"]: check for check in self.doctor("--no-trial")}
        self.assertIn("was not tried", checks["driver"]["found"])

    def test_no_device(self):
        checks = self.doctor(status=1, env={"GV_SIM_NO_DEVICE": "1"})
        driver = next(check for check in checks if check["what"] == "driver")
        self.assertIn("cuInit returned 100", driver["found"])
        self.assertIn("CUDA_VISIBLE_DEVICES", driver["fix"])

    def test_other_profiler(self):
        checks = self.doctor("--no-trial", status=1, env={"CUDA_INJECTION64_PATH": "/opt/other.so"})
        other = next(check for check in checks if check["what"] == "other profiler")
        self.assertIn("/opt/other.so", other["found"])

    def test_refused_cupti_is_told(self):
        checks = self.doctor(status=1, env={"GV_SIM_CUPTI_OWNER": "other"})
        side = next(check for check in checks if check["what"] == "GPU side")
        self.assertEqual(side["state"], "wrong")

    def test_library_that_cannot_be_preloaded(self):
        for name, copy, source in (("report", "gpuverify", harness.gpuverify()),
                                   ("preload", "libgpuverify.so", harness.library())):
            os.makedirs(self.path("my tools", name))
            shutil.copy(source, self.path("my tools", name, copy))
        command = self.path("my tools", "report", "gpuverify")
        result = self.run_program([command, "run", "--", "echo", "ran"], preload=False)
        self.assertEqual((result.status, result.out), (3, ""), str(result))
        self.assertIn("my tools/preload/libgpuverify.so: LD_PRELOAD cannot hold a path with a space",
                      result.err)
        result = self.run_program([command, "doctor"], preload=False)
        self.assertEqual(result.status, 1, str(result))
        self.assertIn("wrong  library", result.out)

    def test_dynamic_program(self):
        checks = self.program(harness.workload("driver_tour"), status=0)
        self.assertEqual(checks["linking"]["state"], "fine")

    def test_shared_runtime(self):
        checks = self.program(harness.program("registered"), status=0)
        self.assertIn("libcudart.so", checks["CUDA runtime"]["found"])

    def test_static_program(self):
        path = harness.program("unreached")
        if not os.path.exists(path):
            self.skipTest("programs do not link statically here")
        self.wrong(path, "linking", "static")

    def test_set_user_id(self):
        path = self.path("special")
        shutil.copy("/bin/true", path)
        os.chmod(path, 0o755 | stat.S_ISUID)
        self.wrong(path, "rights", "set-user-id")

    def test_another_machine(self):
        with open("/bin/true", "rb") as file:
            image = bytearray(file.read())
        other = {"x86_64": 183}.get(platform.machine(), 62)  # AArch64, x86-64
        image[18:20] = other.to_bytes(2, "little")
        with open(self.path("other"), "wb") as file:
            file.write(image)
        os.chmod(self.path("other"), 0o755)
        self.wrong(self.path("other"), "machine", "another machine")

    def test_script(self):
        inner = self.write("inner.sh", "#!/bin/sh\n", 0o755)
        outer = self.write("outer", f"#!{inner}\n", 0o755)
        checks = self.doctor("--no-trial", outer)
        scripts = [check["found"] for check in checks if check["what"] == "script"]
        self.assertEqual(len(scripts), 2)
        self.assertIn("/bin/sh", scripts[1])

    def test_script_by_env(self):
        path = self.write("train", "#!/usr/bin/env python3\n", 0o755)
        self.assertIn("run by python3", self.program(path, status=0)["script"]["found"])

    def test_shell_script_decides_what_it_starts(self):
        result = self.command("doctor", "--no-trial", self.write("go", "#!/bin/sh\n", 0o755))
        self.assertIn("gpuverify run -- ", result.out)
        self.assertNotIn("Ready to profile", result.out)

    def test_python_that_is_a_script(self):
        self.write("python3", "#!/bin/sh\n", 0o755)
        env = {"PATH": self.dir + ":" + os.environ["PATH"]}
        for path in (self.write("my.py", "pass\n"), "python3"):
            with self.subTest(path):
                result = self.command("doctor", "--no-trial", path, env=env)
                self.assertIn("python3 is run by /bin/sh", " ".join(result.out.split()))
                self.assertIn("was not checked", " ".join(result.out.split()))
                self.assertNotIn("Ready to profile", result.out)

    def test_script_in_the_place_of_python_is_asked(self):
        self.write("python3.12", "#!/bin/sh\nexec python3 \"$@\"\n", 0o755)
        result = self.command("doctor", self.path("python3.12"), env={"COLUMNS": "300"})
        self.assertIn("is a shell script that starts", " ".join(result.out.split()))

    def test_script_in_the_place_of_python_does_not_end(self):
        for script in ("while :; do echo no; done", "exec >/dev/null; exec sleep 1000"):
            with self.subTest(script):
                self.write("python", f"#!/bin/sh\n{script}\n", 0o755)
                result = self.command("doctor", self.path("python"))
                self.assertIn("was not checked", " ".join(result.out.split()))

    def test_script_of_another_name_is_not_started(self):
        path = self.write("python_train.sh", f"#!/bin/sh\ntouch {self.path('ran')}\n", 0o755)
        result = self.command("doctor", path)
        self.assertIn("was not checked", " ".join(result.out.split()))
        self.assertFalse(os.path.exists(self.path("ran")))

    def test_what_to_run_has_the_arguments(self):
        self.write("python3", "#!/bin/sh\n", 0o755)
        env = {"PATH": self.dir + ":" + os.environ["PATH"], "COLUMNS": "200"}
        script = self.write("my.py", "pass\n")
        for words, said in ((["python3", "t.py", "--lr=0.1", "-c", "a b"], "python3 t.py --lr=0.1 -c 'a b';"),
                            ([script, "7"], f"python3 {script} 7;"),
                            (["python3", "x" * 300, "7"], "python3 ...;"), (["python3", "it's"], "python3 ...;")):
            result = self.command("doctor", "--no-trial", *words, env=env)
            self.assertIn("run it and see: gpuverify run -- " + said, " ".join(result.out.split()))

    def test_without_a_trial_not_all_was_looked_at(self):
        result = self.command("doctor", "--no-trial", harness.workload("driver_tour"))
        self.assertIn("No problem found, but not everything was checked.", result.out)

    def test_python_script_without_an_interpreter(self):
        checks = self.program(self.write("my.py", "pass\n"), status=0)
        self.assertIn("python3", checks["script"]["found"])
        self.assertIn("gpuverify run -- python3", checks["script"]["fix"])
        self.assertEqual(checks["linking"]["state"], "fine")

    def test_program_with_its_arguments(self):
        checks = {check["what"]: check for check in self.doctor("--no-trial", "sh", "my.sh", "3")}
        self.assertIn("is dynamic", checks["linking"]["found"])

    def test_program_that_is_here_but_not_on_the_path(self):
        self.write("my.py", "pass\n")
        self.wrong("my.py", "file", "not on the PATH")
        self.assertIn("./my.py", self.program("my.py")["file"]["fix"])

    def test_program_that_may_not_be_started(self):
        shutil.copy(harness.workload("driver_tour"), self.path("copy"))
        for path in (self.path("copy"), self.write("go", "#!/bin/sh\n", 0o644)):
            os.chmod(path, 0o644)
            self.wrong(path, "file", "is not executable")
            self.assertEqual(self.program(path)["file"]["fix"], f"chmod +x {path}")

    def test_script_whose_interpreter_is_missing(self):
        path = self.write("go", "#!/no/interpreter\n", 0o755)
        self.wrong(path, "file", "/no/interpreter: No such file")

    def test_records_on_a_disk_are_no_shared_memory(self):
        def place(folder):
            checks = self.doctor("--no-trial", env={"GPUVERIFY_SPOOL_DIR": folder})
            return next(check for check in checks if check["what"] == "shared memory")

        if harness.file_system(self.dir) in ("tmpfs", "ramfs"):
            self.skipTest("temporary files are in memory here")
        self.assertEqual(place(os.path.join(self.dir, "spools"))["state"], "note")
        self.assertIn("on a disk", place(os.path.join(self.dir, "spools"))["found"])

    def test_what_is_no_program(self):
        self.wrong("no-such-program-anywhere", "file", "No such file")
        self.wrong(self.write("text", "text", 0o755), "kind", "not a program for this system")
        self.wrong(self.dir, "kind", "not a program for this system")

    def test_a_program_that_is_cut_off(self):
        with open(harness.workload("driver_tour"), "rb") as file:
            image = file.read()
        for length in (70, 300, 1000, len(image) // 3):
            with open(self.path("cut"), "wb") as file:
                file.write(image[:length])
            os.chmod(self.path("cut"), 0o755)
            self.wrong(self.path("cut"), "file", "cannot be read: it is cut off or damaged")

    def test_broken_programs_do_no_harm(self):
        with open("/bin/true", "rb") as file:
            image = file.read()
        for length in (0, 4, 20, 63, 64, 100, 500, 1000, len(image) // 2, len(image) - 1):
            for change in (None, (32, 8), (40, 8), (54, 2), (56, 2), (60, 4)):
                broken = bytearray(image[:length])
                if change and length > 64:
                    at, count = change
                    broken[at:at + count] = b"\xff" * count
                with open(self.path("broken"), "wb") as file:
                    file.write(broken)
                os.chmod(self.path("broken"), 0o755)
                result = self.command("doctor", "--no-trial", self.path("broken"), status=None)
                self.assertIn(result.status, (0, 1), f"{length} {change} {result}")
