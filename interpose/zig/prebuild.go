// Package zig compiles what is embedded in mpitrace with zig's C compiler, which
// makes files for all machines that load on old systems.
package zig

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose"
)

// optionalFunction matches what have.h defines for a function that an MPI has.
var optionalFunction = regexp.MustCompile(`\bMT_HAVE_\w+`)

// Prebuild compiles a product for a family of MPIs and a machine, and writes it,
// compressed, to dir. It returns the file's name. command runs zig. No MPI is
// needed: the library has all functions of MPI, and those that an MPI lacks are
// hidden when it is unpacked. The result is the same in all directories.
func Prebuild(ctx context.Context, command string, p *interpose.Product, f interpose.Family, machine, dir string) (string, error) {
	target, ok := interpose.Targets[machine]
	if !ok {
		return "", fmt.Errorf("nothing is built for %s", machine)
	}
	work, remove, err := atomicfile.MakeTemporary("", "mpitrace-")
	if err != nil {
		return "", err
	}
	defer remove()
	cc := filepath.Join(work, "cc")
	script := fmt.Appendf(nil, "#!/bin/sh\nexec %s cc -target %s \"$@\"\n", command, target)
	if err := os.WriteFile(cc, script, 0o700); err != nil {
		return "", err
	}
	image, err := p.Prebuild(ctx, cc, work, func(units []string) error { return writeHaveAll(work, f, units) })
	if err == nil {
		err = checkGlibc(image)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.PackedName(f, machine), err)
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, p.PackedName(f, machine))
	return file, atomicfile.WriteContent(file, e.EncodeAll(image, nil), 0o644)
}

// checkGlibc returns an error if a library needs a newer glibc than 2.17.
func checkGlibc(image []byte) error {
	f, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		return err
	}
	symbols, err := f.ImportedSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		minor, ok := strings.CutPrefix(s.Version, "GLIBC_2.")
		if !ok {
			continue
		}
		minor, _, _ = strings.Cut(minor, ".")
		if n, err := strconv.Atoi(minor); err != nil || n > 17 {
			return fmt.Errorf("it needs %s of %s", s.Name, s.Version)
		}
	}
	return nil
}

// writeHaveAll writes have.h for an MPI of a family that has all functions.
func writeHaveAll(work string, f interpose.Family, units []string) error {
	have := []string{"MT_ABI_" + strings.ToUpper(f.Name)}
	headers, err := filepath.Glob(filepath.Join(work, "*", "*.h"))
	if err != nil {
		return err
	}
	for _, file := range slices.Concat(units, headers) {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, name := range optionalFunction.FindAll(text, -1) {
			have = append(have, string(name))
		}
	}
	slices.Sort(have)
	var b strings.Builder
	for _, name := range slices.Compact(have) {
		fmt.Fprintf(&b, "#define %s 1\n", name)
	}
	return os.WriteFile(filepath.Join(work, "have.h"), []byte(b.String()), 0o600)
}
