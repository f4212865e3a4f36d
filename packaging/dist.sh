#!/bin/bash
# Makes the packages of one version, for x86-64 and aarch64, in dist/. `make dist`
# runs it. What it needs besides Go: scripts/setup.sh dist. Compiled libraries are
# kept in build/dist/libraries, so that an interrupted run goes on from there.
#
# usage: packaging/dist.sh VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
version=$1
go=${GO:-go}
python=build/dist/bin/python
# The date of all files in the packages.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || date +%s)
export SOURCE_DATE_EPOCH CGO_ENABLED=0

# archive STAGE NAME: dist/NAME.tar.gz with the tree STAGE as NAME/.
archive() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
        --transform "s,^\.,$2," -C "$1" -c . | gzip -9n >"dist/$2.tar.gz"
}

# wheel STAGE TAG: dist/*-TAG.whl, the module with the commands beside it.
wheel() {
    local work=$1-wheel
    $python -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w "$work" ./python
    rm -rf python/build python/*.egg-info
    $python -m wheel unpack --dest "$work" "$work"/*.whl >/dev/null
    rm "$work"/*.whl
    mkdir -p "$work/mpitrace-$version/mpitrace-$version.data/scripts"
    cp "$1"/bin/* "$work/mpitrace-$version/mpitrace-$version.data/scripts"
    sed -i "s/^Root-Is-Purelib: .*/Root-Is-Purelib: false/; s/^Tag: .*/Tag: py3-none-$2/" \
        "$work/mpitrace-$version/mpitrace-$version.dist-info/WHEEL"
    $python -m wheel pack --dest-dir dist "$work/mpitrace-$version" >/dev/null
}

# overlay LIBRARIES: what `go build -overlay` reads, so that the commands embed the
# compiled libraries in LIBRARIES instead of those of this directory.
overlay() {
    local file replaced=
    for file in interpose/prebuilt/*.zst; do
        [ ! -e "$file" ] || replaced+="\"$PWD/$file\": \"\", "
    done
    for file in "$1"/*.zst; do
        replaced+="\"$PWD/interpose/prebuilt/${file##*/}\": \"$file\", "
    done
    echo "{\"Replace\": {${replaced%, }}}"
}

# progress WHAT: prints what comes next, and the seconds so far.
progress() { echo "make dist: $SECONDS s: $1" >&2; }

# libraries MACHINE: the directory with the libraries of a machine, which are compiled
# unless they were compiled from these sources before.
libraries() {
    local kept="$PWD/build/dist/libraries/$key-$1" made=$work/source/interpose/prebuilt
    if [ ! -d "$kept" ]; then
        progress "$1: compiling the libraries of all MPIs (minutes, the first time)"
        (cd "$work/source" && $go run -buildvcs=false ./interpose/prebuild "$zig -m ziglang" "$1" >/dev/null)
        mkdir -p "$kept.new"
        cp "$made"/*.zst "$kept.new"
        mv "$kept.new" "$kept"
    fi
    echo "$kept"
}

rm -rf dist
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The libraries are compiled in a copy: other commands may use those of this directory.
zig=$PWD/build/zig/bin/python
mkdir "$work/source"
tar --exclude=./build --exclude=./dist --exclude=./.git --exclude=./interpose/prebuilt/*.zst -c . | tar -x -C "$work/source"
# What the libraries are made of.
key=$(tar --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -C "$work/source" -c interpose go.mod go.sum |
    cat - build/zig/.made-of | sha256sum | cut -c 1-16)
for machine in arm64 amd64; do
    case $machine in
    amd64) tag=manylinux2014_x86_64 ;;
    arm64) tag=manylinux2014_aarch64 ;;
    esac
    kept=$(libraries $machine)
    overlay "$kept" >"$work/overlay.json"
    progress "$machine: commands"
    GOOS=linux GOARCH=$machine $go build -overlay "$work/overlay.json" -trimpath -ldflags "-s -w" -o "$work/$machine-commands/" ./cmd/mpitrace ./cmd/profile2mat
    stage=$work/$machine
    make --no-print-directory -s install-files DESTDIR="$stage" PREFIX= BIN="$work/$machine-commands"
    rmdir "$stage/lib"
    gzip -9n "$stage"/share/man/man1/*
    install -d "$stage/share/doc/mpitrace"
    install -m 644 README.md CHANGELOG.md LICENSE "$stage/share/doc/mpitrace"
    progress "$machine: archive, .deb, .rpm, wheel"
    archive "$stage" "mpitrace-$version-linux-$machine"
    for packager in deb rpm; do
        MACHINE=$machine VERSION=$version STAGE=$stage build/dist/bin/nfpm package --config packaging/nfpm.yaml \
            --packager $packager --target dist/ >/dev/null
    done
    wheel "$stage" $tag
done
cp packaging/spack/package.py dist/
(cd dist && sha256sum -- * >SHA256SUMS)
ls -l dist >&2
