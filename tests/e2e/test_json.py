"""docs/json.md promises shapes; here they are compared with what the commands write."""

import json
import os

import harness
import promises
import stored

# section of docs/json.md: command lines about a stored trace, {} being the trace
DOCUMENTS = {
    "gpuverify check": [("lazy_launch", ["check", "{}", "--no-jit", "--max-errors", "0"]),
                        ("hostile", ["check", "{}", "--max-errors", "9", "--no-jit"])],
    "gpuverify diff": [("lazy_launch", ["diff", "{}", "--all", "{}"]), ("add", ["diff", "lazy_launch.db", "{}"])],
    "gpuverify doctor": [("lazy_launch", ["doctor", "--no-trial", "/bin/sh"])],
    "gpuverify query": [("lazy_launch", ["query", "{}", "kernels"])],
    "gpuverify query --list": [("lazy_launch", ["query", "--list"])],
    "gpuverify report": [("add", ["report", "{}"]), ("lazy_launch", ["report", "{}"]),
                         ("hostile", ["report", "{}"])],
    "gpuverify schema": [("lazy_launch", ["schema"]), ("lazy_launch", ["schema", "--tables"])],
    "gpuverify stalls": [("lazy_launch", ["stalls", "{}", "--all"]), ("hostile", ["stalls", "{}"])],
}


# Sections whose documents are looked at elsewhere.
ELSEWHERE = {"gpuverify probe"}  # test_probe.py


class Json(harness.Case):
    def documents(self, section):
        for trace, words in DOCUMENTS[section]:
            if not os.path.exists(self.path(trace + ".db")):
                stored.make(trace, self.path(trace + ".db"))
            result = self.command(*(word.format(trace + ".db") for word in words), "--format", "json",
                                  sim=False)
            self.assertNotIn("\x1b", result.out)
            yield json.loads(result.out)

    def test_every_document_is_described(self):
        self.assertEqual(set(promises.promised()), set(DOCUMENTS) | ELSEWHERE)

    def test_documents_have_the_promised_shape(self):
        for section, fields in promises.promised().items():
            if fields and section in DOCUMENTS:  # a query's shape is the question's
                promises.check(self, section, self.documents(section))
