"""export --to perfetto: a stored trace as a timeline for Perfetto. The files are read back with Perfetto's own description
of its format, in the way in which viewers read them."""

import collections
import importlib
import importlib.util
import os
import sqlite3
import sys
import unittest

import harness
import stored

# Of PyPI's package perfetto, only the description of the format is used: this Python's, or the one that scripts/setup installs.
if not importlib.util.find_spec("perfetto"):
    sys.path.append(os.path.join(harness.SOURCE, ".venv", f"lib/python{sys.version_info.major}.{sys.version_info.minor}",
                                 "site-packages"))
HAS_PERFETTO = bool(importlib.util.find_spec("perfetto") and importlib.util.find_spec("google.protobuf"))

Piece = collections.namedtuple("Piece", "track start end name category arguments arrows")
OPEN, MOMENT = "open", "moment"
HOSTILE = ("'</script><script>alert(1)</script>'", "'\"' || char(10) || char(27) || '[31m'", "CAST(x'66ff80' AS TEXT)", "''",
           "printf('%.*c', 100000, 'x')", "char(8238) || 'x'")

# Beside lazy_launch: a device with samples; operations that overlap on stream 7, a graph's nodes, one on another stream;
# ranges inside each other, one that overlaps, one without an end, marks; an idle time, and one row for several; steps; a call
# that did not return; a host function; a time that was not recorded.
CHANGES = (
    f"INSERT INTO meta VALUES ('totals', {stored.totals_version()})",
    "INSERT INTO device (id, process, device, name, uuid) VALUES (1, 1, 0, 'NVIDIA H100', 'GPU-1')",
    "INSERT INTO sample VALUES (1, 'GPU-1', 100, 40, NULL, 1000, 250500, 1980, NULL, 41), "
    "(2, 'GPU-1', 200, 50, 3, 2000, NULL, 1980, NULL, 42)",
    "INSERT INTO gpu_place VALUES (2, 1, 0, 1, 8)",
    "UPDATE gpu_shape SET grid_x = 264, grid_y = 2, grid_z = 1, block_x = 128, block_y = 1, block_z = 1, registers = 64, "
    "static_shared_bytes = 512, dynamic_shared_bytes = 512, local_bytes = 0 WHERE id = 1",
    "UPDATE gpu_name SET name = 'void ns::gemm<float>(float const*)' WHERE id = 1",
    "INSERT INTO gpu_op VALUES (50, 1, 2, NULL, 4200020000, 1000, 40, 4096, 33, NULL, NULL), "
    "(51, 1, 4, NULL, 4200020500, 100, NULL, NULL, NULL, NULL, NULL), (52, 2, 1, NULL, 10, 0, NULL, NULL, NULL, 5, NULL)",
    "INSERT INTO range_text VALUES (1, 1, 1, 'outer'), (2, 1, 2, 'inner'), (3, 1, 3, 'domain')",
    "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns) VALUES (1, 1, 1, 1, 1000, 1000), (2, 1, 1, 2, 1000, 1000), "
    "(3, 1, 1, 2, 1500, 500), (4, 1, 2, 1, 1900, 500), (5, 1, 3, 2, 2000, 0), (6, 2, 1, 1, 50, NULL), (7, 2, 1, 2, 60, 5)",
    "UPDATE range SET domain = 3, category = 9, payload = 0.25 WHERE id = 7",
    "INSERT INTO idle_time VALUES (3, 1, 0, 1, 4000, 1000, 1, 'data', 'x.bin', 5, 1, 'sampled', NULL, 1, 1, 1000, 1), "
    "(4, 1, 0, 1, 6000, 9000, 20, 'python', NULL, 6, NULL, 'grouped', 1, 2, NULL, NULL, NULL)",
    "INSERT INTO step_series VALUES (1, 1, 1, 'range', NULL, 'outer', 1)",
    "INSERT INTO step (series, number, kind, warmup, start_ns, duration_ns, launches) VALUES (1, 1, 1, 1, 100, 50, 3)",
    "INSERT INTO flight VALUES (1, 2, 4243, 'loader', 3, 5300000000, NULL, 7, 5900000000, 'explicit-sync', NULL, NULL, 'inferred', "
    "'waits for the GPU', NULL)",
    "INSERT INTO host_function VALUES (1, 1, 1, 38, NULL, 2, 5250000000, 2000)",
    "INSERT INTO gpu_interval VALUES (1, 1, 0, 6000000000)",
    "INSERT INTO gpu_change VALUES (1, 300, 'other', 'torch.profiler'), (1, 700, 'seen', NULL)",
)


class Perfetto:
    """What a viewer sees in a Perfetto file. Checks what the format asks of every file."""

    def __init__(self, case, path):
        pb = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
        self.case, self.tracks, self.counts, self.pieces = case, {}, collections.defaultdict(list), []
        self.clears, self.clocks, texts, events = 0, {}, {}, collections.defaultdict(list)
        trace = pb.Trace()
        with open(path, "rb") as file:
            trace.ParseFromString(file.read())
        for packet in trace.packet:
            case.assertEqual(packet.trusted_packet_sequence_id, 1)
            if packet.sequence_flags & pb.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED:
                self.clears, texts = self.clears + 1, {}
            for field, entries in packet.interned_data.ListFields():
                for entry in entries:
                    text = entry.str.decode() if field.name == "debug_annotation_string_values" else entry.name
                    case.assertNotIn((field.name, entry.iid), texts)
                    texts[field.name, entry.iid] = text
            self.clocks.update({clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks})
            if packet.HasField("track_descriptor"):
                self.describe(packet.track_descriptor)
            if packet.HasField("track_event"):
                case.assertTrue(packet.HasField("timestamp"))
                self.event(pb.TrackEvent, packet, texts, events)
        for uuid, found in events.items():
            self.nest(pb.TrackEvent, uuid, found)

    def describe(self, track):
        self.case.assertNotIn(track.uuid, self.tracks)
        if track.HasField("parent_uuid"):
            self.case.assertIn(track.parent_uuid, self.tracks)
        self.tracks[track.uuid] = track

    def name(self, uuid):
        track = self.tracks[uuid]
        name = track.process.process_name or track.thread.thread_name or track.name
        return (*(self.name(track.parent_uuid) if track.parent_uuid else ()), name)

    def event(self, kinds, packet, texts, events):
        event = packet.track_event
        self.case.assertIn(event.track_uuid, self.tracks)
        if event.type == kinds.TYPE_COUNTER:
            self.counts[self.name(event.track_uuid)].append((packet.timestamp, event.double_counter_value))
            return
        piece = None
        if event.type != kinds.TYPE_SLICE_END:
            self.case.assertEqual(packet.sequence_flags & 2, 2)
            arguments = {texts["debug_annotation_names", entry.name_iid]:
                         texts["debug_annotation_string_values", entry.string_value_iid] if entry.string_value_iid else
                         entry.double_value if entry.HasField("double_value") else entry.int_value
                         for entry in event.debug_annotations}
            self.case.assertEqual(len(event.category_iids), 1)
            piece = Piece(self.name(event.track_uuid), packet.timestamp, None, texts["event_names", event.name_iid],
                          texts["event_categories", event.category_iids[0]], arguments, tuple(event.flow_ids))
        events[event.track_uuid].append((packet.timestamp, event.type, piece))

    def nest(self, kinds, uuid, events):
        """As viewers do: sorted by time, otherwise in the order of the file; an end is that of the last piece without one."""
        stack = []
        for at, kind, piece in sorted(events, key=lambda event: event[0]):
            if kind == kinds.TYPE_SLICE_BEGIN:
                stack.append(piece)
            elif kind == kinds.TYPE_INSTANT:
                self.pieces.append(piece._replace(end=MOMENT))
            else:
                self.case.assertEqual(kind, kinds.TYPE_SLICE_END)
                self.case.assertTrue(stack, f"{uuid}: an end without a beginning at {at}")
                self.pieces.append(stack.pop()._replace(end=at))
        self.pieces += [piece._replace(end=OPEN) for piece in stack]


class Tracks(harness.Case):
    def make(self, *changes, base="lazy_launch"):
        stored.make_anew(base, self.path("trace.db"), *changes)

    def export(self, err=""):
        result = self.command("export", self.path("trace.db"), "--to", "perfetto", "-o", "out", "--force", sim=False)
        self.assertIn(err, ("any", result.err))
        return Perfetto(self, self.path("out"))

    def found(self, timeline, **wanted):
        """The pieces with these values."""
        return [piece for piece in timeline.pieces if all(getattr(piece, name) == value for name, value in wanted.items())]


@unittest.skipUnless(HAS_PERFETTO, "PyPI's package perfetto is not here; scripts/setup installs it")
class PerfettoFile(Tracks):
    def test_tracks(self):
        self.make(*CHANGES)
        timeline = self.export()
        by_name = {timeline.name(uuid): track for uuid, track in timeline.tracks.items()}
        process = by_name["train",]
        self.assertEqual((process.process.pid, process.process.start_timestamp_ns), (4242, 0))
        for name, tid in (("python", 4242), ("loader", 4243)):
            thread = by_name["train", name]
            self.assertEqual((thread.thread.pid, thread.thread.tid, thread.parent_uuid), (4242, tid, process.uuid))
        for name in (("train", "python", "stalls"), ("train", "python", "ranges"), ("train", "python", "steps"),
                     ("train", "GPU 0: NVIDIA H100", "idle"), ("train", "GPU 0: NVIDIA H100", "stream 7"),
                     ("train", "GPU 0: NVIDIA H100", "stream 8"), ("train", "not recorded")):
            self.assertTrue(by_name[name].HasField("sibling_order_rank"), name)
        self.assertEqual(timeline.clocks, {6: 0, 1: 1700000000000000000})
        power = by_name["NVIDIA H100, GPU-1", "power"]
        self.assertEqual(power.counter.unit_name, "W")
        self.assertEqual(timeline.counts["NVIDIA H100, GPU-1", "power"], [(100, 250.5)])
        self.assertEqual(timeline.counts["NVIDIA H100, GPU-1", "memory used"], [(100, 1000), (200, 2000)])
        self.assertNotIn(("NVIDIA H100, GPU-1", "memory clock"), timeline.counts)

    def test_pieces(self):
        self.make(*CHANGES)
        timeline = self.export()
        [call] = self.found(timeline, name="cudaLaunchKernel", start=4210000000)
        self.assertEqual(call, Piece(
            ("train", "python"), 4210000000, 5063000000, "cudaLaunchKernel", "launch",
            {"call": 39, "kernel": "vectorized_elementwise_kernel<tanh>", "stream": 1, "line": "train.py:31 step"}, (39,)))
        [kernel] = [piece for piece in timeline.pieces if piece.arguments.get("operation") == 2]
        self.assertEqual(kernel, Piece(
            ("train", "GPU 0: NVIDIA H100", "stream 7"), 4222710000, 4245310000, "gemm<float>", "kernel",
            {"operation": 2, "call": 2, "grid": "264x2x1", "block": "128x1x1", "registers": 64, "shared_bytes": 1024,
             "full_name": "void ns::gemm<float>(float const*)"}, (2,)))
        [copy] = self.found(timeline, category="copy", name="host to device")
        self.assertEqual((copy.end - copy.start, copy.arguments, copy.arrows),
                         (1000, {"operation": 50, "call": 40, "bytes": 4096, "host_memory": "pinned"}, (40,)))
        [stall] = self.found(timeline, name="lazy-load")
        self.assertEqual((stall.track, stall.start, stall.end, stall.category, stall.arrows),
                         (("train", "python", "stalls"), 4210000000, 5063000000, "stall", (38,)))
        self.assertEqual({name: stall.arguments[name] for name in ("stall", "call", "wait_ns", "waited_for", "confidence")},
                         {"stall": "s1", "call": 39, "wait_ns": 852900000, "waited_for": 38, "confidence": "measured"})
        self.assertRegex(stall.arguments["advice"], "^Load it before the loop")
        [victim] = [piece for piece in timeline.pieces if piece.category == "stall" and piece.arguments["call"] == 40]
        self.assertIn(39, victim.arrows)
        [wait] = self.found(timeline, category="requested wait")
        self.assertEqual((wait.track, wait.name), (("train", "loader", "stalls"), "explicit-sync"))

    def test_other_pieces(self):
        self.make(*CHANGES)
        timeline = self.export()
        idle, several = self.found(timeline, category="idle")
        self.assertEqual(sorted((idle, several)), sorted((
            Piece(("train", "GPU 0: NVIDIA H100", "idle"), 4000, 5000, "data", "idle",
                  {"idle": "i3", "detail": "x.bin", "confidence": "sampled", "samples": 5, "thread": 1, "next_call": 1,
                   "line": "train.py:31 step"}, ()),
            Piece(("train", "GPU 0: NVIDIA H100", "idle"), 6000, MOMENT, "python", "idle",
                  {"idle": "i4", "confidence": "grouped", "samples": 6, "times": 20, "together_ns": 9000, "thread": 1,
                   "previous_call": 1, "next_call": 2}, ()))))
        [step] = self.found(timeline, category="step")
        self.assertEqual((step.track, step.name, step.end - step.start, step.arguments["launches"], step.arguments["warmup"]),
                         (("train", "python", "steps"), "outer 1", 50, 3, 1))
        [call] = self.found(timeline, end=OPEN, category="sync")
        self.assertEqual((call.track, call.start, call.arguments["state"], call.arguments["elapsed_ns"]),
                         (("train", "loader"), 5300000000, "waits for the GPU", 600000000))
        [function] = self.found(timeline, category="host function")
        self.assertEqual((function.track, function.end - function.start, function.arrows), (("train", "loader"), 2000, (38,)))
        [unseen] = self.found(timeline, category="recording")
        self.assertEqual((unseen.start, unseen.end, unseen.name, unseen.arguments["profiler"]),
                         (300, 700, "GPU: another profiler", "torch.profiler"))

    def test_what_overlaps_has_tracks_of_its_own(self):
        """Ranges inside each other share one; operations of a stream never do. Viewers show tracks of one name as one."""
        self.make(*CHANGES)
        timeline = self.export()
        stream = [track.uuid for track in timeline.tracks.values() if track.name == "stream 7"]
        self.assertEqual(len(stream), 3)
        self.assertEqual(sorted(piece.end - piece.start for piece in timeline.pieces if piece.arguments.get("operation") in (50, 51)),
                         [100, 1000])
        ranges = [(piece.arguments["range"], piece.start, piece.end) for piece in timeline.pieces if piece.category == "range"]
        self.assertEqual(sorted(ranges), [(1, 1000, 2000), (2, 1000, 2000), (3, 1500, 2000), (4, 1900, 2400), (5, 2000, MOMENT),
                                          (6, 50, OPEN), (7, 60, 65)])
        self.assertEqual(sum(track.name == "ranges" for track in timeline.tracks.values()), 3)
        [inner] = [piece for piece in timeline.pieces if piece.arguments.get("range") == 7]
        self.assertEqual(inner.arguments, {"range": 7, "kind": "push", "domain": "domain", "category": 9, "payload": 0.25})

    def test_more_than_can_be_beside_each_other(self):
        self.make("INSERT INTO gpu_op SELECT 1000 + value, 1, 1, 1, 9000000000 + value, 1000000, NULL, NULL, NULL, NULL, NULL FROM "
                  "(WITH RECURSIVE n(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM n WHERE value < 199) SELECT value FROM n)")
        timeline = self.export()
        ends = collections.Counter(piece.end == MOMENT for piece in timeline.pieces if piece.arguments.get("operation", 0) >= 1000)
        self.assertEqual(ends, {False: 65, True: 135})

    def test_as_many_texts_as_there_are(self):
        """The reader's memory of texts is cleared now and then. Each range has its own."""
        self.make("INSERT INTO range_text SELECT value, 1, value, printf('range %d%.*c', value, value % 7 * 40, 'x') FROM "
                  "(WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < 70000) SELECT value FROM n)",
                  "INSERT INTO range (id, thread, kind, text, start_ns, duration_ns) SELECT id, 1, 1, id, id * 10, 5 FROM range_text")
        timeline = self.export()
        self.assertGreater(timeline.clears, 2)
        names = {piece.arguments["range"]: piece.name for piece in timeline.pieces if piece.category == "range"}
        self.assertEqual(len(names), 70000)
        for number, name in names.items():
            self.assertEqual(name, f"range {number}{'x' * max(number % 7 * 40, 1)}")

    def test_ends_are_those_of_their_pieces(self):
        for name in ("starved", "lines", "host_function", "hang"):
            with self.subTest(name):
                self.make(base=name)
                timeline = self.export()
                with sqlite3.connect(self.path("trace.db")) as trace:
                    for view, argument in (("calls", "call"), ("gpu_ops", "operation")):
                        rows = {number: (start, end) for number, start, end in trace.execute(
                            f"SELECT id, start_ns, start_ns + duration_ns FROM {view} WHERE start_ns IS NOT NULL")}
                        seen = {piece.arguments[argument]: (piece.start, piece.end) for piece in timeline.pieces
                                if next(iter(piece.arguments)) == argument}
                        self.assertEqual(seen, rows)
                trace.close()

    def test_loads_of_code(self):
        self.make("UPDATE load SET start_ns = 110000000, duration_ns = 1000 WHERE id = 2", base="new_ptx")  # inside the other
        first, second = self.found(self.export(), category="load of code")
        self.assertEqual({first.start, second.start}, {100010000, 110000000})
        self.assertEqual(first.track, second.track)
        self.assertEqual(first.track[-1], "loads")
        self.assertEqual([piece.arguments["wait_ns"] for piece in (first, second) if piece.arguments["load"] == 1], [79850000])

    def test_hostile_names(self):
        for name in HOSTILE:
            self.make(*CHANGES, f"UPDATE gpu_name SET name = {name}", f"UPDATE kernel SET name = {name}",
                      f"UPDATE frame SET function = {name}, file = {name}", f"UPDATE range_text SET text = {name}",
                      f"UPDATE thread SET name = {name}", f"UPDATE process SET program = {name}, arguments = {name}",
                      f"UPDATE device SET name = {name}, uuid = {name}", f"UPDATE sample SET uuid = {name}",
                      f"UPDATE idle_time SET reason = {name}", f"UPDATE stall SET cause = {name}", f"UPDATE api SET name = {name}")
            with self.subTest(name):
                timeline = self.export()
                self.assertGreater(len(timeline.pieces), 80)
                for piece in timeline.pieces:
                    self.assertNotRegex(" ".join(map(str, (piece.name, piece.track, *piece.arguments.values()))), "[\x00-\x1f]")

    def test_wrong_types(self):
        for value in ("'text'", "x'00ff'", "-9223372036854775808", "9223372036854775807", "NULL", "1e308"):
            self.make(*CHANGES)
            database = sqlite3.connect(self.path("trace.db"))
            for table in ("gpu_op", "call", "thread", "process", "range", "idle_time", "stall", "sample", "flight", "gpu_place",
                          "gpu_shape", "step", "device", "host_function", "gpu_change"):
                for _, column, _, _, _, key in database.execute(f"PRAGMA table_info({table})").fetchall():
                    if not key:
                        database.execute(f"UPDATE OR IGNORE {table} SET {column} = {value} WHERE rowid % 2"
                                         if table not in ("step", "gpu_change") else f"UPDATE OR IGNORE {table} SET {column} = {value}")
            database.commit()
            database.close()
            with self.subTest(value):
                self.export(err="any")

    def test_nothing_recorded(self):
        self.make("DELETE FROM call", "DELETE FROM gpu_op", "DELETE FROM stall")
        self.assertEqual(self.export().pieces, [])


class Files(Tracks):
    def test_only_its_own_files_are_overwritten(self):
        self.make(*CHANGES)
        words = ("export", self.path("trace.db"), "--to", "perfetto", "-o")
        for _ in range(2):
            self.command(*words, "new", sim=False)
        self.command("export", self.path("trace.db"), "--to", "html", "-o", "other", sim=False)
        self.write("notes", "text\n")
        for path in ("notes", "other"):
            self.assertIn("is not an earlier export as perfetto", self.command(*words, path, status=3, sim=False).err)

    def test_wrong_use(self):
        self.make()
        for word, value in (("--of", "idle"), ("--range", "forward")):
            self.assertIn("--of and --range have no effect on --to perfetto",
                          self.command("export", self.path("trace.db"), "--to", "perfetto", word, value, status=2, sim=False).err)


if __name__ == "__main__":
    unittest.main()
