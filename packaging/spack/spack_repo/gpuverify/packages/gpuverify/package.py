# ruff: noqa: F403, F405 (Spack wants this import)
from spack.package import *
from spack_repo.builtin.build_systems.meson import MesonPackage


class Gpuverify(MesonPackage):
    """Shows whether a program really uses the GPU, and what its CUDA calls lose time to."""

    license("MIT")

    # Built from a checkout: dev_path says which.
    version("0.2.0")

    variant("python", default=True, description="Install the Python package")

    requires("platform=linux")
    requires("target=x86_64:", "target=aarch64:", policy="any_of")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("cuda@13:", type="build")  # only its headers
    depends_on("elfutils")
    depends_on("libunwind")
    depends_on("sqlite@3.34:")
    extends("python@3.9:", when="+python")

    def setup_build_environment(self, env):
        env.append_path("CPATH", self.spec["cuda"].prefix.extras.CUPTI.include)

    def meson_args(self):
        arguments = ["-Dstatic=false", "-Dwerror=false", "-Dworkloads=false",
                     f"-Dcuda-include={self.spec['cuda'].prefix.include}"]
        if self.spec.satisfies("+python"):
            arguments.append(f"-Dpython={self.spec['python'].command.path}")
        return arguments
