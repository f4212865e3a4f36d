package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// TestPrecedence sets each two neighbours in the order of precedence. The
// recording must show the value of the stronger one.
func TestPrecedence(t *testing.T) {
	withEach(t, debian, func(t *testing.T, m implementation) {
		for _, test := range []struct {
			name                        string
			call, flag, env, user, site string
			want                        profile.Timing
		}{
			{name: "call over command line", call: "off", flag: "sampled", want: profile.TimingOff},
			{name: "command line over environment", flag: "sampled", env: "off", want: profile.TimingSampled},
			{name: "environment over user file", env: "off", user: "sampled", want: profile.TimingOff},
			{name: "user file over site file", user: "sampled", site: "off", want: profile.TimingSampled},
			{name: "site file over default", site: "off", want: profile.TimingOff},
			{name: "default", want: profile.TimingExact},
		} {
			t.Run(test.name, func(t *testing.T) {
				dir := t.TempDir()
				site := filepath.Join(dir, "site.conf")
				env := []string{"XDG_CONFIG_HOME=" + dir, "MPITRACE_SITE_CONFIG=" + site}
				configure(t, filepath.Join(dir, "mpitrace", "config"), test.user)
				configure(t, site, test.site)
				if test.env != "" {
					env = append(env, "MPITRACE_TIMING="+test.env)
				}
				command := []string{mpitrace, "run", "-o", filepath.Join(dir, "run")}
				if test.flag != "" {
					command = append(command, "--timing", test.flag)
				}
				program := []string{m.compile(t, "set")}
				if test.call != "" {
					program = append(program, "timing="+test.call)
				}
				succeed(t, env, slices.Concat(command, []string{"--"}, m.launch(1, program...))...)
				checkTold(t, filepath.Join(dir, "run"), test.want)
			})
		}
	})
}

// configure writes a configuration file that sets timing, unless timing is
// empty.
func configure(t *testing.T, path, timing string) {
	t.Helper()
	if timing == "" {
		return
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte("# of the test\ntiming = "+timing+"\n"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkTold(t *testing.T, dir string, want profile.Timing) {
	t.Helper()
	ranks := readRecordings(t, dir)
	if len(ranks) != 1 || ranks[0].Timing != want {
		t.Fatalf("%d recordings, timing %v, want %v", len(ranks), ranks[0].Timing, want)
	}
	told := ranks[0].Settings["timing"]
	if made := want != profile.TimingExact; made != (told != "") || made && told != want.String() {
		t.Errorf("the recording has %q, want %v", told, want)
	}
}

// TestSet checks that what a program sets applies from then on, and that
// nothing can be set in a program that is not recorded.
func TestSet(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "set")
		succeed(t, nil, m.launch(1, program, "-alone")...)
		for _, test := range []struct {
			flags, settings []string
			want            map[string]volumes
		}{
			{nil, nil, map[string]volumes{"run": messages(0, 0, 1, 4), "run@0s": message(0, 0, 2)}},
			// The interval of MPI_Init is already the call's, not the flag's;
			// with the flag's there would be several slices.
			{[]string{"--interval", "1ms"}, []string{"interval=2000s"},
				map[string]volumes{"run@0s": messages(0, 0, 1, 2), "run": message(0, 0, 4)}},
			{[]string{"--interval", "2000s"}, []string{"interval=off"},
				map[string]volumes{"run": messages(0, 0, 1, 4), "run@0s": message(0, 0, 2)}},
		} {
			j := m.runAs(t, test.flags, 1, append([]string{program}, test.settings...)...)
			diff(t, "sent by slice", test.want, sentIn(j.ranks))
			diff(t, "the setting at the end", "off", j.ranks[0].Settings["interval"])
		}
	})
}

// TestDifferentSettings runs ranks whose environments have different settings.
func TestDifferentSettings(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		program := m.compile(t, "sendrecv")
		command := slices.Concat(m.launch(1, "env", "MPITRACE_TIMING=off", "MPITRACE_INTERVAL=1s", program),
			[]string{":", "-n", "1", program, ":", "-n", "1", "env", "MPITRACE_INTERVAL=1000ms", program})
		j := record(t, nil, command...)
		if j.code != 0 {
			t.Fatalf("exit status %d\n%s", j.code, j.stderr)
		}
		s, _ := reportOf(t, j.dir)
		want := []string{
			"not all ranks were recorded with the same --timing: exact (ranks 1-2), off (rank 0)",
			"not all ranks were recorded with the same --interval: 1s (ranks 0, 2), off (rank 1)",
		}
		diff(t, "problems", want, s.Problems)
		if text := fullReport(t, j.dir); !strings.Contains(text, want[1]) || !strings.Contains(j.stderr, want[0]) {
			t.Errorf("it is not reported:\n%s\nat the end of the run:\n%s", text, j.stderr)
		}
		checkRunSettings(t, j.dir)
	})
}

func checkRunSettings(t *testing.T, dir string) {
	t.Helper()
	var config struct {
		Settings []struct {
			Name, Value, Source string
			Ranks               map[string]string
		}
	}
	out := succeed(t, nil, mpitrace, "config", "--json", "--run", dir, "timing", "stack").stdout
	if err := json.Unmarshal([]byte(out), &config); err != nil || len(config.Settings) != 2 {
		t.Fatalf("%v\n%s", err, out)
	}
	timing, stack := config.Settings[0], config.Settings[1]
	if timing.Value != "mixed" || timing.Source != "process" || timing.Ranks["off"] != "rank 0" || timing.Ranks["exact"] != "ranks 1-2" {
		t.Errorf("config --run says %+v", timing)
	}
	if stack.Value != "0" || stack.Source != "default" {
		t.Errorf("config --run says %+v", stack)
	}
}
