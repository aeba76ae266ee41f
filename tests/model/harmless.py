"""What tests/model/run.py need not find needed, and why."""

FREE_LIST = "trace/spool_free_list.h"
WRITER = "trace/spool_writer.c"
READER = "trace/spool_reader.c"

# (path, function, operation, location, half): why the spool does not need it.
HARMLESS = {
    (FREE_LIST, "gv_spool_free_list_pop", "compare", "header free_head", "acquire"): (
        "the head that it expects was acquired, and the tag says that it is the same one"),
    (WRITER, "take_fresh", "load", "writer fresh", "acquire"): "a number to compare with; nothing comes with it",
    (WRITER, "take_fresh", "compare", "writer fresh", "acquire"): "makes a number one thread's; nothing comes with it",
    (WRITER, "take_fresh", "compare", "writer fresh", "release"): "as before",
    (WRITER, "take_fresh", "compare", "writer fresh", "failure"): "as before",
    (WRITER, "populate_fresh", "load", "header segments_allocated", "acquire"): "how many pages to map: a hint",
    (WRITER, "take_any", "load", "writer limit", "acquire"): "a bound; nothing comes with it",
    (WRITER, "take_any", "load", "header segments_allocated", "acquire"): "whether to grow: grow() looks again",
    (WRITER, "take_any", "store", "writer refusals", "release"): "a count",
    (WRITER, "take_any", "compare", "header growing", "failure"): "somebody else grows: only waits",
    (WRITER, "take_any", "compare", "header growing", "release"): "what growing gives comes with the store of 0",
    (WRITER, "grow", "load", "header segments_allocated", "acquire"): "under `growing`, which has acquired",
    (WRITER, "grow", "load", "writer limit", "acquire"): "a bound; nothing comes with it",
}

# (path, start of the line): why no case comes there.
UNREACHED = {
}
