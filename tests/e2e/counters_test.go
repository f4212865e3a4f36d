package e2e

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// TestCounters sets counters near their limits while the program runs. They
// must count on from there with all 64 bits, and must be read and shown
// correctly.
func TestCounters(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		dir := filepath.Join(t.TempDir(), "run")
		end := m.startCounters(t, dir, alone)
		const count, bytes, ticks = 1<<63 + 3, math.MaxUint64 - 16, 1 << 62
		setCounters(t, dir, count, bytes, ticks)
		end()
		p := readRecordings(t, dir)[0]
		i := slices.IndexFunc(p.Rows, func(r profile.Row) bool { return r.Call == "Sendrecv" && r.Direction == profile.Send })
		if r := p.Rows[i]; r.Calls != count+2 || r.Messages != count+2 || r.Bytes != math.MaxUint64 || r.TimeNs < ticks>>6 || p.Losses.Any() {
			t.Errorf("%d calls, %d messages, %d bytes, %d ns; %+v", r.Calls, r.Messages, r.Bytes, r.TimeNs, p.Losses)
		}
		if report := succeed(t, nil, mpitrace, "report", "--full", dir).stdout; !strings.Contains(report, "9,223,372,036,854,775,813") {
			t.Errorf("the report does not contain 2^63 + 5 calls\n%s", report)
		}
	})
}

// startCounters starts a program that records into dir, and returns when it has
// made its first calls. end lets it make the others, and waits until it has ended.
func (m implementation) startCounters(t *testing.T, dir string, env []string) (end func()) {
	t.Helper()
	command := preload(m.library(t), []string{"MPITRACE_DIR=" + dir}, m.compile(t, "counters"))
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = slices.Concat(environ(t), env)
	stdin, lines, err := testenv.StartWaiting(t, cmd, "ready")
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		stdin.Close()
		lines.WriteTo(new(strings.Builder))
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
}

// setCounters changes the row of three messages of 8 bytes in a recording that
// a running process has mapped.
func setCounters(t *testing.T, dir string, count, bytes, ticks uint64) {
	t.Helper()
	paths := recordingFiles(t, dir)
	if len(paths) != 1 {
		t.Fatalf("%d recordings", len(paths))
	}
	path := recording.FileOf(paths[0])
	data := readAll(t, path)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for at := 0; at+64 <= len(data); at += 64 {
		row := data[at : at+64]
		if row[22] != byte(profile.Send) || binary.NativeEndian.Uint64(row[24:]) != 3 || binary.NativeEndian.Uint64(row[32:]) != 24 {
			continue
		}
		var set [24]byte
		for i, n := range []uint64{count, bytes, ticks} {
			binary.NativeEndian.PutUint64(set[8*i:], n)
		}
		if _, err := file.WriteAt(set[:], int64(at)+24); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatal("no row of three messages of 8 bytes")
}
