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
)

// A tool is one way to watch the calls, none at all included.
type tool struct {
	name    string
	preload string                    // path of the library that answers the calls, "" if MPI's own does
	env     func(dir string) []string // settings, given a directory for its output; may be nil
	proof   string                    // pattern below dir of a file that shows that it recorded, "" for none
	peer    bool                      // somebody else's: it may fail, and is then left out
	only    func(operation) bool      // what it is measured for; nil for all
	padding int                       // by how much the name of its directory is longer
}

func (t tool) measures(o operation) bool { return t.only == nil || t.only(o) }

func none() tool { return tool{name: baseline} }

func wrapper(name, path string) tool { return tool{name: name, preload: path} }

// monitoring is Open MPI's own: mode 1 keeps what its collectives send apart, mode 2 does not.
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

// ours is our library with some settings, which the name tells.
func ours(name, path string, settings ...string) tool {
	return tool{
		name:    name,
		preload: path,
		env: func(dir string) []string {
			return append([]string{"MPITRACE_DIR=" + dir, "MPITRACE_QUIET=1"}, settings...)
		},
		proof: "recordings/*.rec",
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
		// The same in memory that was used before: without the kernel's price of new memory.
		ours("ours-trace-last", path, "MPITRACE_TRACE=on", "MPITRACE_KEEP=last", "MPITRACE_TRACE_LIMIT=1M"),
	}
}

// A peer writes, if anything, into the directory that it is started in.
func peer(name, path string) tool { return tool{name: name, preload: path, peer: true} }

// peersFor are those of the peers that are not linked with another MPI than the one given.
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

// linkedWithAnother returns the MPI that a library needs if that is another one.
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

// settings are what the tool's environment has beside ours. A process that is started without a
// launcher would have Open MPI 4 start a daemon beside it; its one-sided calls to itself do not
// work by UCX.
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

// environ is our environment, without preloads and settings of ours.
func environ() []string {
	return slices.DeleteFunc(os.Environ(), func(setting string) bool {
		return strings.HasPrefix(setting, "LD_PRELOAD=") || strings.HasPrefix(setting, "MPITRACE_")
	})
}

// check makes sure that the tool left what shows that it recorded.
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
