#!/bin/bash
# Runs every fuzz target, or those below some directories, for a time each, one after
# the other, and stops at the first that finds something. The last is the library's, in C:
#
#   scripts/fuzz.sh 5s
#   scripts/fuzz.sh 5s formats interpose
#
# What was found is below testdata/fuzz of its package, and `go test` tries it
# again from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: scripts/fuzz.sh TIME [DIRECTORY...]}
shift
[ $# -gt 0 ] || set -- cmd formats internal profile aggregate interpose tests

targets=$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' "$@" | sort)
# go test fuzzes one target of one package. Without -fuzzminimizetime it would spend most of
# the time on making one input smaller that covers new code.
fuzz() { # TARGET PACKAGE
    ${GO:-go} test "$2" -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 10x -parallel 2 2>&1 |
        grep -v '^fuzz: elapsed'
}

# If the time ends while go test runs an input, it sometimes reports a failure without a
# failing input, "context deadline exceeded". Such a target runs again, at most twice.
while IFS=: read -r file declaration; do
    target=${declaration#func } package=./$(dirname "$file")
    echo "$target $package"
    for try in 1 2 3; do
        if said=$(fuzz "$target" "$package"); then
            break
        fi
        if [[ $try = 3 || $said != *"context deadline exceeded"* || $said == *"Failing input"* ]]; then
            echo "$said"
            exit 1
        fi
    done
    echo "$said"
done <<<"$targets"

[[ " $* " == *" interpose "* ]] || exit 0
echo "TestFuzzEnvironment ./interpose"
MPITRACE_FUZZ_TIME=$time ${GO:-go} test ./interpose -count 1 -timeout 0 -run '^TestFuzzEnvironment$'
