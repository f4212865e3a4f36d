# Copyright: the mpitrace developers. SPDX-License-Identifier: Apache-2.0

from spack.package import *


class Mpitrace(MakefilePackage):
    """Profiler and tracer of MPI communication. It records who sends to whom, how
    much and how long it takes, without recompiling the program."""

    homepage = "https://github.com/mpitrace/mpitrace"
    git = "https://github.com/mpitrace/mpitrace.git"

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    depends_on("go@1.26:", type="build")
    depends_on("gmake", type="build")

    # The library is compiled with an MPI's mpicc when that MPI is first used.
    depends_on("c", type="run")

    build_targets = ["commands"]

    def install(self, spec, prefix):
        make("install-files", f"PREFIX={prefix}")
