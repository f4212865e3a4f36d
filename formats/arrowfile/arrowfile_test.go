package arrowfile

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// writeRun writes the tables of some processes into a directory, and returns the path of
// profile.arrow.
func writeRun(t testing.TB, ps []*profile.Profile) string {
	t.Helper()
	dir := t.TempDir()
	var files []*os.File
	w := table.PartWriter{Create: func(name string, _ int) (io.WriteCloser, error) {
		f, err := os.Create(filepath.Join(dir, name+".arrow"))
		files = append(files, f)
		return f, err
	}}
	var comms bytes.Buffer
	for _, p := range ps {
		testenv.NoError(t, w.Add(p))
	}
	testenv.NoError(t, w.Close())
	testenv.NoError(t, w.Comms.Write(&comms))
	for _, f := range files {
		f.Close()
	}
	testenv.WriteFile(t, filepath.Join(dir, "comms.arrow"), comms.Bytes())
	return filepath.Join(dir, "profile.arrow")
}

func read(t testing.TB, path string) (ps []*profile.Profile) {
	t.Helper()
	f, err := Open(path)
	testenv.NoError(t, err)
	testenv.NoError(t, f.Each(func(p *profile.Profile) error { ps = append(ps, p); return nil }))
	return ps
}

// cells returns all entries of the matrices of some profiles, by run, class and pair, and
// what is in none.
func cells(ps []*profile.Profile) map[string]matrix.Volume {
	out := map[string]matrix.Volume{}
	byRun := map[string][]*profile.Profile{}
	for _, p := range ps {
		byRun[p.Run] = append(byRun[p.Run], p)
	}
	for run, ps := range byRun {
		b := matrix.NewBuilder(nil)
		for _, p := range ps {
			b.Add(p)
		}
		ms := b.Matrices()
		for c := range ms {
			for pair, v := range ms[c].Entries() {
				out[fmt.Sprintf("%s/%d/%d-%d", run, c, pair.From, pair.To)] = v
			}
		}
		rows, placed := b.Placed(ms)
		out[run+"/rows"], out[run+"/placed"] = rows, placed
	}
	return out
}

func TestCells(t *testing.T) {
	jobs := map[string][]*profile.Profile{
		"one job":         jobs.Full("a"),
		"several jobs":    append(jobs.Full("b"), jobs.Full("a")...),
		"killed":          jobs.Killed("a"),
		"other settings":  jobs.MixedTimings("a"),
		"library's own":   jobs.Physical("a"),
		"rank not known":  append([]*profile.Profile{{Run: "a", Rank: -1, Size: -1, State: profile.Running}, {Run: "a", Rank: -1, Size: -1, State: profile.Running, Host: "b"}}, jobs.Full("a")...),
		"only some ranks": jobs.Full("a")[2:],
	}
	for name, ps := range jobs {
		t.Run(name, func(t *testing.T) {
			got := read(t, writeRun(t, ps))
			if diff := gocmp.Diff(cells(ps), cells(got)); diff != "" {
				t.Errorf("cells (-written +read):\n%s", diff)
			}
			if len(got) != len(ps) {
				t.Errorf("%d processes, %d were written", len(got), len(ps))
			}
			if untold := got[len(got)-1].Untold; untold != nil {
				t.Errorf("untold: %q", untold)
			}
		})
	}
}

// processFacts is what the tables know of a process beside its matrices.
type processFacts struct {
	Run, Host, Program, Library, Source, Problems string
	Rank, Size, Pid, Threads                      int
	Command                                       []string
	State                                         profile.State
	Timing                                        profile.Timing
	Unfollowed                                    bool
	Times                                         profile.Times
	Start                                         int64
	Exit                                          profile.Exit
	Losses                                        profile.Losses
	Pauses                                        uint64
	Abnormal                                      [profile.NumAbnormalKinds]uint64
	Usage                                         profile.Usage
	Rows                                          map[string]profile.Row // sums by the texts of the key
	Readings                                      int
}

// facts returns what is known of processes, by run and rank.
func facts(ps []*profile.Profile) (out []processFacts) {
	for _, p := range ps {
		f := processFacts{Run: p.Run, Host: p.Host, Program: p.Program, Library: p.Library, Source: p.Source, Problems: strings.Join(p.Problems, "\n"),
			Rank: p.Rank, Size: p.Size, Pid: p.Pid, Threads: p.Threads, Command: p.Command, State: p.State, Timing: p.Timing,
			Unfollowed: p.Unfollowed, Times: p.Times(), Start: p.Start, Exit: p.Exit, Losses: p.Losses, Pauses: p.Pauses, Rows: map[string]profile.Row{}, Readings: len(p.Readings)}
		f.Usage, _ = profile.TotalUsage(p.Usage)
		for k := range f.Abnormal {
			f.Abnormal[k] = p.CountAbnormal(profile.AbnormalKind(k))
		}
		names := map[uint32]string{}
		for _, s := range p.Slices {
			names[s.Index] = s.Name
		}
		for i := range p.Rows {
			r := &p.Rows[i]
			comm := ""
			if r.Comm >= 0 {
				comm = p.Comms[r.Comm].Label()
			}
			key := fmt.Sprint(r.Thread, r.Call, r.Class, r.Direction, comm, max(p.WorldRank(r.Comm, r.Peer), -1), r.SizeClass, names[r.Slice], profile.SiteLabel(p.Frames(r.Callsite)))
			sum := f.Rows[key]
			f.Rows[key] = profile.Row{Calls: sum.Calls + r.Calls, Messages: sum.Messages + r.Messages, Bytes: sum.Bytes + r.Bytes,
				TimeNs: sum.TimeNs + r.TimeNs, TimeErrorNs: sum.TimeErrorNs + r.TimeErrorNs, MinNs: sum.MinNs + r.MinNs, MaxNs: sum.MaxNs + r.MaxNs}
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b processFacts) int { return cmp.Or(strings.Compare(a.Run, b.Run), a.Rank-b.Rank) })
	return out
}
