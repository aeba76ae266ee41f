#!/usr/bin/env python3
"""rattler-build understands the recipe for conda: packaging/conda renders for both architectures. Nothing is built:
that needs the packages of conda-forge.

  test_conda.py

Exits 77 without py-rattler-build, which scripts/setup all brings.
"""

import os
import sys
import unittest

try:
    import rattler_build
except ImportError:
    print("no py-rattler-build in .venv: scripts/setup all brings it")
    sys.exit(77)

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "packaging/conda")


class Conda(unittest.TestCase):
    def check(self, platform, compiler):
        config = rattler_build.PlatformConfig(target_platform=platform, build_platform=platform, host_platform=platform)
        rendered, = rattler_build.Stage0Recipe.from_file(os.path.join(FOLDER, "recipe.yaml")).render(
            rattler_build.VariantConfig.from_file(os.path.join(FOLDER, "variants.yaml")),
            rattler_build.RenderConfig(platform=config))
        recipe = rendered.recipe.to_dict()
        self.assertEqual(recipe["package"]["name"], "gpuverify")
        self.assertIn(compiler, recipe["requirements"]["build"])
        self.assertIn(f"cuda-crt-dev_{platform} >=13.0", recipe["requirements"]["host"])

    def test_x86_64(self):
        self.check("linux-64", "gcc_linux-64")

    def test_aarch64(self):
        self.check("linux-aarch64", "gcc_linux-aarch64")


if __name__ == "__main__":
    unittest.main()
