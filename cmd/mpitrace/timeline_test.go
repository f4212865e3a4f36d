package main

import (
	"bytes"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/tracefile"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// relay returns the trace of one of three ranks. Rank r receives from rank r-1
// for r seconds and then sends to rank r+1 for one second.
func relay(rank int) *jobs.Process {
	const second = 1_000_000_000
	before, after := int32(rank-1), int32(rank+1)
	if rank == 0 {
		before = profile.PeerProcNull
	}
	if rank == 2 {
		after = profile.PeerProcNull
	}
	at := int64(rank) * second
	p := jobs.NewProcess("job", rank, 3)
	p.Add(jobs.Recv("Recv", 0, at, before, 8, 1), jobs.Send("Ssend", at, at+second, after, 8, 1))
	return p
}

// relayRun returns a run directory with the traces of a relay.
func relayRun(t *testing.T) string {
	t.Helper()
	dir := rundir.Dir(t.TempDir())
	for rank := range 3 {
		var file bytes.Buffer
		testenv.NoError(t, tracefile.Write(&file, relay(rank)))
		testenv.WriteFile(t, dir.TraceFile(rank), file.Bytes())
	}
	testenv.NoError(t, dir.WriteInfo(&rundir.Info{Jobs: []rundir.JobInfo{{Run: "job", Program: "relay"}}}))
	return string(dir)
}

func TestTimeline(t *testing.T) {
	dir := relayRun(t)
	got := call("timeline", dir, "--width", "800")
	path := filepath.Join(dir, "timeline.png")
	if got.code != 0 || got.stdout != path+"\n" || got.stderr != "" {
		t.Fatalf("%+v", got)
	}
	file := testenv.ReadFile(t, path)
	if size, err := png.DecodeConfig(bytes.NewReader(file)); err != nil || size.Width != 800 || size.Height > 900 {
		t.Errorf("%v, %v", size, err)
	}
	got = call("timeline", dir)
	if got.code != exitUsage || !strings.Contains(got.stderr, "timeline.png exists: name another, or overwrite it with --force") {
		t.Errorf("a second time: %+v", got)
	}
	if got = call("timeline", dir, "--force"); got.code != 0 {
		t.Errorf("forced: %+v", got)
	}
}

// TestTimelineText requires that the texts of an SVG show the selection.
func TestTimelineText(t *testing.T) {
	dir := relayRun(t)
	for _, c := range []struct{ name, flags, has, hasNot string }{
		{"all", "", "relay on 3 ranks, " + filepath.Base(dir) + "|>3 ranks; 2 messages; |>0.0 s<|>3.0 s<|send, receive", "wait, test"},
		{"some ranks", "--ranks 0,2", ">2 ranks; no messages; |>3.0 s<", ""},
		{"some time", "--from 1500ms --to 2.5s", ">1.50 s<|>2.50 s<", ">3.00 s<"},
		{"no messages", "--no-messages", ">3 ranks; a column", "message"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x.SVG")
			got := call(append(strings.Fields("timeline "+dir+" -o "+path), strings.Fields(c.flags)...)...)
			text, err := os.ReadFile(path)
			if got.code != 0 || err != nil {
				t.Fatalf("%+v, %v", got, err)
			}
			for want := range strings.SplitSeq(c.has, "|") {
				if !strings.Contains(string(text), want) {
					t.Errorf("no %q in\n%s", want, text)
				}
			}
			if c.hasNot != "" && strings.Contains(string(text), c.hasNot) {
				t.Errorf("%q in\n%s", c.hasNot, text)
			}
		})
	}
}

func TestTimelineWrongUse(t *testing.T) {
	dir, empty := relayRun(t), t.TempDir()
	for _, c := range []struct {
		args, want string
		code       int
	}{
		{"a b", "accepts at most 1 arg", exitUsage},
		{"none", "no such file", exitUsage},
		{empty, empty + " holds no recording", exitUsage},
		{filepath.Join(dir, "trace.0.arrow"), "is a file: give the directory of the run", exitUsage},
		{dir + " -o x.jpg", "-o x.jpg: a picture's name ends in .png, .svg or .pdf", exitUsage},
		{dir + " --from 2s --to 1s", "--from 2s is not before --to 1s", exitUsage},
		{dir + " --to 0s", "is not before", exitUsage},
		{dir + " --from=-1s", "not negative", exitUsage},
		{dir + " --ranks 5-3", `--ranks: "5-3"`, exitUsage},
		{dir + " --ranks=", "--ranks: ", exitUsage},
		{dir + " --width 5", "5 pixels wide: it can be 480 to 8192", exitUsage},
		{dir + " --ranks 7", "no trace of rank 7: there are those of ranks 0-2", exitUsage},
		{dir + " --from 1h", "nothing after 1h0m0s: the last event ends 3.00 s after the first began", exitError},
		{dir + " -o " + empty + "/none/x.png", "write " + empty + "/none/x.png: no such file or directory", exitError},
	} {
		got := call(append([]string{"timeline"}, strings.Fields(c.args)...)...)
		if got.code != c.code || !strings.Contains(got.stderr, c.want) || got.stdout != "" {
			t.Errorf("%s: %+v, want status %d and %q", c.args, got, c.code, c.want)
		}
	}
	testenv.WriteFile(t, rundir.Dir(dir).TraceFile(1), "ARROW1")
	if got := call("timeline", dir); got.code != exitError || !strings.Contains(got.stderr, "trace.1.arrow") {
		t.Errorf("damaged: %+v", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 4 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
