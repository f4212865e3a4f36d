#!/bin/sh
# Compares two versions of mpitrace: reads and CPU time of `mpitrace report` of a synthetic
# run, with merged files and without.
#
#     bench/report.sh BEFORE AFTER [RANKS]
#
# BEFORE and AFTER are directories with mpitrace. The versions take turns.
set -eu
before=$1 after=$2 ranks=${3:-1000}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
go run ./tests/synth/gen -format container -ranks "$ranks" -o "$dir/run"

# report VERSION: reads and CPU time, in s
report() {
	strace -f -c -e trace=pread64 -o "$dir/calls" "$1/mpitrace" report "$dir/run" >"$dir/out" 2>/dev/null
	[ "$2" = merged ] || rm -f "$dir"/run/*.arrow "$dir/run/merged.json"
	reads=$(awk '$NF == "pread64" { print $4 }' "$dir/calls")
	cpu=$(/usr/bin/time -f '%U %S' "$1/mpitrace" report "$dir/run" 2>&1 >"$dir/out" | awk 'END { print $1 + $2 }')
	[ "$2" = merged ] || rm -f "$dir"/run/*.arrow "$dir/run/merged.json"
	echo "$1, $2: $reads preads, $cpu s"
}

for state in unmerged merged; do
	[ "$state" = unmerged ] || "$after/mpitrace" merge "$dir/run" 2>/dev/null
	for _ in 1 2 3; do
		report "$before" "$state"
		report "$after" "$state"
	done
done
