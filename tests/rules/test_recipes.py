#!/usr/bin/env python3
"""The recipes of packaging/ name the version, the options and the dependencies that meson has; CHANGELOG and pages agree."""

import ast
import glob
import os
import re
import sys
import unittest

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(CHECKOUT, "tests"))
from version import VERSION  # noqa: E402

CONDA = "packaging/conda/recipe.yaml"
SPACK = "packaging/spack/spack_repo/gpuverify/packages/gpuverify/package.py"
DEBIAN = ("packaging/debian/rules", "packaging/debian/control")

# What provides each dependency of meson: in Debian, conda-forge and Spack.
PROVIDERS = {
    "sqlite3": ("libsqlite3-dev", "sqlite", "sqlite"),
    "libdw": ("libdw-dev", "elfutils", "elfutils"),
    "libelf": ("libelf-dev", "elfutils", "elfutils"),
    "libunwind-generic": ("libunwind-dev", "libunwind", "libunwind"),
}
OF_THE_COMPILER = {"dl", "threads", ""}
OF_MESON = {"werror"}


def text(*paths):
    parts = []
    for path in paths:
        with open(os.path.join(CHECKOUT, path), encoding="utf-8") as file:
            parts.append(file.read())
    return "\n".join(parts)


RECIPES = {"Debian": text(*DEBIAN), "conda": text(CONDA), "Spack": text(SPACK)}


class Recipes(unittest.TestCase):
    def test_version(self):
        self.assertEqual(re.findall(r"^context:\n  version: (\S+)", RECIPES["conda"], re.M), [VERSION])
        self.assertEqual(re.findall(r'^    version\("(.+?)"', RECIPES["Spack"], re.M), [VERSION])

    def test_the_newest_section_of_the_changelog_is_the_versions(self):
        newest = re.search(r"^## (.*)$", text("CHANGELOG.md"), re.M).group(1)
        self.assertRegex(newest, rf"^{re.escape(VERSION)}( - \d{{4}}-\d\d-\d\d|, not released yet)$")

    def test_pages_and_scripts_name_no_other_version(self):
        """Except where one measured something."""
        paths = [path for pattern in ("README.md", "SECURITY.md", "docs/**/*.md", "scripts/**", "packaging/docker/*")
                 for path in glob.glob(os.path.join(CHECKOUT, pattern), recursive=True) if os.path.isfile(path)]
        self.assertGreater(len(paths), 60)
        for path in paths:
            for named in re.findall(r"(?<!by )\bgpuverify(?:[-_@=]+| version | )v?(\d+\.\d+\.\d+)", text(path)):
                self.assertEqual(named, VERSION, os.path.relpath(path, CHECKOUT))

    def test_options_are_mesons(self):
        options = OF_MESON | set(re.findall(r"^option\('(.+?)'", text("meson_options.txt"), re.M))
        for name, recipe in RECIPES.items():
            used = set(re.findall(r"""(?<=[\s"])-D([\w-]+)""", recipe))
            self.assertIn("static", used, name)
            self.assertLessEqual(used, options, name)

    def test_dependencies_are_mesons(self):
        wanted = set(re.findall(r"\bdependency\('(.*?)'", text("meson.build", "report/meson.build", "preload/meson.build")))
        self.assertEqual(wanted - OF_THE_COMPILER, set(PROVIDERS))
        for dependency, names in PROVIDERS.items():
            for (system, recipe), name in zip(RECIPES.items(), names):
                self.assertRegex(recipe, rf"[\" ]{name}[\",@ \n]", f"{system}: {dependency}")

    def test_oldest_versions_are_mesons_and_pythons(self):
        for wanted, where, conda, spack, debian in (
                (r"meson_version: '>=([\d.]+)'", "meson.build", r"meson >=([\d.]+)", r"meson@([\d.]+):", r"meson \(>= ([\d.]+)\)"),
                (r"sqlite_version = '>=([\d.]+)'", "report/meson.build", r"sqlite >=([\d.]+)", r"sqlite@([\d.]+):",
                 r"libsqlite3-0 \(>= ([\d.]+)\)"),
                (r"Requires-Python: >=([\d.]+)", "python/metadata/METADATA", r"python >=([\d.]+)", r"python@([\d.]+):",
                 r"X-Python3-Version: >= ([\d.]+)")):
            oldest = {re.search(wanted, text(where)).group(1)}
            self.assertEqual(set(re.findall(conda, RECIPES["conda"])), oldest)
            self.assertEqual(set(re.findall(spack, RECIPES["Spack"])), oldest)
            self.assertEqual(set(re.findall(debian, RECIPES["Debian"])), oldest)

    def test_the_one_for_spack_is_python(self):
        recipe, = (node for node in ast.parse(RECIPES["Spack"]).body if isinstance(node, ast.ClassDef))
        self.assertEqual((recipe.name, recipe.bases[0].id), ("Gpuverify", "MesonPackage"))


if __name__ == "__main__":
    unittest.main()
