"""Exceptions of tests/model/run.py, with reasons."""

FREE_LIST = "trace/spool_free_list.h"
WRITER = "trace/spool_writer.c"
READER = "trace/spool_reader.c"
THREAD = "preload/base/thread.c"
CALLS = "preload/hooks/calls.c"
EXIT = "preload/process/exit.c"

NUMBER = "a number that nothing comes with"
BOUND = "a bound, looked at again: nothing comes with it"
SAME = "the code of `free.head`, which has more users; with the storage come system calls"
STATE = "one thread ends the process: what it stores comes with `state`"

# (path, function, operation, location, half): why the spool does not need it.
HARMLESS = {
    (FREE_LIST, "gv_spool_free_list_pop", "compare", "header free.head", "acquire"): (
        "the head that it expects was acquired, and the tag says that it is the same one"),
    (FREE_LIST, "gv_spool_free_list_push", "compare", "header free.head", "tag"): (
        "what is pushed lies before whatever is the head by then"),
    (FREE_LIST, "gv_spool_free_list_push", "compare", "header empty.head", "tag"): SAME,
    (FREE_LIST, "gv_spool_free_list_pop", "compare", "header empty.head", "tag"): SAME,
    (FREE_LIST, "gv_spool_free_list_pop", "compare", "header empty.head", "acquire"): SAME,
    (FREE_LIST, "gv_spool_free_list_pop", "compare", "header empty.head", "failure"): SAME,
    (WRITER, "look_for_room", "store", "header limit", "release"): BOUND,
    (WRITER, "take_fresh", "load", "writer fresh", "acquire"): NUMBER,
    (WRITER, "take_fresh", "compare", "writer fresh", "acquire"): NUMBER,
    (WRITER, "take_fresh", "compare", "writer fresh", "release"): NUMBER,
    (WRITER, "take_fresh", "compare", "writer fresh", "failure"): NUMBER,
    (WRITER, "populate_fresh", "load", "header segments_allocated", "acquire"): "how many pages to map: a hint",
    (WRITER, "take_any", "load", "header limit", "acquire"): BOUND,
    (WRITER, "take_any", "load", "header segments_allocated", "acquire"): BOUND,
    (WRITER, "take_any", "store", "writer refusals", "release"): NUMBER,
    (WRITER, "take_any", "compare", "header growing", "failure"): "somebody else grows: it only waits",
    (WRITER, "take_any", "compare", "header growing", "release"): "what growing gives comes with the store of 0",
    (WRITER, "grow", "load", "header segments_allocated", "acquire"): "under `growing`, which was acquired",
    (WRITER, "gv_spool_writer_slot", "compare", "slot thread", "release"): (
        "passes on the release of the thread that left, which is all that a reader needs"),
    (WRITER, "gv_spool_writer_slot", "compare", "slot thread", "acquire"): (
        "a reader looks at `thread` again behind the facts, and finds the new one"),
    (WRITER, "gv_spool_writer_slot", "compare", "slot thread", "failure"): "it tries the next slot",
    (READER, "gv_spool_reader_record", "or", "segment records", "release"): "a mark: the writer reads nothing else",
    (THREAD, "join", "add", "header threads_seen", "acquire"): NUMBER,
    (THREAD, "join", "add", "header threads_seen", "release"): NUMBER,
    (CALLS, "leave_outermost", "store", "slot api_plus_one", "release"): (
        "the next call's facts are released, and come after it"),
    (EXIT, "end_as", "add", "header ends", "acquire"): NUMBER,
    (EXIT, "end_as", "compare", "header state", "acquire"): STATE,
    (EXIT, "end_as", "compare", "header state", "failure"): "another thread ends the process",
    (EXIT, "end_as", "store", "header ended_ns", "release"): NUMBER,
    (EXIT, "note_code", "store", "header exit_code", "release"): "comes with the store after it",
    (READER, "gv_spool_reader_status", "load", "header gpu.state", "acquire"): (
        "needed for the texts of gv_spool_reader_gpu(); nothing in the model writes them"),
}

# (path, start of the line): why no case comes there.
UNREACHED = {
    (WRITER, "atomic_store(&writer->fresh, 0)"): "before any other thread knows of the spool",
    (WRITER, "atomic_store(&writer->header->segments_allocated, first_growth(&plan))"): "the same",
    (WRITER, "atomic_store(&writer->header->limit, allocated)"): "the disk is full; a bound that nothing comes with",
    (WRITER, "atomic_compare_exchange_strong(&writer->refusals"): "growing was refused; a number",
    # Copied stacks, and the list of objects: the record that refers to a copy is published after both.
    (WRITER, "uint32_t allocated = atomic_load(&writer->header->segments_allocated)"): "a bound: how much memory there is",
    (WRITER, "atomic_store_explicit(&stacks->objects_allocated"): "a bound, before the entries are used",
    (READER, "uint32_t generation = atomic_load_explicit(&stacks->generation"): "a copy's record comes after its generation",
    (READER, "? atomic_load_explicit(&stacks->objects_allocated"): "the same",
    (READER, "uint32_t added = atomic_load_explicit(&entry->added"): "the same; the entry is written before `added`",
    (READER, "object->removed = atomic_load_explicit(&entry->removed"): "a number",
    (READER, "atomic_store_explicit(&reader_object(reader, index)->added, 0"): "only an entry that is gone, which the writer fills anew",
    (READER, "atomic_load_explicit(&copy->serial, memory_order_acquire) != serial"): "a copy's record comes after its serial number",
    (READER, "atomic_thread_fence(memory_order_acquire)"): (
        "a spool that is opened while it is made: its magic is no atomic, but eight bytes that are stored at once"),
    (READER, "atomic_store(&reader_header(reader)->opened, 1)"): "a mark that nothing comes with",
    (READER, "return atomic_load(&header->drained) != atomic_load(&header->ends)"): (
        "whom to read first: what it reads comes behind its own status"),
    (CALLS, "atomic_store_explicit(&thread->slot->api_plus_one, 0, memory_order_release)"): (
        "a signal handler; the store is that of leave_outermost()"),
    (CALLS, "atomic_compare_exchange_strong(&gv_process.spool.header->gpu.unloaded_ns"): "code goes; a number",
    (CALLS, "atomic_store_explicit(&thread->slot->start_ns, call->start_ns, memory_order_release)"): (
        "a call begins later, once in a process: a reader that saw the earlier time finds it changed"),
    (CALLS, "if (call->live && !atomic_compare_exchange_strong(&first"): "a number of the process's own",
}
