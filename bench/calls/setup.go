package calls

import (
	"bufio"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/mpitrace/mpitrace/interpose"
)

//go:embed src/*
var sources embed.FS

// setup is one MPI, with the drivers built for it and the tools to measure.
type setup struct {
	mpi      string            // "openmpi"
	version  string            // first line of MPI_Get_library_version
	compiler string            // "gcc 12.2.0"
	library  string            // path of the MPI's shared library
	ours     string            // path of our library, which that compiler compiled
	launcher string            // mpirun; "" if there is none
	drivers  map[string]string // path by language: "c", "mpif", "f08"
	tools    []tool
}

// prepare builds everything for all MPIs in dir.
func prepare(ctx context.Context, o options, dir string, log io.Writer) ([]setup, error) {
	mpis := o.mpis
	if len(mpis.order) == 0 {
		mpis = installedMPIs()
	}
	if len(mpis.order) == 0 {
		return nil, errors.New("neither mpicc.openmpi nor mpicc.mpich is installed; name an MPI by --mpi NAME=MPICC")
	}
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	var setups []setup
	for _, name := range mpis.order {
		s, err := prepareMPI(ctx, name, mpis.value[name], o, dir, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		setups = append(setups, s)
	}
	return setups, nil
}

// installedMPIs returns the MPIs whose compilers have the names that Debian
// uses.
func installedMPIs() (found named) {
	for _, name := range []string{"openmpi", "mpich"} {
		cc := "mpicc." + name
		if _, err := exec.LookPath(cc); err == nil {
			found.Set(name + "=" + cc)
		}
	}
	return found
}

// prepareMPI builds everything for one MPI.
func prepareMPI(ctx context.Context, name, cc string, o options, dir string, log io.Writer) (s setup, err error) {
	s = setup{mpi: name, drivers: map[string]string{}}
	b := builder{ctx, cc, filepath.Join(dir, "src"), filepath.Join(dir, name)}
	if err := os.Mkdir(b.out, 0o700); err != nil {
		return s, err
	}
	if err := b.drivers(&s, log); err != nil {
		return s, err
	}
	if err := s.identify(ctx); err != nil {
		return s, err
	}
	if s.launcher = beside(cc, "mpirun"); s.launcher == "" {
		fmt.Fprintf(log, "%s has no mpirun: nothing is measured on several ranks\n", name)
	}
	if s.tools, err = b.tools(&s, o, log); err != nil {
		return s, err
	}
	fmt.Fprintf(log, "%s is %s\n", name, s.version)
	return s, nil
}

// builder compiles sources in src with an MPI's compiler into out.
type builder struct {
	ctx      context.Context
	cc       string
	src, out string
}

// drivers builds the driver with the loops of each language.
func (b builder) drivers(s *setup, log io.Writer) error {
	s.drivers["c"] = filepath.Join(b.out, "driver-c")
	err := errors.Join(b.run(b.cc, "-c", "-o", "driver.o", filepath.Join(b.src, "driver.c")),
		b.run(b.cc, "-o", s.drivers["c"], "driver.o", filepath.Join(b.src, "loops.c"), "-ldl", "-lpthread"))
	fortran := beside(b.cc, "mpif90")
	if err != nil || fortran == "" {
		fmt.Fprintf(log, "%s has no mpif90: nothing is measured from Fortran\n", s.mpi)
		return err
	}
	for language, flags := range map[string][]string{"mpif": nil, "f08": {"-DF08"}} {
		driver := filepath.Join(b.out, "driver-"+language)
		args := append(flags, "-o", driver, filepath.Join(b.src, "loops.F90"), "driver.o", "-ldl", "-lpthread")
		if err := b.run(fortran, args...); err != nil { // Intel MPI has no mpi_f08 for gfortran
			fmt.Fprintf(log, "%s: nothing is measured from %s: %v\n", s.mpi, language, err)
			continue
		}
		s.drivers[language] = driver
	}
	return nil
}

// run runs a compiler in the output directory, with the usual optimisation.
func (b builder) run(compiler string, args ...string) error {
	cmd := exec.CommandContext(b.ctx, compiler, append([]string{"-O2"}, args...)...)
	cmd.Dir = b.out
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", cmd, err, text)
	}
	return nil
}

// wrapper builds a library of wrappers that is as fast as a compiler can make
// it: no indirect jumps, thread-local data at fixed offsets, and no
// vectorisation of two numbers.
func (b builder) wrapper(name string) (tool, error) {
	path := filepath.Join(b.out, "lib"+name+".so")
	return wrapper(name, path), b.run(b.cc, "-shared", "-fPIC", "-fno-plt", "-ftls-model=initial-exec",
		"-fno-tree-vectorize", "-o", path, filepath.Join(b.src, name+".c"))
}

// tools builds the tools that the options select.
func (b builder) tools(s *setup, o options, log io.Writer) ([]tool, error) {
	empty, err1 := b.wrapper("empty")
	least, err2 := b.wrapper(limit)
	lib, err3 := o.libs.value[s.mpi], error(nil)
	if lib == "" {
		lib, err3 = interpose.Build(b.ctx, interpose.BuildOptions{CC: b.cc, MPI: s.library, Compile: true, Log: log})
	}
	lib, err4 := filepath.Abs(lib)
	s.ours = lib
	mine := allOurs(lib)
	if p := (interpose.BuildOptions{MPI: s.library}); interpose.HasPrebuilt(p) {
		prebuilt, err := interpose.Build(b.ctx, p)
		if err != nil {
			return nil, err
		}
		mine = append(mine, ours(prebuiltTool, prebuilt))
	}
	peers, err5 := peersFor(o.peers, s.library, log)
	tools := []tool{none(), empty, least}
	if strings.HasPrefix(s.version, "Open MPI") {
		tools = append(tools, monitoring(1), monitoring(2))
	}
	tools = slices.Concat(tools, mine, peers)
	return slices.DeleteFunc(tools, func(t tool) bool { return !o.wants(t.name) }),
		errors.Join(err1, err2, err3, err4, err5)
}

// beside returns the program of an MPI that belongs to its mpicc:
// mpirun.openmpi for mpicc.openmpi. It returns "" if there is none.
func beside(cc, program string) string {
	dir, name := filepath.Split(cc)
	path, err := exec.LookPath(dir + strings.Replace(name, "mpicc", program, 1))
	if err != nil || !strings.Contains(name, "mpicc") {
		return ""
	}
	return path
}

// identify asks the driver which MPI it runs on.
func (s *setup) identify(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, s.drivers["c"], "about").Output()
	if err != nil {
		return fmt.Errorf("run the measuring program: %w", err)
	}
	s.version = strings.Join(strings.Fields(setting(text, "version")), " ")
	s.library, s.compiler = setting(text, "library"), setting(text, "compiler")
	if s.version == "" || s.library == "" || s.compiler == "" {
		return fmt.Errorf("the measuring program does not say which MPI it runs on: %q", text)
	}
	return nil
}

// setting returns VALUE of the line "key: VALUE" in the driver's output, or "".
func setting(output []byte, key string) string {
	lines := bufio.NewScanner(strings.NewReader(string(output)))
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), key+": "); found {
			return value
		}
	}
	return ""
}

// withPrebuilt returns the setups, and each once more with the prebuilt library,
// where there is one.
func withPrebuilt(ctx context.Context, setups []setup) ([]setup, error) {
	all := setups
	for _, s := range setups {
		o := interpose.BuildOptions{MPI: s.library}
		if !interpose.HasPrebuilt(o) {
			continue
		}
		lib, err := interpose.Build(ctx, o)
		if err != nil {
			return nil, err
		}
		compiled := s.ours
		s.ours, s.compiler, s.tools = lib, "prebuilt library", slices.Clone(s.tools)
		for i := range s.tools {
			if s.tools[i].preload == compiled {
				s.tools[i].preload = lib
			}
		}
		all = append(all, s)
	}
	return all, nil
}

// platform returns what instruction counts depend on: the version of the MPI, and
// what compiled our library.
func (s *setup) platform() string {
	version, _, _ := strings.Cut(s.version, ",")
	return version + ", " + s.compiler
}

// runs reports whether everything that a program needs is available.
func (s *setup) runs(p program) bool {
	return s.drivers[p.language] != "" && (p.ranks == 1 || s.launcher != "")
}

// line returns the command that runs a program with its own environment. If via
// is given, for example valgrind, it runs rank 0.
func (s *setup) line(p program, via, env []string, dir string) []string {
	driver := []string{s.drivers[p.language], dir, strconv.Itoa(p.threads)}
	first := slices.Concat([]string{"env"}, env, via, driver)
	if p.ranks == 1 {
		return first
	}
	others := slices.Concat([]string{":", "-n", strconv.Itoa(p.ranks - 1)}, s.yielding(p), []string{"env"}, env, driver)
	return slices.Concat([]string{s.launcher}, s.placement(p.ranks), []string{"-n", "1"}, first, others)
}

// yielding lets the ranks other than 0 yield their processor if there are fewer processors than
// ranks. Otherwise they would poll for messages of rank 0 and slow it down further, while callgrind
// slows it down already.
func (s *setup) yielding(p program) []string {
	if p.crowded() {
		return []string{"nice", "-n", "19"}
	}
	return nil
}

// placement binds each rank to a processor of its own, if there are enough.
func (s *setup) placement(ranks int) []string {
	bind := "none"
	if ranks <= runtime.NumCPU() {
		bind = "core"
	}
	if strings.HasPrefix(s.version, "Open MPI") {
		return []string{"--oversubscribe", "--bind-to", bind}
	}
	return []string{"-bind-to", bind}
}
