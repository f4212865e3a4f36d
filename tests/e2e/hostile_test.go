package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/readback"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// hostile returns a name that contains commands for terminals, spreadsheets and
// browsers, separators of tables, and line breaks.
func hostile(what string) string {
	return "=cmd|'/C calc'!A0" + what + "\x1b]0;x\a\x1b[2J\x00\x7f\u009b2J\u202e\"<script>&\t,;\r\nforged " + what
}

// withHostileNames replaces every name in ps by a hostile one.
func withHostileNames(ps profile.List) profile.List {
	symbols := profile.Symbols{}
	for place, s := range ps[0].Symbols {
		place.Path = "/opt/" + hostile("path")
		s.Function, s.Source = hostile("function"), "/src/"+hostile("source")
		symbols[place] = s
	}
	for _, p := range ps {
		p.Run = hostile("run")
		p.Host = hostile("node" + string(rune('a'+p.Rank/2)))
		p.Program = "/opt/../" + hostile("program")
		p.Command = []string{hostile("command"), "-x"}
		p.Library = hostile("library")
		p.Source = hostile("recording")
		p.Problems = nil
		p.Symbols = symbols
		for i := range p.Comms {
			p.Comms[i].Name = hostile(fmt.Sprint("comm", i))
		}
		for i := range p.Slices {
			p.Slices[i].Name = hostile(fmt.Sprint("phase", i))
		}
		for i := range p.Modules {
			p.Modules[i].Path = "/opt/" + hostile("path")
		}
	}
	return ps
}

// checkHarmless requires that a text has no control characters except newlines
// and tabs, and that no name has started a line.
func checkHarmless(t *testing.T, what, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%s is not UTF-8", what)
	}
	for at, r := range text {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			t.Errorf("%s has %U in %q", what, r, text[max(0, at-30):min(len(text), at+30)])
			break
		}
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "forged") {
			t.Errorf("%s has a line that is a name: %q", what, line)
			break
		}
	}
}

// TestHostileNames checks that all commands and formats treat a job's names as
// data.
func TestHostileNames(t *testing.T) {
	testenv.At(t, testenv.Quick)
	merged, recorded := filepath.Join(t.TempDir(), "merged"), filepath.Join(t.TempDir(), "recorded")
	ps := withHostileNames(jobs.Full("")) // has everything that a table can hold, also what a recording cannot
	err := errors.Join(os.MkdirAll(merged, 0o755), readback.WriteTables(merged, profile.List(ps)), os.MkdirAll(filepath.Join(recorded, "recordings"), 0o755))
	for _, p := range withHostileNames(synthetic(synth.NewStencil(4))) {
		err = errors.Join(err, recordingtest.WriteFile(filepath.Join(recorded, "recordings", fmt.Sprintf("a-%d-1.rec", p.Rank)), p))
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{merged, recorded} {
		name := filepath.Base(dir)
		for _, args := range [][]string{
			{"report"}, {"report", "--top", "all"}, {"report", "--json"}, {"report", "--rank", "1"}, {"report", "--rank", "1", "--json"},
			{"diff", merged}, {"diff", "--json", merged}, {"export", "--format", "csv", "-o", "-"}, {"export", "--format", "json", "-o", "-"},
		} {
			out := execute(t, []string{"LANG=C.UTF-8"}, slices.Concat([]string{mpitrace}, args, []string{dir})...)
			what := name + ": " + strings.Join(args, " ")
			if out.code != 0 || !strings.Contains(out.stdout, "cmd") {
				t.Errorf("%s: exit status %d\n%s%s", what, out.code, out.stdout, out.stderr)
			}
			checkHarmless(t, what, out.stdout)
			checkHarmless(t, what+", stderr", out.stderr)
		}
		checkHostileFiles(t, dir)
	}
	files, _ := filepath.Glob(filepath.Join(recorded, "recordings", "*.rec"))
	out := succeed(t, nil, append([]string{mpitrace, "dump"}, files...)...)
	checkHarmless(t, "dump", out.stdout)
}

// synthetic returns the profiles of a synthetic job.
func synthetic(j *synth.Job) (ps profile.List) {
	for rank := range 4 {
		p := j.Profile(rank)
		p.Slices = []profile.Slice{{Index: 0, Start: p.Start}, {Index: 1, Start: p.Start}}
		ps = append(ps, p)
	}
	// One rank has ended during a call, without MPI_Finalize.
	p, r := ps[1], ps[1].Rows[0]
	p.State, p.FinalizeStart = profile.Running, 0
	p.Open = []profile.OpenCall{{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Comm: 0, Peer: 2, Source: profile.PeerNone,
		Bytes: 8, Sized: true, Callsite: r.Callsite, Slice: 1, Start: p.Start}}
	return ps
}

// TestNamesWithoutUTF8 writes names that are not UTF-8. Tables must hold UTF-8;
// Python would refuse anything else.
func TestNamesWithoutUTF8(t *testing.T) {
	testenv.At(t, testenv.Quick)
	python := testenv.Python(t)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "recordings"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, p := range synthetic(synth.NewStencil(4)) {
		p.Run, p.Host, p.Program, p.Library, p.Command = "run\xff", "host\xff", "/opt/\xff/app\xe9", "MPI \xff", []string{"\xff"}
		p.Comms[0].Name, p.Slices[0].Name, p.Modules[0].Path = "comm\xff", "phase\xff", "/opt/\xff/app\xe9"
		if err := recordingtest.WriteFile(filepath.Join(dir, "recordings", fmt.Sprintf("a-%d-1.rec", p.Rank)), p); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, nil, mpitrace, "merge", dir) // report would not: a process of another host may still run
	out := succeed(t, nil, python, "-c", `import pandas, sys
for name in "profile", "comms", "ranks":
    table = pandas.read_feather(sys.argv[1] + "/" + name + ".arrow")
    assert len(table) > 0
    print(name, sorted({cell for column in table for cell in table[column] if isinstance(cell, str) and "\ufffd" in cell}))`, dir)
	if strings.Count(out.stdout, "run\ufffd") < 3 || !strings.Contains(out.stdout, "comm\ufffd") || !strings.Contains(out.stdout, "app\ufffd+0x") {
		t.Errorf("got %s", out.stdout)
	}
}

// checkHostileFiles writes each format, and has other programs read the files.
func checkHostileFiles(t *testing.T, dir string) {
	t.Helper()
	files := t.TempDir()
	for _, format := range []string{"csv", "json", "arrow", "parquet", "prof"} {
		out := succeed(t, nil, mpitrace, "export", dir, "--format", format, "-o", filepath.Join(files, "exported-"+format))
		checkHarmless(t, "export to "+format, out.stdout+out.stderr)
	}
	for _, by := range []string{"rank", "host"} {
		out := succeed(t, nil, toMatrix, "--by", by, "--format", "mtx,npy,csv,arrow,parquet,json,png,svg", "-o", filepath.Join(files, by), dir)
		checkHarmless(t, "profile2mat by "+by, out.stdout+out.stderr)
	}
	err := filepath.WalkDir(files, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		checkHarmless(t, "the name "+path, path)
		switch ext := filepath.Ext(path); {
		case slices.Contains([]string{".csv", ".json", ".svg", ".mtx", ".prof"}, ext), strings.HasSuffix(path, "exported-csv"), strings.HasSuffix(path, "exported-json"):
			text, err := os.ReadFile(path)
			checkHarmless(t, path, string(text))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	python := testenv.Python(t)
	succeed(t, nil, python, filepath.Join(root, "tests", "e2e", "testdata", "hostile.py"), files)
}
