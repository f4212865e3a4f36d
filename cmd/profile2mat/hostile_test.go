package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/mpitrace/mpitrace/formats/prof"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// asProgram is an environment variable that makes the test binary run as
// profile2mat, so that the memory of that process can be measured.
const asProgram = "PROFILE2MAT_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

const maxMemory = 1 << 30

// program runs profile2mat in a separate process, with a limit on its memory.
func program(t *testing.T, args ...string) (stderr string, status int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	var text bytes.Buffer
	cmd.Stderr = &text
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	if used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10; used >= maxMemory {
		t.Errorf("%q took %d bytes of memory", args, used)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

// sparse makes a file of head followed by zeros that take no disk space.
func sparse(t *testing.T, path, head string, size int64) string {
	t.Helper()
	put(t, path, head)
	testenv.NoError(t, os.Truncate(path, size))
	return path
}

// TestHostileFiles requires that each error names the place of the damage, and
// that nothing is written.
func TestHostileFiles(t *testing.T) {
	testenv.At(t, testenv.Quick)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	flow := "E\t0\t1\t%s bytes\t1 msgs sent%s\n"
	clean := hostileFormats(t)
	for name, c := range map[string]struct{ path, want string }{
		"a number of 31 digits":  {put(t, in("a.prof"), fmt.Sprintf(flow, "1"+strings.Repeat("0", 30), "")), `a.prof:1: "1000000000000000000000000000000" is not a number of 64 bits`},
		"2^64 bytes":             {put(t, in("b.prof"), fmt.Sprintf(flow, "18446744073709551616", "")), `b.prof:1: "18446744073709551616" is not a number`},
		"rank 2^31":              {put(t, in("c.prof"), "E\t2147483648\t1\t1 bytes\t1 msgs sent\n"), `c.prof:1: "2147483648" is not a rank`},
		"rank 2^31 in a group":   {put(t, in("d.prof"), "D\tx\tprocs: 0,2147483648\n"), `d.prof:1: "2147483648" is not a rank`},
		"a negative rank":        {put(t, in("e.prof"), "E\t-1\t1\t1 bytes\t1 msgs sent\n"), `e.prof:1: "-1" is not a rank`},
		"10^7 columns":           {put(t, in("f.prof"), fmt.Sprintf(flow, "1", "\t1"+strings.Repeat(",0", 10_000_000))), "f.prof:1: line is longer than 16 MiB"},
		"an endless line":        {sparse(t, in("g.prof"), "E\t0\t1\t", 2<<30), "g.prof:1: line is longer than 16 MiB"},
		"an endless number":      {put(t, in("h.prof"), "E\t0\t1\t"+strings.Repeat("9", 32<<20)), "h.prof:1: line is longer than 16 MiB"},
		"only noise":             {put(t, in("i.prof"), strings.Repeat("\x00\xff\x13", 100_000)), "i.prof: not text"},
		"a recording cut short":  {put(t, in("a.rec"), string(clean["rec"][:100])), "a.rec: "},
		"an empty recording":     {put(t, in("b.rec"), ""), "b.rec: "},
		"a recording of zeros":   {sparse(t, in("c.rec"), string(clean["rec"][:64]), 4<<30), "c.rec is damaged: byte 4096"},
		"an Arrow file cut":      {put(t, in("a.arrow"), string(clean["arrow"][:len(clean["arrow"])/2])), "a.arrow: truncated after"},
		"an Arrow file of zeros": {sparse(t, in("b.arrow"), "ARROW1\x00\x00", 4<<30), "b.arrow: truncated after"},
		"a matrix":               {put(t, in("m.csv"), "sender,receiver,messages,bytes\n0,1,1,1\n"), "m.csv: "},
	} {
		t.Run(name, func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "out")
			stderr, status := program(t, "--format", "csv,mat,png", "-o", out, c.path)
			if status != 1 || !strings.Contains(stderr, c.want) || strings.Contains(stderr, "goroutine ") {
				t.Errorf("status %d, said %.2000q", status, stderr)
			}
			if left, _ := os.ReadDir(out); len(left) > 0 {
				t.Errorf("wrote %v", left)
			}
		})
	}
}

// TestAbsurdButPossible requires that sparse matrices of two pairs stay small,
// even for the largest possible rank.
func TestAbsurdButPossible(t *testing.T) {
	dir := t.TempDir()
	path := put(t, filepath.Join(dir, "x.prof"), "E\t0\t2147483647\t1 bytes\t1 msgs sent\nE\t2147483647\t5\t18446744073709551615 bytes\t1 msgs sent\n")
	if stderr, status := program(t, "--format", "csv,mtx,json,png", path); status != 0 || !strings.Contains(stderr, "nothing from ranks 1-2147483646 of 2147483648") {
		t.Errorf("status %d, said %q", status, stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "x_external.csv"))
	if err != nil || string(text) != "sender,receiver,messages,bytes\n0,2147483647,1,1\n2147483647,5,1,18446744073709551615\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

// hostileFormats returns a small job in each format, to be damaged.
func hostileFormats(t *testing.T) map[string][]byte {
	t.Helper()
	j, out := synth.NewStencil(3), map[string][]byte{}
	for name, write := range map[string]func(b *bytes.Buffer) error{
		"rec":   func(b *bytes.Buffer) error { return recordingtest.Write(b, j.Profile(1)) },
		"arrow": func(b *bytes.Buffer) error { return table.WriteProfile(b, j) },
		"prof": func(b *bytes.Buffer) error {
			return j.Each(func(p *profile.Profile) error { return prof.Write(b, p.Traffic()) })
		},
	} {
		var b bytes.Buffer
		testenv.NoError(t, write(&b))
		out[name] = b.Bytes()
	}
	return out
}

// TestDamagedFiles flips bits and truncates files, and requires that nothing
// panics. An error must name the file and leave no output.
func TestDamagedFiles(t *testing.T) {
	for format, clean := range hostileFormats(t) {
		t.Run(format, func(t *testing.T) {
			const tries = 150
			path, out := filepath.Join(t.TempDir(), "x."+format), filepath.Join(t.TempDir(), "out")
			for i := range tries {
				damaged := bytes.Clone(clean)
				at := i * len(clean) / tries
				if i%2 == 0 {
					damaged = damaged[:at]
				} else {
					damaged[at] ^= 1 << (i / 2 % 8)
				}
				testenv.WriteFile(t, path, damaged)
				stdout, _, err := runCommand("--force", "--format", "csv", "-o", out, path)
				switch left, _ := os.ReadDir(out); {
				case err == nil && format == "arrow" && i%2 == 0:
					t.Errorf("truncated after %d of %d: was taken for whole", at, len(clean))
				case err != nil && (stdout != "" || len(left) > 0):
					t.Errorf("damaged at %d of %d: error %v, and wrote %v", at, len(clean), err, left)
				case err != nil && !strings.Contains(err.Error(), path):
					t.Errorf("damaged at %d of %d: the error names no file: %v", at, len(clean), err)
				}
				testenv.NoError(t, os.RemoveAll(out))
			}
			var memory runtime.MemStats
			if runtime.ReadMemStats(&memory); memory.Sys >= maxMemory {
				t.Errorf("took %d bytes of memory", memory.Sys)
			}
		})
	}
}
