package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// aarch64Root has the libc of aarch64 (Debian's libc6-arm64-cross).
const aarch64Root = "/usr/aarch64-linux-gnu"

// TestAarch64 records examples/halo for aarch64 under qemu and MPICH 5, with the
// prebuilt libraries, and checks every cell of the matrices.
func TestAarch64(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "qemu-aarch64", filepath.Join(aarch64Root, "lib", "libc.so.6"))
	for _, family := range interpose.Families {
		link := map[string]string{"mpich": "mpi", "abi": "mpi_abi"}[family.Name]
		if link == "" { // qemu has not all that Open MPI needs
			continue
		}
		t.Run(family.Name, func(t *testing.T) {
			t.Setenv("MPIR_CVAR_CH4_CMA_ENABLE", "0") // qemu has no process_vm_readv
			checkHalo(t, aarch64(t, family, link))
		})
	}
}

// TestAarch64Thunks checks the thunks of aarch64: see interpose.TestThunks.
func TestAarch64Thunks(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "qemu-aarch64", filepath.Join(aarch64Root, "lib", "libc.so.6"))
	for _, level := range []string{"-O0", "-O2"} {
		program := filepath.Join(t.TempDir(), "thunks")
		command := strings.Fields(zig(t) + " cc -target aarch64-linux-gnu.2.17 -w " + level)
		command = append(command, "-I"+filepath.Join(root, "interpose", "src", "calls"), "-o", program,
			filepath.Join(root, "tests", "programs", "thunks.c"), "-lpthread")
		succeed(t, nil, command...)
		if out := succeed(t, nil, "qemu-aarch64", "-L", aarch64Root, program); out.stdout != "ok\n" {
			t.Errorf("%s: %s", level, out.stdout)
		}
	}
}

// aarch64 returns an MPI whose compiler makes two files of each program: one
// for aarch64, and a script that runs it under qemu with the library of family
// preloaded.
func aarch64(t *testing.T, family interpose.Family, link string) implementation {
	t.Helper()
	mpi, native := filepath.Join(root, "build", "mpich5-aarch64"), filepath.Join(root, "build", "mpich5")
	m := implementation{
		name: "aarch64-" + family.Name, cc: filepath.Join(t.TempDir(), "mpicc"),
		launcher: []string{filepath.Join(native, "bin", "mpiexec")},
	}
	testenv.Need(t, mpi, m.launcher[0])
	dir := filepath.Join(scratch, m.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := interpose.Prebuild(t.Context(), zig(t), family, "arm64", dir); err != nil {
		t.Fatal(err)
	}
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	image, err := d.DecodeAll(readAll(t, filepath.Join(dir, family.PrebuiltName("arm64"))), nil)
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libmpitrace.so")
	if err := os.WriteFile(library, image, 0o755); err != nil {
		t.Fatal(err)
	}
	// mpicc -o PROGRAM makes PROGRAM.aarch64 and the script PROGRAM.
	header := map[string]string{"mpi": filepath.Join(mpi, "include", "mpi.h"), "mpi_abi": filepath.Join(native, "include", "mpi_abi.h")}
	succeed(t, nil, "ln", "-sf", header[link], filepath.Join(dir, "mpi.h"))
	lib := filepath.Join(mpi, "lib")
	qemu := strings.Join([]string{"exec env -u LD_PRELOAD qemu-aarch64 -L", aarch64Root, "-E", "LD_PRELOAD=" + library}, " ")
	script := fmt.Sprintf(`#!/bin/bash
args=("$@")
for i in "${!args[@]}"; do
    if [ "${args[i]}" = -o ]; then
        out=${args[i + 1]}
        args[i + 1]=$out.aarch64
    fi
done
%s cc -target aarch64-linux-gnu.2.28 "${args[@]}" -w -I%s -L%s -l%s -Wl,-rpath,%[3]s || exit
echo '#!/bin/sh
%s' "$out.aarch64" '"$@"' >"$out"
chmod +x "$out"
`, zig(t), dir, lib, link, qemu)
	if err := os.WriteFile(m.cc, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}
