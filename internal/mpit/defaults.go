package mpit

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/interpose"
)

// Defaults returns the variables of an MPI when nobody has set anything:
// without environment variables and, for Open MPI, without parameter files
// except the one that overrides all others (openmpi-mca-params-override.conf).
// The list is made once and cached beside the program that asks the MPI.
//
// Some variables have no fixed default: they contain the working or the home
// directory, or the library never sets them and they hold whatever was in
// memory. They are marked Unsteady and have no Values. Defaults finds them by
// asking the library several times in different environments.
func Defaults(ctx context.Context, o interpose.BuildOptions) (*Catalogue, error) {
	lister, err := interpose.BuildLister(ctx, o)
	if err != nil {
		return nil, err
	}
	kept := lister + ".defaults"
	if text, err := atomicfile.Read(kept, maxKept); err == nil {
		if l, err := Parse(text); err == nil { // otherwise ask again
			return l, nil
		}
	}
	text, err := askDefaults(ctx, lister, o.MPI)
	if err != nil {
		return nil, err
	}
	l, err := Parse(text)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.WriteContent(kept, text, 0o600); err != nil {
		return nil, fmt.Errorf("keep the defaults of the MPI's variables: %w", err)
	}
	return l, nil
}

// maxKept is the largest size of a cached list. A variable takes about 300
// bytes.
const maxKept = 64 << 20

// settings are the prefixes of environment variables that set cvars. They are
// removed.
var settings = []string{"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_CVAR_", "MPIR_PARAM_", "MPICH_", "I_MPI_", "MV2_", "MVP_", "HOME="}

// keptSettings say where the MPI is installed. They are kept.
var keptSettings = []string{"I_MPI_ROOT="}

// noFiles makes Open MPI read no parameter files. An empty list would mean the
// default files, and "none" removes variables.
const noFiles = "OMPI_MCA_mca_base_param_files="

func cleaned(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		begins := func(prefix string) bool { return strings.HasPrefix(variable, prefix) }
		return slices.ContainsFunc(settings, begins) && !slices.ContainsFunc(keptSettings, begins)
	})
}

// askDefaults asks in three environments, because uninitialized memory may be the same in two. It
// asks in all of them at the same time, because Open MPI takes a third of a second to answer.
func askDefaults(ctx context.Context, lister, mpi string) ([]byte, error) {
	cache := filepath.Dir(lister)
	environments := []struct{ dir, home, files string }{
		{"/", "/", "/dev/null"},
		{cache, cache, "/dev/null,/dev/null"},
		{"/", cache, "/dev/null"},
	}
	answers := make([][]byte, len(environments))
	group, ctx := errgroup.WithContext(ctx)
	for i, e := range environments {
		group.Go(func() (err error) {
			answers[i], err = run(ctx, lister, e.dir, append(cleaned(os.Environ()), "HOME="+e.home, noFiles+e.files), mpi)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	unsteady := map[string]bool{}
	for _, answer := range answers {
		if err := compare(unsteady, answers[0], answer); err != nil {
			return nil, err
		}
	}
	return mark(answers[0], unsteady), nil
}

// compare marks the cvars whose values differ or that only one list has. It
// also marks truth values other than 0 and 1: these were never set, and may be
// equal by chance.
func compare(differ map[string]bool, a, b []byte) error {
	one, err := Parse(a)
	if err != nil {
		return err
	}
	other, err := Parse(b)
	if err != nil {
		return err
	}
	values := map[string][]string{}
	for i := range other.CVars {
		values[other.CVars[i].Name] = other.CVars[i].Values
	}
	for i := range one.CVars {
		v := &one.CVars[i]
		wild := v.Type == "bool" && slices.ContainsFunc(v.Values, func(value string) bool { return value != "0" && value != "1" })
		if wild || !slices.Equal(values[v.Name], v.Values) {
			differ[v.Name] = true
		}
	}
	return nil
}

// mark removes the values of unsteady variables from a list.
func mark(text []byte, unsteady map[string]bool) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		e, err := parseEntry(string(line))
		if err != nil || e.kind != "cvar" || !unsteady[e.text("name")] {
			out.Write(line)
			continue
		}
		words := slices.DeleteFunc(strings.Fields(string(line)), func(word string) bool { return strings.HasPrefix(word, "value=") })
		fmt.Fprintln(&out, strings.Join(append(words, "unsteady=1"), " "))
	}
	return out.Bytes()
}

// Changed returns the cvars of l that differ from their defaults, with Default
// set, in the order of l. It leaves out those whose value or default is
// unknown.
func Changed(l, defaults *Catalogue) []CVar {
	known := map[string]*CVar{}
	for i := range defaults.CVars {
		known[defaults.CVars[i].Name] = &defaults.CVars[i]
	}
	changed := []CVar{}
	for _, v := range l.CVars {
		was := known[v.Name]
		if v.Values == nil || was != nil && (was.Values == nil || slices.Equal(v.Values, was.Values)) {
			continue
		}
		if was != nil {
			v.Default = was.Values
		}
		changed = append(changed, v)
	}
	return changed
}
