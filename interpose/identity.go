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
	"sync"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// identitySection is the ELF section in which a library holds its identity.
const identitySection = ".mpitrace"

const identityLength = 32

// Fits reports whether an existing library, built here or elsewhere, is what
// Build would build: from the same sources with the same flags, for an MPI with
// the same name and functions. It does not check who can write to the file: see
// CheckLibrary.
func Fits(path string, o BuildOptions) bool {
	want, err := library.identity(o)
	return err == nil && o.MPI != "" && identityOf(path) == want
}

// identityOf returns the identity that a library was built with, empty if it
// has none.
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

// identity returns a hash of everything that the product depends on: the
// sources, the flags, and the MPI. For the library, the hash covers the MPI's
// soname and functions, so that it fits all copies of an MPI. Of a product that
// each copy has for itself, or if the MPI is not known, the hash covers the path,
// size and time of the MPI and, unless the product is prebuilt, of the compiler
// wrapper.
func (p *Product) identity(o BuildOptions) (string, error) {
	of, err := p.hashSources()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	h.Write(of)
	fmt.Fprintln(h, layout.ToolVersion, runtime.GOARCH, p.compile, p.link, o.CFlags)
	packed := p.packedFor(o)
	if p == &dispatcher {
		for _, f := range Families { // they lie beside it, and their names contain a hash
			if f.Embedded() {
				fmt.Fprintln(h, f.PrebuiltName(runtime.GOARCH))
			}
		}
	}
	h.Write(packed)
	if !p.plain && (p.perCopy || !hashMPI(h, o.MPI)) {
		if packed == nil {
			hashFile(h, o.CC)
		}
		hashFile(h, o.MPI)
	}
	return hex.EncodeToString(h.Sum(nil))[:identityLength], nil
}

// hashSources returns a hash of the names and contents of the product's sources.
// The sources are embedded and do not change, so the hash is computed once per
// process.
func (p *Product) hashSources() ([]byte, error) {
	key := fmt.Sprint(p.dir, p.shared)
	if hash, ok := sourceHashes.Load(key); ok {
		return hash.([]byte), nil
	}
	h := sha256.New()
	files, err := p.sources()
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		fmt.Fprintf(h, "%s %d\n", f.name, len(f.text))
		h.Write(f.text)
	}
	hash := h.Sum(nil)
	sourceHashes.Store(key, hash)
	return hash, nil
}

// sourceHashes caches the results of hashSources. The key is the directory and
// the shared headers.
var sourceHashes sync.Map

// hashFile adds a file's path, size and time, without reading the file.
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

// cFunction matches the C functions of an MPI, which determine what is
// compiled.
var cFunction = regexp.MustCompile(`^PMPIX?_[A-Z]\w*$`)

// hashMPI adds the ABI of an MPI's shared library: its machine, soname and
// functions. It reports whether the file is an MPI.
func hashMPI(h io.Writer, path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	sonames, _ := f.DynString(elf.DT_SONAME) // an error is harmless: some libraries have none
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
