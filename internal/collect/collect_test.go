package collect

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/runs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// run.json and notes may hold anything. Only what can be a host and a directory
// of mpitrace is used.
func TestUncollected(t *testing.T) {
	d := runs.New(t)
	const spool = "/dev/shm/mpitrace-0-aa"
	info := &rundir.Info{Host: "n1", Spool: spool, Uncollected: []string{
		"n1:" + spool, "n1:" + spool + "/n1-1-1.rec",
		"n1:" + spool + "/../x.rec", "n1:/etc/passwd", "-oProxyCommand=x:" + spool, "a b:" + spool, "n1", ":" + spool, ""}}
	testenv.NoError(t, d.WriteInfo(info))
	for name, target := range map[string]string{
		"n2-7-5.rec.at": "n2:/tmp/mpitrace-0/n2-7-5.rec",
		"n2-8-5.rec.at": "n2:/tmp/mpitrace-0/n2-9-5.rec", // of another
		"n2-9-5.rec.at": "n2:tmp/n2-9-5.rec",
		"n3-9-5.rec.at": "n3;reboot:/tmp/n3-9-5.rec",
	} {
		testenv.NoError(t, os.Symlink(target, filepath.Join(d.Recordings(), name)))
	}
	want := []rundir.Left{{Host: "n1", Path: spool}, {Host: "n1", Path: spool + "/n1-1-1.rec"}, {Host: "n2", Path: "/tmp/mpitrace-0/n2-7-5.rec"}}
	if got := d.Uncollected(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := rundir.Hosts(want, "n1"); !slices.Equal(got, []string{"n2"}) {
		t.Errorf("other hosts %q, want n2", got)
	}
}

// A run whose mpitrace was killed is collected from its spool. A directory that
// is not a spool of this user is not touched, even if run.json names it.
func TestCollect(t *testing.T) {
	private := t.TempDir()
	testenv.NoError(t, os.Chmod(private, 0o700))
	for _, test := range []struct {
		spool string
		ok    bool
	}{
		{filepath.Join(t.TempDir(), "mpitrace-"+uid()+"-0123456789abcdef"), true},
		{private, false},
	} {
		d := runs.New(t)
		testenv.NoError(t, os.MkdirAll(test.spool, 0o700))
		name := "n1-99999999-5.rec"
		recordingtest.Record(t, filepath.Join(test.spool, name), &profile.Profile{Size: 1, State: profile.Running, Threads: 1})
		testenv.NoError(t, d.WriteInfo(&rundir.Info{Host: "n1", Spool: test.spool, Uncollected: []string{"n1:" + test.spool}}))
		if n, err := Run(d, "n2"); n != 0 || err != nil {
			t.Errorf("on another node: %d, %v", n, err)
		}
		n, err := Run(d, "n1")
		if (err == nil) != test.ok || (n == 1) != test.ok {
			t.Errorf("%s: %d, %v", test.spool, n, err)
		}
		if _, err := os.Stat(test.spool); (err == nil) == test.ok {
			t.Errorf("%s: %v", test.spool, err)
		}
		if left := d.Uncollected(); (len(left) == 0) != test.ok {
			t.Errorf("%s: left %q", test.spool, left)
		}
	}
}

// A spool that no longer exists is reported once, with the recordings lost in
// it. None are lost if all were collected before, as by an mpitrace run that
// could not record this.
func TestCollectLost(t *testing.T) {
	for _, test := range []struct {
		home int    // recordings, of 2 ranks
		want string // empty for no error
	}{
		{0, "no longer exists, so its recordings are lost"},
		{1, "no longer exists: 1 of 2 recordings were collected, the others are lost"},
		{2, ""},
	} {
		d := runs.New(t)
		for rank := range test.home {
			p := &profile.Profile{Rank: rank, Size: 2, State: profile.Finalized, Threads: 1, Run: "job"}
			recordingtest.Record(t, filepath.Join(d.Recordings(), fmt.Sprintf("n1-%d-5.rec", 7+rank)), p)
		}
		spool := filepath.Join(t.TempDir(), "mpitrace-"+uid()+"-0123456789abcdef")
		testenv.NoError(t, d.WriteInfo(&rundir.Info{Host: "n1", Spool: spool, Uncollected: []string{"n1:" + spool}}))
		if _, err := Run(d, "n1"); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%d recordings are home: got %v, want %q", test.home, err, test.want)
		}
		if n, err := Run(d, "n1"); n != 0 || err != nil || len(d.Uncollected()) > 0 {
			t.Errorf("again: %d, %v, left %q", n, err, d.Uncollected())
		}
	}
}

func uid() string { return strconv.Itoa(os.Getuid()) }
