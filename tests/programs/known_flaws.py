"""The truth about a program of this folder, and whether what a trace says first agrees with it. README.md has the fields."""

import contextlib
import json
import os
import re
import sqlite3

HERE = os.path.dirname(os.path.abspath(__file__))
FIELDS = {"cause", "line_function", "line", "also_ok", "lost_share", "what", "lines"}
WORDS = set("""benchmark kernel graph collective copy copy-exposed copy-pageable set not-seen gpuverify no-request queued
between-kernels round-trip allocating freeing copying loading instantiating starting-cuda other-device launching compile import gc
traceback nan-check nan-kernel data child gil thread-lock io network sleep no-cpu python native host-code unknown waits growth serialised
late-start slow-steps restarts unexpected-waits free jit lazy-load lock module-load pageable-copy pool sync-copy""".split())


def programs(folder=HERE):
    return sorted(name for name in os.listdir(folder) if re.match(r"\d\d_\w+\.(py|cu|c)$", name))


def read(path):
    """The truth of a program, and what is wrong with it or None."""
    with open(path, encoding="utf-8") as file:
        lines = file.read().split("\n")
    said = [match.group(1) for match in (re.match(r"(?:#|//) truth: (\{.*\})$", line) for line in lines) if match]
    marked = [number for number, line in enumerate(lines, 1) if re.search(r"(#|//|/\*) <-- here( \*/)?$", line)]
    if len(said) != 1:
        return None, f"{len(said)} truth lines"
    try:
        truth = json.loads(said[0])
    except ValueError as error:
        return None, f"truth: {error}"
    if len(marked) != ("none_above" not in truth):
        return None, f"{len(marked)} marks"
    code = "\n".join(line for line in lines if not re.match(r"#|//", line))
    wrong = [f"no {field}" for field in sorted(FIELDS - truth.keys())]
    if not wrong:
        wrong += [f"line is {truth['line']}, the mark is in line {mark}"
                  for mark in marked if truth["line"] != mark]
        wrong += [f"unknown word {word}" for word in truth["what"] if word not in WORDS]
        wrong += [f"no function {name}" for name in [truth["line_function"], *truth["lines"]]
                  if isinstance(name, str) and name != "<module>" and not re.search(rf"\b{name}\(", code)]
        wrong += ["the marked line is not in lines" for _ in marked if not {truth["line"], truth["line_function"]} & set(truth["lines"])]
        loop = lines[truth["step_line"] - 1] if "step_line" in truth else "for"
        wrong += [f"line {truth['step_line']} is no loop"] if not re.match(r" *(for|while)\b", loop) else []
    return truth, "; ".join(wrong) or None


def findings(database):
    """The first findings of a trace; None if it has no view of them."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as trace:
        trace.row_factory = sqlite3.Row
        if not trace.execute("SELECT 1 FROM sqlite_master WHERE name = 'findings'").fetchone():
            return None
        return [dict(row) for row in trace.execute("SELECT * FROM findings ORDER BY id LIMIT 3")]


def in_summary(text):
    """The same from a printed summary."""
    found = []
    for number, title in re.findall(r"^ {1,4}(\d+)  (\S.*)$", text[text.rfind("gpuverify: "):], re.M):
        if int(number) == len(found) + 1:
            place = re.search(r"(\S+\.(?:py|cu|c)):(\d+)(?: (\w+))?", title)
            file, line, function = place.groups() if place else (None, 0, None)
            found.append({"what": re.split(r" {2,}", title)[0], "file": file, "line": int(line), "function": function,
                          "title": re.sub(r" +", " ", title), "saves_ns": None, "phase": "?",
                          "share": int((re.search(r"(\d+) %", title) or [0, 0])[1]) / 100})
    return found[:3]


def judge(truth, name, finding):
    """`right`: what and line; `half`: one of them."""
    function = re.split(r"[.:]", re.sub(r"[(].*", "", finding["function"] or ""))[-1]
    here = os.path.basename(finding["file"] or "") == name and (finding["line"] in truth["lines"] or function in truth["lines"])
    return ("wrong", "half", "right")[(finding["what"] in truth["what"]) + here]


def judge_first(truth, name, found):
    """`judge` of the first finding; without any, or only small ones, a program that has no flaw is `right`."""
    if "none_above" in truth:
        large = any(finding["phase"] in ("main", "?") and (finding["share"] or 0) > truth["none_above"] for finding in found)
        return "wrong" if large else "right"
    return judge(truth, name, found[0]) if found else "nothing"


def steps(database):
    """Of the steps that took longest together: how many there are. 0: none were found; None: a trace without them."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as trace:
        try:
            row = trace.execute("SELECT count(*) FROM steps GROUP BY series, kind ORDER BY sum(duration_ns) DESC LIMIT 1").fetchone()
        except sqlite3.OperationalError:
            return None
        return row[0] if row else 0


def environment(path):
    """What a program's head says that its environment must have."""
    with open(path, encoding="utf-8") as file:
        said = re.search(r"^(?:#|//) env: (.*)$", file.read(), re.M)
    return dict(setting.split("=") for setting in said.group(1).split()) if said else {}


def loop_steps(output):
    """How many steps the loop had, from a program's last line."""
    said = re.search(r"^done: (\d+) steps in", output, re.M)
    return int(said.group(1)) if said else None


def loop(output):
    """Seconds of the loop and of one step, from a program's last line."""
    said = re.search(r"^done: (\d+) steps in ([\d.]+) s", output, re.M)
    return (float(said.group(2)), float(said.group(2)) / max(1, int(said.group(1)))) if said else (None, None)


def saving(finding, plain_step_s, fixed_step_s, loop_s, run_s):
    """Seconds of a traced run that the finding says it saves, those that the fixed twin saves, and whether they agree."""
    twin_s = loop_s * (1 - fixed_step_s / plain_step_s)
    said_s = None if finding["saves_ns"] is None else finding["saves_ns"] / 1e9
    agree = None if said_s is None else abs(said_s - twin_s) <= max(0.25 * twin_s, 0.05 * run_s)
    return {"said_s": said_s, "twin_s": twin_s, "agree": agree}
