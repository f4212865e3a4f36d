package interpose

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
)

// targets maps machines as Go names them to zig's targets. The version is that
// of the oldest glibc on which the library loads.
var targets = map[string]string{
	"amd64": "x86_64-linux-gnu.2.17",
	"arm64": "aarch64-linux-gnu.2.17",
}

// prebuildFlags are additional flags of the compiler. Some texts fill their
// field, without a 0 at the end.
var prebuildFlags = []string{"-Wno-unterminated-string-initialization"}

// optionalFunction matches what have.h defines for a function that an MPI has.
var optionalFunction = regexp.MustCompile(`\bMT_HAVE_\w+`)

// Prebuild compiles the library for a family of MPIs and a machine, and the
// program that lists variables, and writes them to dir. zig is a command that
// runs zig's compiler. No MPI is needed: the library has all functions of MPI,
// and unpackPrebuilt hides those that an MPI lacks. The result is the same in
// all directories.
func Prebuild(ctx context.Context, zig string, f Family, machine, dir string) error {
	cc, err := compilerFor(zig, machine)
	if err != nil {
		return err
	}
	for _, p := range prebuiltProducts {
		if err := p.prebuild(ctx, cc, f, filepath.Join(dir, p.packedName(f, machine))); err != nil {
			return err
		}
	}
	return nil
}

// PrebuildDispatcher compiles the dispatcher for a machine, and writes it to dir,
// as Prebuild does.
func PrebuildDispatcher(ctx context.Context, zig, machine, dir string) error {
	cc, err := compilerFor(zig, machine)
	if err != nil {
		return err
	}
	return dispatcher.prebuild(ctx, cc, allFamilies, filepath.Join(dir, PrebuiltDispatcherName(machine)))
}

// compilerFor returns the command of zig's C compiler for a machine.
func compilerFor(zig, machine string) (string, error) {
	target, ok := targets[machine]
	if !ok {
		return "", fmt.Errorf("nothing is built for %s", machine)
	}
	return fmt.Sprintf("%s cc -target %s", zig, target), nil
}

// prebuild compiles a product with a command, and writes it to a file,
// compressed.
func (p *product) prebuild(ctx context.Context, command string, f Family, file string) error {
	work, err := os.MkdirTemp("", "mpitrace-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	units, err := p.unpack(work)
	if err != nil {
		return err
	}
	if err := writeHaveAll(work, f, units); err != nil {
		return err
	}
	cc := filepath.Join(work, "cc")
	if err := os.WriteFile(cc, fmt.Appendf(nil, "#!/bin/sh\nexec %s \"$@\"\n", command), 0o700); err != nil {
		return err
	}
	o := BuildOptions{CC: cc, Log: os.Stderr, CFlags: slices.Concat(prebuildFlags,
		[]string{"-ffile-prefix-map=" + work + "=.", `-DMT_LIBRARY_IDENTITY="` + NoIdentity + `"`})}
	objects, err := p.compileUnits(ctx, o, work, units)
	if err != nil {
		return err
	}
	out := filepath.Join(work, "out")
	if _, err := o.run(ctx, slices.Concat(objects, p.prebuildLink, []string{"-o", out})...); err != nil {
		return err
	}
	if err := p.checkPrebuilt(out); err != nil {
		return fmt.Errorf("%s of %s: %w", p.what, f.Name, err)
	}
	image, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	return atomicfile.WriteContent(file, e.EncodeAll(image, nil), 0o644)
}

// checkPrebuilt returns an error if a file needs symbols of an MPI or a newer
// glibc than 2.17, or if the library does not have the text of its identity
// once.
func (p *product) checkPrebuilt(file string) error {
	if err := checkSymbols(file); err != nil {
		return err
	}
	if err := checkGlibc(file); err != nil || p != &library {
		return err
	}
	image, err := os.ReadFile(file)
	if n := bytes.Count(image, []byte(NoIdentity)); err == nil && n != 1 {
		err = fmt.Errorf("it has the text of its identity %d times", n)
	}
	return err
}

// checkGlibc returns an error if a library needs a newer glibc than 2.17.
func checkGlibc(file string) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
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
			return fmt.Errorf("%s needs %s of %s", filepath.Base(file), s.Name, s.Version)
		}
	}
	return nil
}

// writeHaveAll writes have.h for an MPI of a family that has all functions.
func writeHaveAll(work string, f Family, units []string) error {
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
