# Other states of runs of the corpus, for record.sh: what commands of the commit wrote,
# and what remains if a part is deleted.

# state NAME OF copies the run OF and enters the copy, unless the state is there.
state() {
    [ ! -e "$runs/$1" ] && [ -e "$runs/$2" ] && cp -a "$runs/$2" "$runs/$1" && cd "$runs/$1"
}

for of in halo-openmpi halo-mpich collectives-openmpi neighbors-mpich onesided-mpich jobs-openmpi jobs-mpich \
    dying-SIGKILL-mpich lammps lulesh-mpich phases-openmpi inter_collectives-openmpi physical-physical-openmpi \
    spawned-openmpi threads-openmpi intervals-interval-openmpi hostile_names-openmpi wrappers-auto-mpich; do
    # Only the merged files: an earlier version's archive.
    (state "arrow-$of" $of && rm -rf recordings) || true
    # Only profile.arrow, without run.json.
    (state "profile-$of" $of && mv profile.arrow keep && rm -rf -- *.* recordings && mv keep profile.arrow) || true
    # Only the recordings, packed.
    (state "packed-$of" $of && rm -f -- *.arrow merged.json) || true
done
for of in ranks-halo-openmpi ranks-collectives-mpich ranks-threads-openmpi ranks-phases-mpich ranks-ends-openmpi files-ranks-mpich; do
    # Recordings of processes that recorded themselves, merged.
    (state "merged-$of" $of && "$mpitrace" merge . >"$corpus/log/merged-$of" 2>&1) || true
    # The same, collected: packed.
    (state "collected-$of" $of && "$mpitrace" collect . >"$corpus/log/collected-$of" 2>&1) || true
done
# What an export wrote: .prof files, Parquet datasets, one Arrow file a rank.
for of in halo-openmpi neighbors-mpich jobs-openmpi; do
    (state "prof-$of" $of && rm -rf prof && "$mpitrace" export . --format prof -o prof && mv prof .. &&
        cd .. && rm -rf "prof-$of" && mv prof "prof-$of") >/dev/null || true
    (state "parquet-$of" $of && "$mpitrace" export . --format parquet --partition 2 --tables all -o data >/dev/null) || true
    (state "feather-$of" $of && "$mpitrace" export . --format arrow -o all.arrow >/dev/null && rm -rf recordings) || true
done
(state arrows-halo-openmpi halo-formats-openmpi && rm -rf recordings run.json -- *.arrow) || true
# A recording that is damaged in its middle.
for of in halo-openmpi collectives-mpich ranks-halo-mpich; do
    (state "damaged-$of" $of && rm -f -- *.arrow merged.json && for f in recordings/*; do
        printf damage | dd of="$f" bs=1 seek=$(($(stat -c %s "$f") / 2)) conv=notrunc status=none
    done) || true
    (state "cut-$of" $of && rm -f -- *.arrow merged.json && for f in recordings/*; do
        truncate -s $(($(stat -c %s "$f") * 2 / 3)) "$f"
    done) || true
done
