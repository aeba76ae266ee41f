"""Writes the parts of docs/performance.md between <!-- begin GROUP --> and <!-- end GROUP -->, and the
charts, from docs/performance/GROUP.json."""

import os
import re

import store
import svg
from ground import CHECKOUT, word

DOCUMENT = os.path.join(CHECKOUT, "docs", "performance.md")
FOLDER = os.path.join(CHECKOUT, "docs", "performance")
# The page leaves out what its charts show, ratios, and rows that decide nothing; the JSON files have it all.
LEFT_OUT = re.compile(r"(calls|parallel|stack|Python_stack)_\d|.*_(with|without)$|"
                      r"million_(exit_plain|shared|lost)|threads_launches|help_|analysis_|.*_storing_|"
                      r"hook_hooked|explain_s|memory_[52]0*_|kill_|one_thread_that_sleeps|true_plain")
ROWS_LEFT_OUT = re.compile(r".*: (p[15]0\b|the end of the process)|one thread that|CUPTI attached|"
                           r"lean CUPTI and|kernels, (copies, sets|graphs as a whole)$|graph of (1 kernel|100)$")
NOTES_LEFT_OUT = re.compile(r"(5|20)00000 records:|(stalls|explain): ")


def sentence(result):
    machine = result["machine"]
    where = (f"{machine['gpu']}, driver {machine['driver']}" if machine["gpu"]
             else f"{machine['processors']} processors of {machine['processor']}")
    return f"`{result['command']}` on {result['date']}, {where}:"


def rows(result):
    for name, value in result["found"].items():
        if isinstance(value, dict) and "what" in value and not LEFT_OUT.match(name):
            yield (value["what"], f"{word(value['median'])} {value['unit']}".strip(),
                   f"{word(value['min'])} to {word(value['max'])}")


def table(columns, rows_):
    return ["", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns),
            *(f"| {' | '.join(word(value) for value in row)} |" for row in rows_)]


def section(group, result):
    lines = [sentence(result)]
    singles = list(rows(result))
    if singles:
        lines += table(("what", "median", "lowest to highest"), singles)
    for each in result.get("tables", []):
        if "goal" not in each["columns"]:
            lines += table(each["columns"], [row for row in each["rows"] if not ROWS_LEFT_OUT.match(str(row[0]))])
    lines += [""] + [f"- {note}" for note in result.get("notes", []) if not NOTES_LEFT_OUT.match(note)]
    for chart in result["charts"]:
        lines += [f"![{chart['title']}](performance/{chart['name']}.svg)"]
    return "\n".join(lines).replace("\n\n\n", "\n\n").strip()


def filled(text, group, result):
    marks = re.compile(rf"(<!-- begin {group} -->\n).*?(<!-- end {group} -->)", re.S)
    if not marks.search(text):
        raise LookupError(f"no <!-- begin {group} --> in {DOCUMENT}")
    return marks.sub(lambda found: f"{found[1]}{section(group, result)}\n{found[2]}", text)


def publish(group, result):
    store.write(os.path.join(FOLDER, group + ".json"), result)
    for chart in result["charts"]:
        with open(os.path.join(FOLDER, chart["name"] + ".svg"), "w", encoding="utf-8") as file:
            file.write(svg.draw(chart))
    with open(DOCUMENT, encoding="utf-8") as file:
        text = filled(file.read(), group, result)
    with open(DOCUMENT, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"published: {os.path.relpath(DOCUMENT)}")
