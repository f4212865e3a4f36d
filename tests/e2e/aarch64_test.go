package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/interpose"
	"github.com/mpitrace/mpitrace/interpose/zig"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// aarch64Root has the libc of aarch64 (Debian's libc6-arm64-cross).
const aarch64Root = "/usr/aarch64-linux-gnu"

// TestAarch64 records examples/halo for aarch64 under qemu and MPICH 5, with the
// prebuilt libraries, first preloaded themselves and then opened by the
// dispatcher, and checks every cell of the matrices.
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
			m := aarch64(t, family, link)
			checkHalo(t, m)
			dispatchAarch64(t, filepath.Join(scratch, m.name), family)
			checkHalo(t, m)
		})
	}
}

// TestAarch64Thunks checks the thunks of aarch64: see interpose.TestThunks.
func TestAarch64Thunks(t *testing.T) {
	testenv.At(t, testenv.All)
	testenv.Need(t, "qemu-aarch64", filepath.Join(aarch64Root, "lib", "libc.so.6"))
	for _, level := range []string{"-O0", "-O2"} {
		program := filepath.Join(t.TempDir(), "thunks")
		command := strings.Fields(zigCommand(t) + " cc -target aarch64-linux-gnu.2.17 -w " + level)
		command = append(command, "-I"+filepath.Join(root, "interpose", "src", "calls"), "-o", program,
			filepath.Join(root, "tests", "programs", "thunks.c"), "-lpthread")
		succeed(t, nil, command...)
		if out := succeed(t, nil, "qemu-aarch64", "-L", aarch64Root, program); out.stdout != "ok\n" {
			t.Errorf("%s: %s", level, out.stdout)
		}
	}
}

// dispatchAarch64 replaces the library in a directory by the dispatcher, which
// opens that library.
func dispatchAarch64(t *testing.T, dir string, family interpose.Family) {
	t.Helper()
	library := readAll(t, filepath.Join(dir, "libmpitrace.so"))
	packed, err := "", interpose.ImportThreadLocal(library)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "libmpitrace-"+family.Sonames[0]+".so"), library, 0o755)
	}
	if err == nil {
		packed, err = zig.Prebuild(t.Context(), zigCommand(t), interpose.PrebuiltDispatcher, interpose.AllFamilies, "arm64", dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, packed, filepath.Join(dir, "libmpitrace.so"))
}

// unpack writes a library from a file that Prebuild made.
func unpack(t *testing.T, packed, library string) {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	image, err := d.DecodeAll(readAll(t, packed), nil)
	if err == nil {
		err = os.WriteFile(library, image, 0o755)
	}
	if err != nil {
		t.Fatal(err)
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
	testenv.Need(t, filepath.Join(mpi, "lib", "libmpi.so.12"), m.launcher[0])
	dir := filepath.Join(scratch, m.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	packed, err := zig.Prebuild(t.Context(), zigCommand(t), interpose.Prebuilt[0], family, "arm64", dir)
	if err != nil {
		t.Fatal(err)
	}
	library := filepath.Join(dir, "libmpitrace.so")
	unpack(t, packed, library)
	// mpicc -o PROGRAM makes PROGRAM.aarch64 and the script PROGRAM.
	include := filepath.Join(mpi, "include")
	if link == "mpi_abi" { // whose header the wheel for aarch64 lacks
		include = dir
		succeed(t, nil, "ln", "-sf", filepath.Join(native, "include", "mpi_abi.h"), filepath.Join(dir, "mpi.h"))
	}
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
%[1]s cc -target aarch64-linux-gnu.2.28 "${args[@]}" -w -I%[2]s -L%[3]s -l%[4]s -Wl,-rpath,%[3]s || exit
echo '#!/bin/sh
%[5]s' "$out.aarch64" '"$@"' >"$out"
chmod +x "$out"
`, zigCommand(t), include, lib, link, qemu)
	if err := os.WriteFile(m.cc, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return m
}
