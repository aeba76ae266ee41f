"""What the commands print of stored traces, compared whole; stored.py says how to refresh it."""

import harness
import stored


class Stored(harness.Case):
    """One case for each stored output, made below."""

    def check(self, trace, name, words, status):
        words = stored.make_all(trace, words, self.path(""))
        result = self.command(*words, status=status, sim=False)
        self.assertEqual(result.out, stored.expected(trace, name))
        self.assertNotIn("\x1b", result.out + result.err)


def add(trace, name, words, status):
    def case(self):
        self.check(trace, name, words, status)
    setattr(Stored, f"test_{trace}_{name.replace('.', '_')}", case)


for output in stored.OUTPUTS:
    add(*output)
del output
