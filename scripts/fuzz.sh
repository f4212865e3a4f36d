#!/bin/bash
# Runs every fuzz target for a time, one after the other, and stops at the
# first that finds something:
#
#   scripts/fuzz.sh 5s
#
# What was found is below testdata/fuzz of its package, and `go test` tries it
# again from then on.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:?usage: scripts/fuzz.sh TIME}

targets=$(grep -ro --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' cmd formats internal profile aggregate interpose | sort)
# go test takes one target of one package. Without a limit it spends the time
# on making the first input that it likes smaller.
while IFS=: read -r file declaration; do
    echo "${declaration#func } ./$(dirname "$file")"
    ${GO:-go} test "./$(dirname "$file")" -run '^$' -fuzz "^${declaration#func }\$" \
        -fuzztime "$time" -fuzzminimizetime 10x -parallel 2 | grep -v '^fuzz: elapsed'
done <<<"$targets"
