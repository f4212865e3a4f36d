package source

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/internal/atomicfile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// profFile holds what distinguishes .prof files of one run from others.
type profFile struct {
	path    string
	senders []int // ranks of the processes whose traffic the file contains
	world   world
	problem error // invalid lines
}

// world identifies the members of an MPI_COMM_WORLD.
type world struct {
	size int
	sum  uint64
}

// loadPhases adds up the .prof files of phases, each as a job.
func (in *TrafficReader) loadPhases(phases []*phase) error {
	if len(phases) > 1 {
		// Each phase needs little memory, so frequent garbage collection is
		// cheap, and lets the next phase reuse the memory.
		debug.SetGCPercent(25)
	}
	for _, p := range phases {
		if err := in.loadProf(p.prefix, p.paths); err != nil {
			return err
		}
	}
	return nil
}

// loadStream adds up a stream of .prof text. The matrices are named stdin.
func (in *TrafficReader) loadStream(f *flows) error {
	if err := in.checkProf(f.name); err != nil {
		return err
	}
	j, file := &Traffic{Builder: matrix.NewBuilder(in.Selection)}, profFile{path: f.name}
	if err := j.scan(&file, f.stream); err != nil {
		return err
	}
	return in.ofProf(j, "stdin", []profFile{file})
}

// loadProf adds up .prof files of one run, several at a time.
func (in *TrafficReader) loadProf(prefix string, paths []string) error {
	if err := in.checkProf(paths[0]); err != nil {
		return err
	}
	files := make([]profFile, len(paths))
	workers := make([]*Traffic, min(runtime.GOMAXPROCS(0), len(paths)))
	errs := make([]error, len(workers))
	bar := text.StartProgress(in.Log, "reading "+filepath.Base(prefix), len(paths))
	defer bar.Done()
	var next atomic.Int64
	var wait sync.WaitGroup
	for w := range workers {
		workers[w] = &Traffic{Builder: matrix.NewBuilder(in.Selection)}
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(paths) && errs[w] == nil; i = int(next.Add(1)) - 1 {
				files[i].path = paths[i]
				errs[w] = workers[w].scanFile(&files[i])
				bar.Step()
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	j := workers[0]
	for _, o := range workers[1:] {
		j.Builder.Merge(o.Builder)
		j.Ranks.Merge(&o.Ranks)
	}
	return in.ofProf(j, prefix, files)
}

// checkProf returns an error if the selection needs data that .prof files do
// not have.
func (in *TrafficReader) checkProf(path string) error {
	if by := in.Selection.NeedsProfiles(); by != "" {
		return rundir.InputErrorf("%s is a .prof file, from which nothing can be selected by %s: give the run directory, recordings, or Arrow files", path, by)
	}
	if in.Hosts {
		return rundir.InputErrorf("%s is a .prof file, which does not know hosts (--by host): give the run directory, recordings, or Arrow files", path)
	}
	return nil
}

// ofProf passes on the job of files that were added up.
func (in *TrafficReader) ofProf(j *Traffic, prefix string, files []profFile) error {
	for _, f := range files {
		if f.problem != nil {
			in.Damage.Add(f.problem)
		}
	}
	if err := sameRun(files); err != nil {
		return err
	}
	j.Prefix, j.Program = prefix, filepath.Base(prefix)
	return in.Use(j)
}

func (j *Traffic) scanFile(f *profFile) error {
	r, err := atomicfile.Open(f.path, atomicfile.AnySize)
	if err != nil {
		return err
	}
	defer r.Close()
	return j.scan(f, r)
}

// scan reads a file and adds its traffic.
func (j *Traffic) scan(f *profFile, r io.Reader) error {
	senders, last := map[int]bool{}, -1
	sender := func(rank int) {
		if rank >= 0 && rank != last {
			senders[rank], last = true, rank
		}
	}
	var mixed error
	err := prof.Scan(r, f.path, prof.Handler{
		Flow: func(flow *profile.Flow) {
			sender(flow.From)
			j.AddRank(max(flow.From, flow.To))
			j.Builder.AddFlow(flow)
		},
		Comm: func(c *profile.CommTraffic) {
			sender(c.Rank)
			if len(c.Members) > 0 {
				j.AddRank(slices.Max(c.Members))
			}
			if c.Name == "MPI_COMM_WORLD" && mixed == nil {
				mixed = f.checkWorld(worldOf(c.Members))
			}
		},
	})
	if rank, ok := rankOf(f.path); ok && len(senders) == 0 {
		senders[rank] = true // a file without messages still belongs to a process
	}
	f.senders = slices.Sorted(maps.Keys(senders))
	for _, rank := range f.senders {
		j.AddSender(rank)
	}
	var problems *prof.Problems
	if errors.As(err, &problems) {
		f.problem = err
		err = nil
	}
	return errors.Join(err, mixed)
}

func (f *profFile) checkWorld(w world) error {
	if f.world != (world{}) && f.world != w {
		return differ(f.path, f.world, f.path, w)
	}
	f.world = w
	return nil
}

func differ(a string, of world, b string, is world) error {
	if of.size == is.size {
		return fmt.Errorf("MPI_COMM_WORLD has other ranks in %s than in %s: they are of different runs", b, a)
	}
	return fmt.Errorf("MPI_COMM_WORLD has %d ranks in %s and %d in %s: they are of different runs", of.size, a, is.size, b)
}

// worldOf returns a hash (FNV-1a) of the ranks.
func worldOf(members []int) world {
	w := world{len(members), 14695981039346656037}
	for _, rank := range members {
		w.sum = (w.sum ^ uint64(rank)) * 1099511628211
	}
	return w
}

// sameRun returns an error if files are of different runs: if two contain the
// same rank, or if their MPI_COMM_WORLD has different members.
func sameRun(files []profFile) error {
	owner := map[int]string{}
	var first *profFile // the first file with a world
	for i := range files {
		f := &files[i]
		for _, r := range f.senders {
			if owner[r] != "" {
				return fmt.Errorf("rank %d is in both %s and %s: they are of different runs, or one file contains the other", r, owner[r], f.path)
			}
			owner[r] = f.path
		}
		switch {
		case f.world == (world{}):
		case first == nil:
			first = f
		case f.world != first.world:
			return differ(first.path, first.world, f.path, f.world)
		}
	}
	if len(owner) > 0 {
		return nil
	}
	return errors.New(pathList(files) + ": nothing was sent, and no rank is named")
}

// pathList returns the names of the first few files.
func pathList(files []profFile) string {
	const most = 3
	var names []string
	for i := range files[:min(len(files), most)] {
		names = append(names, files[i].path)
	}
	if len(files) > most {
		names = append(names, fmt.Sprintf("and %d more", len(files)-most))
	}
	return strings.Join(names, " ")
}

// rankedProf matches <prefix>.<rank>.prof.
var rankedProf = regexp.MustCompile(`^(.*)\.([0-9]+)\.prof$`)

// rankOf returns the rank in a file's name.
func rankOf(path string) (int, bool) {
	match := rankedProf.FindStringSubmatch(filepath.Base(path))
	if match == nil {
		return 0, false
	}
	rank, err := strconv.ParseUint(match[2], 10, 31)
	return int(rank), err == nil
}

// profPrefix returns the prefix for the matrices of .prof files: of one file,
// its name without .prof; of several files, what is common to their names
// without .<rank>.prof.
func profPrefix(paths []string) (string, error) {
	if len(paths) == 1 {
		return strings.TrimSuffix(paths[0], ".prof"), nil
	}
	prefix := ""
	for i, path := range paths {
		match := rankedProf.FindStringSubmatch(filepath.Base(path))
		if match == nil {
			return "", fmt.Errorf("%s: several files of one run must be named <prefix>.<rank>.prof", path)
		}
		if i > 0 && match[1] != prefix {
			return "", fmt.Errorf("%s and %s are of different runs: make their matrices one by one", paths[0], path)
		}
		prefix = match[1]
	}
	return filepath.Join(filepath.Dir(paths[0]), prefix), nil
}
