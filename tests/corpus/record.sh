#!/bin/bash
# Records a corpus of more than 100 runs with the commands of an earlier commit, so that
# compare.py can tell whether a later version reads the same numbers from them:
#
#     tests/corpus/record.sh DIR [COMMIT]
#
# DIR/bin has the commands of COMMIT, DIR/programs the programs, DIR/runs the runs and
# DIR/log what each run printed. What is there already is not made again. A program that
# is not installed is left out, and named at the end. APPLICATIONS=DIR has the sources
# of LULESH, CoMD and SNAP, each below its name.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
corpus=$(mkdir -p "${1:?usage: record.sh DIR [COMMIT]}" && cd "$1" && pwd)
commit=${2:-ac75958}
runs=$corpus/runs
mkdir -p "$runs" "$corpus/log" "$corpus/work"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export XDG_CONFIG_HOME=$corpus/config XDG_CACHE_HOME=$corpus/cache MPITRACE_SITE_CONFIG=
export I_MPI_ROOT=$root/build/impi I_MPI_FABRICS=shm OMP_NUM_THREADS=1

# The commands of the commit, with the prebuilt libraries inside.
if [ ! -x "$corpus/bin/mpitrace" ]; then
    source=$corpus/source
    mkdir -p "$source/build"
    git archive "$commit" | tar -x -C "$source"
    ln -sfn "$(readlink -f build/zig)" "$source/build/zig"
    make -C "$source" prebuilt commands
    mkdir -p "$corpus/bin"
    cp "$source"/bin/* "$corpus/bin/"
    git rev-parse "$commit" >"$corpus/commit"
fi
mpitrace=$corpus/bin/mpitrace
missing=()

# prefix MPI prints what stands before the names of an MPI's commands; suffix what
# stands after them.
prefix() { case $1 in openmpi | mpich) ;; *) echo "$root/build/$1/bin/" ;; esac }
suffix() { case $1 in openmpi | mpich) echo ".$1" ;; esac }

# program MPI NAME [FLAGS...] prints the path of a program, compiled from tests/programs
# or examples. FLAGS are part of the path.
program() {
    local mpi=$1 name=$2 out source compiler=mpicc
    shift 2
    out=$corpus/programs/$mpi$(printf '%s' "$@" | tr -d ' =,')/$name
    for source in "examples/$name"/halo.* tests/programs/"$name".{c,F90,cc}; do
        [ ! -e "$source" ] || break
    done
    case $source in *.F90 | *.f90) compiler=mpif90 ;; *.cc) compiler=mpicxx ;; esac
    compiler=$(prefix "$mpi")$compiler$(suffix "$mpi")
    if [ ! -x "$out" ]; then
        mkdir -p "${out%/*}"
        local flags=(-O1 -g -w -Iinterpose/include)
        [[ $source == *.c ]] || flags=(-O1 -g -w -cpp)
        [[ $source == *.[Ff]90 ]] && flags+=("-J${out%/*}")
        "$compiler" "${flags[@]}" "$source" -o "$out" -lpthread -lm -ldl "$@" >"$corpus/log/compile" 2>&1 ||
            { cat "$corpus/log/compile" >&2; return 1; }
    fi
    echo "$out"
}

# launch MPI RANKS COMMAND... prints the launcher's command line, a word a line.
launch() {
    local mpi=$1 ranks=$2 command=mpiexec
    shift 2
    case $mpi in openmpi* | impi) command=mpirun ;; esac
    printf '%s\n' "$(prefix "$mpi")$command$(suffix "$mpi")" -n "$ranks" "$@"
}

# record NAME "FLAGS" COMMAND... records a command as the run NAME.
record() {
    local name=$1 flags
    read -ra flags <<<"$2"
    shift 2
    [ ! -e "$runs/$name" ] || return 0
    # Some commands must fail: their ranks are killed, or a signal ends the program.
    (cd "$corpus/work" && timeout -k 5 "${LIMIT:-60}" \
        "$mpitrace" run --no-report -o "$runs/$name" "${flags[@]}" -- "$@" >"$corpus/log/$name" 2>&1 </dev/null) || true
    [ -e "$runs/$name" ] || missing+=("$name")
}

# one MPI RANKS "FLAGS" SUFFIX PROGRAM... records a program of ours.
one() {
    local mpi=$1 ranks=$2 flags=$3 suffix=$4 name=$5 path words
    shift 5
    [ ! -e "$runs/$name$suffix-$mpi" ] || return 0
    path=$(program "$mpi" "$name" ${COMPILE:-}) || { missing+=("$name$suffix-$mpi"); return 0; }
    mapfile -t words < <(launch "$mpi" "$ranks" "$path" "$@")
    record "$name$suffix-$mpi" "$flags" "${words[@]}"
}

# both does the same with both of Debian's MPIs, traced under MPICH.
both() {
    one openmpi "$1" "$2" "${@:3}"
    one mpich "$1" "--trace $2" "${@:3}"
}

. tests/corpus/runs.sh
. tests/corpus/states.sh

echo "$(ls "$runs" | wc -l) runs in $runs, $(du -sh "$runs" | cut -f1)"
[ ${#missing[@]} -eq 0 ] || echo "not recorded: ${missing[*]}"
