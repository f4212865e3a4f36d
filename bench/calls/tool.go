package calls

import (
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The tools that others are compared with.
const (
	baseline = "none"
	limit    = "limit"
	// Our prebuilt library, where there is one. The other tools of ours are
	// compiled by the MPI's compiler wrapper.
	prebuiltTool = "ours-prebuilt"
)

// tool is a way to observe the calls, including none at all.
type tool struct {
	name    string
	preload string                    // path of the library that intercepts the calls; "" if none does
	env     func(dir string) []string // settings, given a directory for the tool's output; may be nil
	proof   string                    // pattern of a file in dir that exists if the tool recorded; "" for none
	peer    bool                      // another project's tool: it is left out if it fails
	only    func(operation) bool      // selects the operations to measure; nil for all
	padding int                       // additional length of the name of its directory
}

func (t tool) measures(o operation) bool { return t.only == nil || t.only(o) }

func none() tool { return tool{name: baseline} }

func wrapper(name, path string) tool { return tool{name: name, preload: path} }

// monitoring returns Open MPI's monitoring: mode 1 separates what its
// collectives send, mode 2 does not.
func monitoring(mode int) tool {
	return tool{
		name: fmt.Sprintf("monitoring%d", mode),
		env: func(dir string) []string {
			return []string{
				fmt.Sprintf("OMPI_MCA_pml_monitoring_enable=%d", mode),
				"OMPI_MCA_pml_monitoring_enable_output=3",
				"OMPI_MCA_pml_monitoring_filename=" + filepath.Join(dir, "monitoring"),
			}
		},
		proof: "monitoring.0.prof",
	}
}

// ours returns our library with the given settings.
func ours(name, path string, settings ...string) tool {
	return tool{
		name:    name,
		preload: path,
		env: func(dir string) []string {
			return append([]string{"MPITRACE_DIR=" + dir, "MPITRACE_QUIET=1"}, settings...)
		},
		proof: "recordings/*.node",
	}
}

func allOurs(path string) []tool {
	unfollowed := ours("ours-receives-off", path, "MPITRACE_RECEIVES=off")
	unfollowed.only = operation.receives
	return []tool{
		ours("ours", path),
		ours("ours-sampled", path, "MPITRACE_TIMING=sampled"),
		ours("ours-off", path, "MPITRACE_TIMING=off"),
		unfollowed,
		ours("ours-trace", path, "MPITRACE_TRACE=on"),
		// As ours-trace, but in memory that was used before, without the kernel's cost of new
		// pages.
		ours("ours-trace-last", path, "MPITRACE_TRACE=on", "MPITRACE_KEEP=last", "MPITRACE_TRACE_LIMIT=1M"),
	}
}

// peer returns another project's tool. Its output goes to its working
// directory.
func peer(name, path string) tool { return tool{name: name, preload: path, peer: true} }

// peersFor returns the peers that are not linked with another MPI than this
// one.
func peersFor(peers named, mpi string, log io.Writer) ([]tool, error) {
	var found []tool
	for _, name := range peers.order {
		path, err := filepath.Abs(peers.value[name])
		if err != nil {
			return nil, err
		}
		other, err := linkedWithAnother(path, filepath.Base(mpi))
		if err != nil {
			return nil, fmt.Errorf("read peer %s: %w", name, err)
		}
		if other != "" {
			fmt.Fprintf(log, "%s needs %s, not %s: left out there\n", name, other, filepath.Base(mpi))
			continue
		}
		found = append(found, peer(name, path))
	}
	return found, nil
}

var isMPI = regexp.MustCompile(`^libmpi(ch)?\.so`)

// linkedWithAnother returns the name of the MPI library that the file at path is linked with. It
// returns "" if that library is mpi, or if the file is linked with none.
func linkedWithAnother(path, mpi string) (string, error) {
	file, err := elf.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	needed, err := file.ImportedLibraries()
	for _, name := range needed {
		if isMPI.MatchString(name) && !strings.HasPrefix(mpi, name) {
			return name, err
		}
	}
	return "", err
}

// settings returns the environment that the tool adds to ours. Without a
// launcher, Open MPI 4 would start a daemon for each process, and its one-sided
// calls to the same process do not work with UCX.
func (t tool) settings(dir string) []string {
	env := []string{"OMPI_MCA_ess_singleton_isolated=1", "OMPI_MCA_osc=^ucx"}
	if t.env != nil {
		env = append(env, t.env(dir)...)
	}
	if t.preload != "" {
		env = append(env, "LD_PRELOAD="+t.preload)
	}
	return env
}

// environ returns our environment without preloads and mpitrace's settings.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "LD_PRELOAD=") || strings.HasPrefix(setting, "MPITRACE_")
	})
}

// check checks that the tool left the file that proves that it recorded.
func (t tool) check(dir string) error {
	if t.proof == "" {
		return nil
	}
	left, err := filepath.Glob(filepath.Join(dir, t.proof))
	if err == nil && len(left) == 0 {
		err = fmt.Errorf("%s recorded nothing: no %s", t.name, t.proof)
	}
	return err
}
