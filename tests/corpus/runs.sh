# The runs of the corpus, for record.sh. Few ranks and few seconds each.

# Each behaviour of the recorder, plain under Open MPI, traced under MPICH.
while read -r ranks name args; do
    both "$ranks" "" "" "$name" $args
done <<'END'
4 halo -n 40 -m 40 -s 10
4 collectives
4 in_place
4 zeros
4 inter_collectives
5 inter_reduce_scatter
5 intercomm
4 neighbors
4 graphs
4 constructors
4 dup
4 subcomm
4 reuse
3 fold
2 twins
2 idup
3 onesided
3 windows
2 one_sided_reads
2 files io.dat
2 file_calls io2.dat
2 sends
3 sendrecv
3 completion
2 persistent
2 matched
2 self
8 wildcards 50
8 stencil 1000 10
6 rings 20
2 rest
2 pcontrol
2 phases
1 many_phases 40
2 flush
2 paused
2 moments
2 callbacks
2 cancelled
2 freed
2 truncated
2 unfinished
2 errors
2 threads
2 thread_sends 300
2 thread_receives 50
1 thread_ends
2 spawned
2 unseen
2 hostile_names
2 hostile_markup
2 late
3 late_onesided
3 latest
2 wrappers
1 stacks 17
END

both 2 "" -others flush others
both 2 "" -answered oneway answered
both 3 "" -ring oneway ring

# Calls that only MPI 4 has, and other MPIs.
for name in partitioned large large_sends; do
    one mpich 2 "" "" $name
done
one mpich 3 "" "" isendrecv
one mpich 4 --trace "" sessions
one mpich 2 "" "" sessions_again
one mpich 2 "" "" sessions_beside
for mpi in openmpi5 mpich5 impi; do
    one $mpi 4 "" "" halo -n 40 -m 40 -s 10
    one $mpi 4 --trace "" collectives
done

# Settings.
one openmpi 2 "--interval 100ms" -interval intervals
one mpich 2 "--interval 100ms --trace" -interval intervals
one openmpi 1 "--stack 4" -stack4 stacks 17
one mpich 2 "--stack auto" -auto wrappers
one openmpi 4 "--stack auto" -auto halo -n 40 -m 40 -s 10
one openmpi 2 "--timing sampled" -sampled thread_sends 3000
one mpich 4 "--timing sampled" -sampled halo -n 40 -m 40 -s 300
one mpich 4 "--timing off" -off collectives
one openmpi 3 "--receives off" -off completion
one mpich 8 "--receives off" -off wildcards 50
one openmpi 4 --physical -physical physical
one openmpi 4 "--physical --trace" -physical-trace collectives
one openmpi 4 "--pvar * --pvar-interval 10ms" -pvar halo -n 40 -m 40 -s 30
one mpich 2 "--pvar *" -pvar phases
one openmpi 2 "--watch-unexpected 3" -watched flood 20 7 recv
one mpich 8 "--trace --ranks 0,3-5" -ranks stencil 1000 10
one mpich 4 "--trace --trace-classes coll" -coll halo -n 40 -m 40 -s 10
one openmpi 4 "--trace --trace-buffer 1M --trace-limit 1M" -limit halo -n 40 -m 40 -s 4000
one mpich 4 "--trace --trace-limit 1M --keep last" -last halo -n 40 -m 40 -s 4000
one openmpi 4 "--format prof,arrow" -formats halo -n 40 -m 40 -s 10
one mpich 4 "--format prof,arrow --trace" -formats neighbors
one openmpi 2 "--max-mb 1" -full keys 20
for spool in shm run "$corpus/work"; do
    one openmpi 4 "--spool $spool" "-spool-${spool##*/}" collectives
    one mpich 4 "--trace --spool $spool" "-spool-${spool##*/}" halo -n 40 -m 40 -s 10
done

# What stands out, so that there are findings.
for fault in imbalance collectives small-messages hot-rank polling late-sender late-receiver sparse; do
    ranks=2
    case $fault in hot-rank | sparse) ranks=6 ;; esac
    one mpich $ranks --trace -$fault stands_out $fault
done

# Ranks that do not reach MPI_Finalize.
for way in SIGKILL abort exit MPI_Abort exec; do
    mkdir -p "$corpus/work/$way-openmpi" "$corpus/work/$way-mpich"
    one openmpi 3 "" "-$way" dying "$corpus/work/$way-openmpi" $way 1 50
    one mpich 3 --trace "-$way" dying "$corpus/work/$way-mpich" $way 1 50
done
both 2 "" -exit ends exit
both 2 "" "" stranded
both 2 "" "" unmatched

# Fortran.
for mpi in openmpi mpich; do
    flags=
    [ $mpi = mpich ] && flags=--trace
    one $mpi 4 "$flags" "" halo_f08 40 40 10
    COMPILE="-DFORM=3" one $mpi 3 "$flags" -f08 fortran_collectives
    COMPILE="-DFORM=1 -fallow-argument-mismatch" one $mpi 2 "$flags" -mpif fortran_p2p
    COMPILE="-DFORM=3" one $mpi 2 "$flags" -f08 fortran_onesided "$corpus/work/f-$mpi.dat"
    COMPILE="-DFORM=3 -fopenmp" one $mpi 2 "$flags" -f08 fortran_threads
    one $mpi 2 "$flags" "" exceptions
done

# Several programs, and several jobs.
for mpi in openmpi mpich; do
    flags=
    [ $mpi = mpich ] && flags=--trace
    sends=$(program $mpi sends) phases=$(program $mpi phases) halo=$(program $mpi halo) collectives=$(program $mpi collectives)
    mapfile -t job < <(launch $mpi 1 "$sends" : -n 1 "$sends" : )
    record mpmd-$mpi "$flags" "${job[@]:0:${#job[@]}-1}"
    mapfile -t start < <(launch $mpi 2)
    record jobs-$mpi "$flags" sh -c "${start[*]} $phases; ${start[*]} $phases; ${start[0]} -n 4 $halo -n 20 -m 20 -s 3"
    record jobs-beside-$mpi "$flags" sh -c "${start[*]} $phases & ${start[0]} -n 4 $collectives; wait"
    record jobs-killed-$mpi "$flags" sh -c "${start[*]} $(program $mpi ends) signal; ${start[*]} $sends"
    # Each rank records itself: the recordings stay as the library left them.
    for name in halo collectives threads phases ends; do
        [ ! -e "$runs/ranks-$name-$mpi" ] || continue
        mapfile -t job < <(launch $mpi 2 "$mpitrace" run $flags -o "$runs/ranks-$name-$mpi" -- "$(program $mpi $name)")
        [ $name = halo ] && job+=(-n 40 -m 40 -s 10)
        [ $name = ends ] && job+=(signal)
        [ $name = collectives ] && job[2]=4
        (cd "$corpus/work" && timeout 60 "${job[@]}" >"$corpus/log/ranks-$name-$mpi" 2>&1) || true
    done
    # In files of their own, not in a container.
    [ -e "$runs/files-ranks-$mpi" ] || (
        cd "$corpus/work"
        mapfile -t job < <(launch $mpi 2 "$mpitrace" run $flags --spool run -o "$runs/files-ranks-$mpi" -- "$sends")
        timeout 60 "${job[@]}" >"$corpus/log/files-ranks-$mpi" 2>&1 || true
    )
done

# mpi4py.
for mpi in openmpi mpich; do
    lib=$(ldd "$(program $mpi sends)" | awk '/libmpi(ch)?\.so/ {print $3; exit}')
    mkdir -p "$corpus/work/lib-$mpi"
    path=
    if [ $mpi = mpich ]; then
        ln -sf "$lib" "$corpus/work/lib-$mpi/libmpi.so.12"
        path=$(dirname "$lib"):$corpus/work/lib-$mpi
    fi
    mapfile -t job < <(launch $mpi 2 "$root/build/venv/bin/python" "$root/tests/e2e/testdata/exchange.py")
    MPI4PY_MPIABI=$mpi MPI4PY_LIBMPI=$lib LD_LIBRARY_PATH=$path record mpi4py-$mpi "$([ $mpi = mpich ] && echo --trace)" "${job[@]}"
done

# Real programs: those of Debian, and those whose sources are in APPLICATIONS.
real() { # NAME MPI RANKS FLAGS COMMAND...
    local name=$1 mpi=$2 ranks=$3 flags=$4 words
    shift 4
    command -v "$1" >/dev/null || { missing+=("$name"); return 0; }
    mapfile -t words < <(launch "$mpi" "$ranks" "$@")
    record "$name" "$flags" "${words[@]}"
}
sed 's/^run.*/run 50/' >"$corpus/work/melt" <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 10
run 50
END
real lammps openmpi 4 "" lmp -in melt
real lammps-trace openmpi 2 --trace lmp -in melt
real lammps-physical openmpi 4 --physical lmp -in melt
real netpipe-openmpi openmpi 2 "" NPopenmpi -u 4096 -n 50 -o np.out
real netpipe-mpich mpich 2 --trace NPmpich2 -u 1024 -n 20 -o np.out
if [ -e /usr/share/doc/hpcc/examples/_hpccinf.txt ]; then
    sed -e '6s/.*/200 Ns/' -e '8s/.*/40 NBs/' /usr/share/doc/hpcc/examples/_hpccinf.txt >"$corpus/work/hpccinf.txt"
fi
LIMIT=120 real hpcc openmpi 4 "" hpcc
printf 'start he\ngeometry\n he 0 0 0\nend\nbasis\n he library 6-31g\nend\ntask scf\n' >"$corpus/work/he.nw"
real nwchem mpich 2 "" nwchem.mpich he.nw
applications=${APPLICATIONS:-$corpus/applications}
# application NAME MPI FILE MAKE... builds an application in a copy, and keeps FILE of it.
application() {
    local name=$1 mpi=$2 file=$3 copy=$corpus/work/$1-$2
    shift 3
    [ ! -x "$corpus/programs/$mpi/$name" ] && [ -d "$applications/$name" ] || return 0
    rm -rf "$copy" && cp -a "$applications/$name" "$copy"
    if (cd "$copy" && "$@") >"$corpus/log/make-$name-$mpi" 2>&1; then cp "$copy/$file" "$corpus/programs/$mpi/$name"; fi
}
cat >"$corpus/work/snap.in" <<'END'
&invar
  npey=2 npez=2 ndimen=3 nx=4 lx=0.4 ny=4 ly=0.4 nz=4 lz=0.4
  nmom=2 nang=4 ng=2 epsi=1.0E-4 iitm=3 oitm=3 timedep=0
/
END
for mpi in openmpi mpich; do
    trace=
    [ $mpi = mpich ] && trace=--trace
    application LULESH $mpi lulesh mpicxx.$mpi -O1 -g -w -DUSE_MPI=1 lulesh.cc lulesh-comm.cc lulesh-init.cc lulesh-util.cc lulesh-viz.cc -o lulesh
    application CoMD $mpi bin/CoMD-mpi sh -c "mkdir -p bin && cd src-mpi && mv Makefile.vanilla Makefile && make CC=mpicc.$mpi OPTFLAGS='-g -O1 -fcommon'"
    application SNAP $mpi src/gsnap make -C src FORTRAN="mpif90.$mpi" OPENMP=no "FFLAGS=-O1 -g -fallow-argument-mismatch"
    real lulesh-$mpi $mpi 8 "$trace" "$corpus/programs/$mpi/LULESH" -s 5 -i 10
    real comd-$mpi $mpi 4 "$trace" "$corpus/programs/$mpi/CoMD" -i 2 -j 2 -k 1 -x 10 -y 10 -z 10 -N 20 -n 10
    real snap-$mpi $mpi 4 "$trace" "$corpus/programs/$mpi/SNAP" snap.in snap-$mpi.out
done
