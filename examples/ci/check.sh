#!/bin/sh
# Record some runs of a program, and compare them with those of the version before.
#
#   usage: check.sh RUNS COMMAND...
#
# RUNS is a directory that CI keeps between its jobs: the runs of all versions are
# in it. COMMAND starts the program, such as: mpirun -n 2 ./halo -s 100
#
# The result is printed as Markdown. The exit status is 4 if the newest version is
# worse than LIMIT allows, as `mpitrace history --help` says.
set -eu

limit=${LIMIT:-time=25%,bytes=0%,messages=0%}
repeat=${REPEAT:-3} # of a single run, the spread is not known

runs=$1
shift
now=$(date -u +%Y%m%d-%H%M%S)
i=1
while [ "$i" -le "$repeat" ]; do
    mpitrace run --no-report -o "$runs/$now-$i" -- "$@" >&2
    i=$((i + 1))
done
exec mpitrace history --markdown --fail-if-worse "$limit" "$runs"
