package main

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
	"strings"

	"github.com/mpitrace/mpitrace/interpose"
)

//go:embed src/*.c
var sources embed.FS

// A setup is one MPI, the measuring program built for it, and the tools to measure under.
type setup struct {
	mpi     string // "openmpi"
	version string // what MPI_Get_library_version says, first line
	library string // path of the MPI's shared library
	driver  string // path of the measuring program
	tools   []tool
}

// prepare builds everything for all MPIs below dir.
func prepare(ctx context.Context, o options, dir string, log io.Writer) ([]setup, error) {
	mpis := o.mpis
	if len(mpis.order) == 0 {
		mpis = installedMPIs()
	}
	if len(mpis.order) == 0 {
		return nil, errors.New("neither mpicc.openmpi nor mpicc.mpich is installed; name an MPI by -mpi NAME=MPICC")
	}
	if err := os.CopyFS(dir, sources); err != nil {
		return nil, err
	}
	var setups []setup
	for _, name := range mpis.order {
		s, err := prepareMPI(ctx, name, mpis.value[name], o.libs.value[name], dir, log)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		setups = append(setups, s)
	}
	return setups, nil
}

// installedMPIs are those under the names that Debian gives to their compilers.
func installedMPIs() (found named) {
	for _, name := range []string{"openmpi", "mpich"} {
		cc := "mpicc." + name
		if _, err := exec.LookPath(cc); err == nil {
			found.Set(name + "=" + cc)
		}
	}
	return found
}

// prepareMPI builds everything for one MPI; lib is our library for it, "" to build that too.
func prepareMPI(ctx context.Context, name, cc, lib, dir string, log io.Writer) (s setup, err error) {
	s = setup{mpi: name, driver: filepath.Join(dir, "driver-"+name)}
	empty := filepath.Join(dir, "libempty-"+name+".so")
	limit := filepath.Join(dir, "liblimit-"+name+".so")
	err = errors.Join(
		compile(ctx, cc, s.driver, dir, "driver.c", "-ldl"),
		compile(ctx, cc, empty, dir, "empty.c", "-fPIC", "-shared"),
		compile(ctx, cc, limit, dir, "limit.c", "-fPIC", "-shared"))
	if err == nil {
		err = s.identify(ctx)
	}
	if err == nil && lib == "" {
		lib, err = interpose.Build(ctx, interpose.BuildOptions{CC: cc, MPI: s.library, Log: log})
	}
	if err != nil {
		return s, err
	}
	s.tools = []tool{none(), wrapper("empty", empty), wrapper("limit", limit)}
	if strings.HasPrefix(s.version, "Open MPI") {
		s.tools = append(s.tools, monitoring())
	}
	if lib, err = filepath.Abs(lib); err == nil {
		s.tools = append(s.tools, ours(lib))
	}
	fmt.Fprintf(log, "%s is %s\n", name, s.version)
	return s, err
}

// compile builds one source of dir/src with an MPI's compiler, optimised as users would.
func compile(ctx context.Context, cc, output, dir, source string, flags ...string) error {
	args := append([]string{"-O2", "-o", output, filepath.Join(dir, "src", source)}, flags...)
	if text, err := exec.CommandContext(ctx, cc, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile %s with %s: %w\n%s", source, cc, err, text)
	}
	return nil
}

// identify asks the driver which MPI it runs on.
func (s *setup) identify(ctx context.Context) error {
	text, err := exec.CommandContext(ctx, s.driver, "about").Output()
	if err != nil {
		return fmt.Errorf("run the measuring program: %w", err)
	}
	s.version, s.library = strings.Join(strings.Fields(setting(text, "version")), " "), setting(text, "library")
	if s.version == "" || s.library == "" {
		return fmt.Errorf("the measuring program does not say which MPI it runs on: %q", text)
	}
	return nil
}

// setting returns VALUE of the line "key: VALUE" in the driver's output, "" if there is none.
func setting(output []byte, key string) string {
	lines := bufio.NewScanner(strings.NewReader(string(output)))
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), key+": "); found {
			return value
		}
	}
	return ""
}
