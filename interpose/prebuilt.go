package interpose

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"embed"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose/layout"
)

// prebuilt holds the products that were compiled when this program was built:
// see prebuilt/README.md.
//
//go:embed prebuilt
var prebuilt embed.FS

// embedded returns a file of prebuilt/, or nil if this program has no such file.
func embedded(name string) []byte {
	content, err := prebuilt.ReadFile("prebuilt/" + name)
	if err != nil {
		return nil
	}
	return content
}

// A Family is a set of MPIs with one ABI: a library that is compiled once serves
// all of them.
type Family struct {
	Name    string   // openmpi, mpich, abi
	Sonames []string // of the MPI's library
}

// Families lists the families for which src/base has a header, abi_NAME.h.
var Families = []Family{
	{"openmpi", []string{"libmpi.so.40"}},
	{"mpich", []string{"libmpi.so.12", "libmpich.so.12"}},
	{"abi", []string{"libmpi_abi.so.1"}},
}

// AllFamilies is what the dispatcher serves.
var AllFamilies = Family{Name: "dispatcher"}

// PrebuiltName returns the name of the file with the compiled library, for a
// machine as Go names it.
func (f Family) PrebuiltName(machine string) string { return library.PackedName(f, machine) }

// Embedded reports whether this program has the family's prebuilt library for
// the machine it runs on.
func (f Family) Embedded() bool {
	return embedded(f.PrebuiltName(runtime.GOARCH)) != nil
}

// Prebuilt are the products that interpose/zig compiles for each family.
var Prebuilt = []*Product{&library, &lister}

// Targets maps machines as Go names them to zig's targets. The version is that
// of the oldest glibc on which the library loads.
var Targets = map[string]string{
	"amd64": "x86_64-linux-gnu.2.17",
	"arm64": "aarch64-linux-gnu.2.17",
}

// prebuildFlags are additional flags of the compiler. Some texts fill their
// field, without a 0 at the end.
var prebuildFlags = []string{"-Wno-unterminated-string-initialization"}

// Prebuild compiles the product with cc in the directory work, and returns the
// content of the file. have writes have.h for the files to compile.
func (p *Product) Prebuild(ctx context.Context, cc, work string, have func(units []string) error) ([]byte, error) {
	o := BuildOptions{CC: cc, Log: os.Stderr, CFlags: append(prebuildFlags, "-ffile-prefix-map="+work+"=.")}
	out, err := p.makeIn(ctx, o, work, NoIdentity, p.prebuildLink, have)
	if err != nil {
		return nil, err
	}
	image, err := os.ReadFile(out)
	if n := bytes.Count(image, []byte(NoIdentity)); err == nil && p == &library && n != 1 {
		err = fmt.Errorf("it has the text of its identity %d times", n)
	}
	return image, err
}

// PackedName returns the name of a prebuilt file. The name contains a hash of
// what the product is compiled from, so that one of other sources is never used.
func (p *Product) PackedName(f Family, machine string) string {
	of, err := p.hashSources()
	if err != nil {
		panic(err) // they are embedded
	}
	h := sha256.New()
	h.Write(of)
	fmt.Fprintln(h, layout.ToolVersion, Targets[machine], p.compile, prebuildFlags, p.prebuildLink)
	return fmt.Sprintf(p.packed, f.Name, machine, h.Sum(nil)[:6])
}

// familyOf returns the family of an MPI's shared library, by its soname. Cray's
// builds of MPICH have sonames of their own, such as libmpi_gnu_91.so.12. Open MPI
// 1.10 has the soname of MPICH.
func familyOf(mpi string) (Family, bool) {
	soname := sonameOf(mpi)
	if cray.MatchString(soname) {
		soname = "libmpi.so.12"
	}
	i := slices.IndexFunc(Families, func(f Family) bool { return slices.Contains(f.Sonames, soname) })
	if i < 0 || soname == "libmpi.so.12" && isOpenMPI(mpi) {
		return Family{}, false
	}
	return Families[i], true
}

var cray = regexp.MustCompile(`^libmpi_\w+\.so\.12$`)

// isOpenMPI reports whether an MPI's shared library has a symbol that only Open
// MPI has. It remembers the answers, because a rank asks several times.
func isOpenMPI(mpi string) bool {
	if is, ok := openMPIs.Load(mpi); ok {
		return is.(bool)
	}
	symbols, err := Symbols(mpi)
	if err != nil {
		return false
	}
	is := slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "ompi_mpi_comm_world" })
	openMPIs.Store(mpi, is)
	return is
}

var openMPIs sync.Map

// sonameOf returns the soname of a shared library, empty if it has none.
func sonameOf(file string) string {
	f, err := elf.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	names, err := f.DynString(elf.DT_SONAME)
	if err != nil || len(names) == 0 {
		return ""
	}
	return names[0]
}

// HasPrebuilt reports whether Build uses a prebuilt library for an MPI.
func HasPrebuilt(o BuildOptions) bool { return library.packedFor(o) != nil }

// WhyPrebuilt returns, for the user, why Build uses a prebuilt library for an
// MPI, or why it does not.
func WhyPrebuilt(o BuildOptions) string {
	soname := sonameOf(o.MPI)
	f, ok := familyOf(o.MPI)
	switch {
	case o.Compile || len(o.CFlags) > 0:
		return "flags of the compiler were given"
	case o.MPI == "":
		return "the MPI's shared library is not known"
	case soname == "":
		return o.MPI + " has no soname"
	case !ok:
		return fmt.Sprintf("there is no prebuilt library for the soname %s", soname)
	case !HasPrebuilt(o):
		return fmt.Sprintf("this mpitrace was built without the prebuilt library of the family %s", f.Name)
	}
	return fmt.Sprintf("prebuilt library of the family %s, for the soname %s", f.Name, soname)
}

// packedFor returns the prebuilt product for an MPI, or nil if there is none, or
// if the options ask for another one.
func (p *Product) packedFor(o BuildOptions) []byte {
	if p.plain {
		return embedded(p.PackedName(AllFamilies, runtime.GOARCH))
	}
	if o.MPI == "" || o.Compile || len(o.CFlags) > 0 {
		return nil
	}
	f, ok := familyOf(o.MPI)
	if !ok {
		return nil
	}
	return embedded(p.PackedName(f, runtime.GOARCH))
}

// unpackPrebuilt writes a prebuilt product to file, with the functions hidden
// that this MPI lacks, and with the identity that a library compiled here would
// have.
func (p *Product) unpackPrebuilt(packed []byte, o BuildOptions, file string) error {
	key, err := p.identity(o)
	if err != nil {
		return err
	}
	image, err := decompress(packed)
	if err != nil {
		return err
	}
	if !p.plain {
		mpi, err := exports(o.MPI)
		if err == nil {
			_, err = hideMissing(image, mpi)
		}
		if err != nil {
			return err
		}
	}
	return writeToCache(file, bytes.Replace(image, []byte(NoIdentity), []byte(key), 1))
}

// writeToCache writes a file that programs load.
func writeToCache(file string, content []byte) error {
	if err := atomicfile.WriteContent(file, content, 0o755); err != nil {
		return &NoRoomError{fmt.Errorf("%w (set MPITRACE_CACHE)", err)}
	}
	return nil
}

func decompress(packed []byte) ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var image bytes.Buffer
	if _, err := d.WriteTo(&image); err != nil {
		return nil, fmt.Errorf("unpack a prebuilt file: %w", err)
	}
	return image.Bytes(), nil
}

// NoIdentity is the identity of a prebuilt library, which is replaced when it is
// unpacked.
var NoIdentity = strings.Repeat("0", identityLength)
