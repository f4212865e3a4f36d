#!/bin/bash
# Compiles examples/halo with an installed MPI, and runs it on 4 ranks under mpitrace.
# Arguments go to halo.
set -euo pipefail
cd "$(dirname "$0")/.."

has() { command -v "$1" >/dev/null 2>&1; }

if has mpicc.openmpi && has mpirun.openmpi; then
    cc=mpicc.openmpi launch=mpirun.openmpi
elif has mpicc.mpich && has mpiexec.mpich; then
    cc=mpicc.mpich launch=mpiexec.mpich
elif has mpicc && has mpirun; then
    cc=mpicc launch=mpirun
else
    echo "no mpicc and mpirun found; run make setup" >&2
    exit 1
fi

options=(-n 4)
if "$launch" --version 2>&1 | grep -q 'Open MPI\|OpenRTE\|PRRTE'; then
    # Open MPI refuses to start more ranks than cores, and to run as root.
    options+=(--oversubscribe)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

mkdir -p build
"$cc" -O2 -g -Wno-stringop-overflow -o build/halo examples/halo/halo.c -lm
exec bin/mpitrace run -- "$launch" "${options[@]}" build/halo "$@"
