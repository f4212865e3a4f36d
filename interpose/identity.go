package interpose

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// identitySection is the section of a library that holds its identity.
const identitySection = ".mpitrace"

// Fits reports whether a library that was built before, here or elsewhere, is what
// Build would build: of the same sources with the same flags, for an MPI of the
// same name and with the same functions. It says nothing of who can write to the
// file: see CheckLibrary.
func Fits(path string, o BuildOptions) bool {
	want, err := library.identity(o)
	return err == nil && o.MPI != "" && identityOf(path) == want
}

// identityOf reads the identity that a library was built with, empty if there is
// none.
func identityOf(path string) string {
	f, err := elf.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	const most = 256
	s := f.Section(identitySection)
	if s == nil || s.Size > most {
		return ""
	}
	text, err := s.Data()
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\x00")
}

// identity hashes what the product depends on: our sources, the flags, and the
// MPI. Of the library this is what all copies of an MPI have in common; a program
// is linked to one of them. Where the MPI is not known it is the compiler wrapper.
func (p *product) identity(o BuildOptions) (string, error) {
	h := sha256.New()
	names, err := p.sources()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		text, err := sources.ReadFile(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n", name, len(text))
		h.Write(text)
	}
	fmt.Fprintln(h, layout.ToolVersion, runtime.GOARCH, p.compile, p.link, o.CFlags)
	if p.linked || !hashMPI(h, o.MPI) {
		hashFile(h, o.CC)
		hashFile(h, o.MPI)
	}
	return hex.EncodeToString(h.Sum(nil))[:32], nil
}

// hashFile adds a file as it is now, without reading it.
func hashFile(h io.Writer, path string) {
	fmt.Fprintln(h, path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return
	}
	if info, err := os.Stat(real); err == nil {
		fmt.Fprintln(h, real, info.Size(), info.ModTime().UnixNano())
	}
}

// cFunction matches the C functions of MPIs, which decide what is compiled.
var cFunction = regexp.MustCompile(`^PMPIX?_[A-Z]\w*$`)

// hashMPI adds the ABI of an MPI's shared library, by the name that programs need
// it under, and its functions. It reports whether the file is an MPI.
func hashMPI(h io.Writer, path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sonames, _ := f.DynString(elf.DT_SONAME) // few libraries have none
	symbols, err := f.DynamicSymbols()
	if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
		return false
	}
	var functions []string
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && cFunction.MatchString(s.Name) {
			functions = append(functions, s.Name)
		}
	}
	slices.Sort(functions)
	if len(functions) > 0 {
		fmt.Fprintln(h, f.Machine, f.Class, sonames, slices.Compact(functions))
	}
	return len(functions) > 0
}
