#!/bin/bash
# Runs the tests that take too long for `make test-all`, in parts. Each part takes
# at most 30 minutes on two idle cores, most take a few.
#
#   scripts/sweep.sh               run the parts that have not passed at this commit
#   scripts/sweep.sh faults fuzz   of these, only parts whose names begin with one of the words
#   scripts/sweep.sh -l            list all parts with their last results
#
# build/sweep/results gets a line when a part has ended, build/sweep/PART.log has its
# output. A part that was interrupted has no line, so the next run starts with it.
# docs/reliability.md lists the parts and their results; TestSweep compares the lists.
set -euo pipefail
cd "$(dirname "$0")/.."

# The name of each part; then a package and the test that it runs at level sweep, or
# "fuzz" and the directories whose fuzz targets it runs for a minute each.
parts='
faults-openmpi   ./tests/e2e     TestFaults/openmpi
faults-mpich     ./tests/e2e     TestFaults/mpich
killed-openmpi   ./tests/e2e     TestContainerKilledInside/openmpi
killed-mpich     ./tests/e2e     TestContainerKilledInside/mpich
chaos            ./tests/e2e     TestChaos
container-chaos  ./tests/e2e     TestContainerChaos
billion          ./tests/e2e     TestBillion
variables        ./tests/e2e     TestReadingCost
page             ./tests/page    TestHundredThousandRanks
spark            ./tests/python  TestEngines
mutants          ./cmd/mpitrace  TestMutants
fuzz-formats     fuzz            formats
fuzz-others      fuzz            cmd internal profile aggregate interpose tests
'

results=build/sweep/results
commit=$(git describe --always --dirty --abbrev=7 --exclude '*')
mkdir -p build/sweep
touch $results

# Prints the last result of each part of a list.
list() {
    local name last
    while read -r name _; do
        last=$(grep "^$name " $results | tail -n 1) || last="- not yet"
        printf '%-16s %s\n' "$name" "${last#* }"
    done
}

# Runs a test at level sweep. With CI set, it fails if a program is missing that it
# needs. A pattern that no subtest matches passes, so the output must name the test.
run_test() { # LOG PACKAGE TEST
    CI=true MPITRACE_TEST_LEVEL=sweep ${GO:-go} test "$2" -count 1 -timeout 2h -v -run "^${3//\//\$/^}\$" >"$1" 2>&1 &&
        grep -q -- "--- PASS: $3 (" "$1"
}

# Runs a part, and writes its result into the file of results.
run_part() { # NAME PACKAGE TEST, or NAME fuzz DIRECTORIES
    local name=$1 kind=$2 log=build/sweep/$1.log begin=$SECONDS result=ok
    shift 2
    echo "$name: running; output: $log"
    if [ "$kind" = fuzz ]; then
        scripts/fuzz.sh 60s "$@" >"$log" 2>&1 || result=failed
    else
        run_test "$log" "$kind" "$@" || result=failed
    fi </dev/null
    [ $result = ok ] || tail -n 30 "$log"
    echo "$name $(date +%F) $commit $((SECONDS - begin)) s $result" | tee -a $results
    [ $result = ok ]
}

is_wanted() { # NAME WORDS...
    local name=$1 word
    shift
    [ $# -gt 0 ] || return 0
    for word; do
        [[ $name != "$word"* ]] || return 0
    done
    return 1
}

parts=$(sed '/^$/d' <<<"$parts")
if [ "${1-}" = -l ]; then
    list <<<"$parts"
    exit
fi
trap 'exit 130' INT TERM # go test ends with an ordinary status when it is interrupted
failed=0 matched=0
while read -r name kind what; do
    is_wanted "$name" "$@" || continue
    matched=1
    # What passed with uncommitted changes says nothing of other such changes.
    if [[ $commit != *-dirty ]] && grep -q "^$name .* $commit .* ok$" $results; then
        echo "$name: has passed at $commit"
        continue
    fi
    # shellcheck disable=SC2086 # one argument a directory
    run_part "$name" "$kind" $what || failed=1
done <<<"$parts"
if [ $matched = 0 ]; then
    echo "scripts/sweep.sh: no part begins with $*; -l lists them" >&2
    exit 2
fi
exit $failed
