package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/symbolize/symbolizetest"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// attempt is a command on another user's run. In args, which blanks separate, RUN
// is its directory, REC a recording in it, OUT a directory of the reader, and
// TOUCH a command that makes rootsFiles.mark. The cache is that of the account
// unless args begin with another one.
type attempt struct {
	args string
	want string // in the output; empty if the command need not do anything
}

// attempted has each command of mpitrace.
var attempted = map[string][]attempt{
	"analyze":  {{"RUN", "efficienc"}, {"--waits OUT/waits.arrow --causes OUT/causes.csv RUN", ""}},
	"build":    {{"", "cannot be trusted"}},
	"collect":  {{"--ssh TOUCH RUN", "belongs to another user"}},
	"config":   {{"", ""}},
	"diff":     {{"RUN RUN", "nothing changed"}},
	"doctor":   {{"", ""}},
	"dump":     {{"REC", "process\trank"}},
	"export":   {{"--format csv RUN", "name the output with -o"}, {"--format csv --skip-damaged -o - RUN", "Send"}, {"--format perfetto RUN", "name the output with -o"}, {"--events --format csv -o - RUN", "Send"}, {"--format parquet --partition 1 --tables all --skip-damaged -o OUT/tables RUN", "events"}},
	"help":     {{"", ""}},
	"history":  {{"RUN", ""}},
	"list":     {{"RUN/..", ""}},
	"manual":   {{"", ""}},
	"matrix":   {{"-o OUT/matrix RUN", ""}, {"RUN", "belongs to another user"}},
	"merge":    {{"RUN", "belongs to another user"}},
	"preload":  {{"", "cannot be trusted"}},
	"rank":     {{"--dir RUN -- /bin/true", ""}, {"-- /bin/true", ""}},
	"reorder":  {{"RUN", ""}},
	"report":   {{"RUN", "on 2 ranks"}, {"--full RUN", "efficienc"}, {"--json RUN", `"jobs"`}, {"--html OUT/page.html RUN", "the page is"}, {"--format prof RUN", "mpitrace export -o"}, {"--html OUT/source.html --source RUN", "only its owner"}},
	"run":      {{"-o OUT/run -- /bin/true", "cannot be trusted"}, {"MPITRACE_CACHE=OUT -o RUN -- /bin/true", "already holds a run"}},
	"status":   {{"RUN", "finalized"}},
	"timeline": {{"RUN", "name the output with -o"}, {"-o OUT/timeline.svg RUN", "timeline.svg"}},
	"vars":     {{"", ""}},
	"version":  {{"", ""}},
	"view":     {{"RUN", "http://127.0.0.1"}},
}

// TestTwoUsers has a second account prepare run directories, a cache, a program
// and files that make root's commands do harm. With every command, root must
// read nothing of its own for that account, write nothing where the account
// chooses, load nothing of the account, and need less than 1 GiB of memory.
func TestTwoUsers(t *testing.T) {
	a := newAccount(t)
	if names := slices.Sorted(maps.Keys(attempted)); !slices.Equal(names, commandNames(t)) {
		t.Errorf("the test has the commands %q, mpitrace has %q", names, commandNames(t))
	}
	withEachInTurn(t, func(m implementation) bool { return m.name == "mpich" }, func(t *testing.T, m implementation) {
		v := newRootsFiles(t, a)
		recorded := a.record(t, m)
		planted := a.plantLinks(t, v, recorded)
		a.nameSpool(t, planted, v.spool)
		v.try(t, planted, func(attempt) bool { return true })
		spool := a.imitateSpool(t, v)
		other := a.copied(t, recorded, "other")
		a.nameSpool(t, other, spool)
		v.try(t, other, func(one attempt) bool { return strings.Contains(one.args, "RUN") })
		v.tryMatrices(t, a, []string{planted, other})
	})
}

// record makes a traced run that is not merged: its ranks record themselves.
func (a *account) record(t *testing.T, m implementation) string {
	t.Helper()
	for from, to := range map[string]string{mpitrace: "mpitrace", m.compile(t, "sends"): "sends"} {
		copyOf(t, from, filepath.Join(a.shared, to))
	}
	program := copyOf(t, m.compile(t, "sends"), filepath.Join(a.home, "sends"))
	dir := filepath.Join(a.home, "recorded")
	a.own(t, a.home)
	// Ranks do not compile a library, and level quick has no prebuilt one.
	succeed(t, nil, a.as(filepath.Join(a.shared, "mpitrace"), "build", "--cc", m.cc)...)
	out := succeed(t, nil, a.as(m.launch(2, filepath.Join(a.shared, "mpitrace"), "run", "--trace", "-o", dir, "--", program)...)...)
	if !strings.HasPrefix(out.stdout, "ok") || len(recordingFiles(t, dir)) == 0 {
		t.Fatalf("recorded: %+v", out)
	}
	return dir
}

// copied returns a copy of a run of the account, with its times.
func (a *account) copied(t *testing.T, dir, name string) string {
	t.Helper()
	to := filepath.Join(a.home, name)
	succeed(t, nil, a.as("cp", "-a", dir, to)...)
	return to
}

// rootsFiles are what root has, and what nobody may make root read or write.
type rootsFiles struct {
	dir     string // nothing below it may be opened
	spool   string // with a recording, below dir
	target  string // an empty directory, below dir
	mark    string // made by whatever is executed on the account's behalf
	cache   string // of the account
	watched *fileWatch
}

func newRootsFiles(t *testing.T, a *account) *rootsFiles {
	t.Helper()
	v := &rootsFiles{dir: t.TempDir(), cache: filepath.Join(a.home, "cache")}
	v.spool, v.target, v.mark = filepath.Join(v.dir, "private"), filepath.Join(v.dir, "target"), filepath.Join(v.dir, "mark")
	p := synth.NewRing(1).Profile(0)
	p.Program, p.Command = "/secret", []string{"secret"}
	err := errors.Join(os.Mkdir(v.spool, 0o700), os.Mkdir(v.target, 0o700))
	if err == nil {
		err = recordingtest.WriteFile(filepath.Join(v.spool, "a-1-1.rec"), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	v.watched = watchFiles(t, v.dir, reads)
	return v
}

// plantLinks makes a run with links where commands write, a link among its
// recordings, libraries that run a program in its cache, and a program whose
// debug information would need 2 GiB of memory.
func (a *account) plantLinks(t *testing.T, v *rootsFiles, recorded string) string {
	t.Helper()
	dir := a.copied(t, recorded, "links")
	// The name of the directory of tasks depends on the recordings. A merge
	// that cannot write any file leaves it.
	execute(t, nil, a.as("sh", "-c", `ulimit -f 0; exec "$0" merge "$1"`, filepath.Join(a.shared, "mpitrace"), dir)...)
	tasks, err := filepath.Glob(filepath.Join(dir, "merge.*.part"))
	if err != nil || len(tasks) != 1 {
		t.Fatalf("directories of tasks: %q, %v", tasks, err)
	}
	os.RemoveAll(tasks[0])
	for name, to := range map[string]string{filepath.Base(tasks[0]): v.target, "prof": v.target, "arrow": v.target, "lib": v.target,
		"profile.csv": filepath.Join(v.target, "new"), "timeline.png": filepath.Join(v.target, "new"), "analysis.json": filepath.Join(v.spool, "a-1-1.rec"),
		"profile.arrow": filepath.Join(v.spool, "a-1-1.rec"), "recordings/b-1-1.rec": filepath.Join(v.spool, "a-1-1.rec")} {
		err = errors.Join(err, os.Symlink(to, filepath.Join(dir, name)))
	}
	err = errors.Join(err, symbolizetest.Enlarge(filepath.Join(a.home, "sends"), 2<<30, ".debug_info", ".debug_line", ".debug_abbrev"))
	if err != nil {
		t.Fatal(err)
	}
	evil := filepath.Join(a.shared, "evil.so")
	source := fmt.Sprintf("#include <fcntl.h>\n__attribute__((constructor)) static void run(void) { open(%q, O_CREAT | O_WRONLY, 0666); }\n", v.mark)
	compile := exec.Command("gcc", "-shared", "-fPIC", "-o", evil, "-x", "c", "-")
	compile.Stdin = strings.NewReader(source)
	if text, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	cached, err := filepath.Glob(filepath.Join(v.cache, "*", "*.so"))
	more, err2 := filepath.Glob(filepath.Join(v.cache, "*.so"))
	if cached = append(cached, more...); len(cached) == 0 || errors.Join(err, err2) != nil {
		t.Fatalf("libraries in the cache: %q, %v", cached, errors.Join(err, err2))
	}
	for _, library := range cached {
		copyOf(t, evil, library)
	}
	a.own(t, a.home)
	return dir
}

// imitateSpool makes a directory of the account with the name of a spool of root.
func (a *account) imitateSpool(t *testing.T, v *rootsFiles) string {
	t.Helper()
	dir := filepath.Join(a.home, "mpitrace-0-0123456789abcdef")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	copyOf(t, filepath.Join(v.spool, "a-1-1.rec"), filepath.Join(dir, "a-1-1.rec"))
	a.own(t, dir)
	return dir
}

// nameSpool makes run.json of a run name a spool, and recordings on another node.
func (a *account) nameSpool(t *testing.T, dir, spool string) {
	t.Helper()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]any{"spool": spool, "host": host, "jobs": []int{}, "uncollected": []string{host + ":" + spool, "othernode:" + spool}})
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "run.json"), text, 0o644)); err != nil {
		t.Fatal(err)
	}
	a.own(t, dir)
}

// try tries commands on a run directory of the account.
func (v *rootsFiles) try(t *testing.T, dir string, chosen func(attempt) bool) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(attempted)) {
		for _, one := range attempted[name] {
			if chosen(one) {
				v.tryOne(t, dir, name, one)
			}
		}
	}
}

func (v *rootsFiles) tryOne(t *testing.T, dir, name string, one attempt) {
	t.Helper()
	out, err := os.MkdirTemp("", "mpitrace-reader-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(out)
	names := strings.NewReplacer("RUN", dir, "REC", slices.Max(recordingFiles(t, dir)), "OUT", out, "TOUCH", "touch "+v.mark)
	words := strings.Fields(one.args)
	for i := range words {
		words[i] = names.Replace(words[i])
	}
	limit := []string{"timeout", "60"}
	if len(words) > 0 && strings.HasPrefix(words[0], "MPITRACE_CACHE=") {
		limit, words = append([]string{"env", words[0]}, limit...), words[1:]
	}
	if name == "view" {
		limit = []string{"timeout", "-s", "INT", "2"} // it serves until Ctrl-C
	}
	v.check(t, dir, slices.Concat(limit, []string{mpitrace, name}, words), one.want)
}

// check runs a command of root, and requires that it does no harm.
func (v *rootsFiles) check(t *testing.T, dir string, command []string, want string) {
	t.Helper()
	theirs := watchFiles(t, filepath.Dir(dir), changes)
	v.watched.seen(t)
	got := execute(t, []string{"MPITRACE_CACHE=" + v.cache, "LANG=C.UTF-8"}, command...)
	what := strings.Join(command, " ")
	if both := got.stdout + got.stderr; !strings.Contains(both, want) || strings.Contains(both, "goroutine ") || strings.Contains(both, "secret") || got.code > 4 && got.code != 124 {
		t.Errorf("%s: exit status %d, want %q\n%.3000s%.3000s", what, got.code, want, got.stdout, got.stderr)
	}
	if got.code == 124 && !slices.Contains(command, "view") {
		t.Errorf("%s: not done in time", what)
	}
	if got.memory >= 1<<30 {
		t.Errorf("%s: took %d MiB of memory", what, got.memory>>20)
	}
	if events := theirs.seen(t); len(events) > 0 {
		t.Errorf("%s: changed files of the account: %q", what, events)
	}
	if events := v.watched.seen(t); len(events) > 0 {
		t.Errorf("%s: used files of root: %q", what, events)
	}
}

// tryMatrices tries profile2mat on runs, and on .prof files.
func (v *rootsFiles) tryMatrices(t *testing.T, a *account, runs []string) {
	t.Helper()
	big := filepath.Join(a.home, "big.0.prof")
	far := filepath.Join(a.home, "far.0.prof")
	long := filepath.Join(a.home, "long.0.prof")
	err := errors.Join(os.WriteFile(big, []byte("# POINT TO POINT\n"), 0o644), os.Truncate(big, 2<<30),
		os.WriteFile(far, []byte("# POINT TO POINT\nE\t0\t2147483646\t7 bytes\t1 msgs sent\nE\t0\t99999999999999999999\t7 bytes\t1 msgs sent\n"), 0o644),
		os.WriteFile(long, []byte("# POINT TO POINT\nD\tall\tprocs: "+strings.Repeat("1,", 1<<24)+"1\nE\t0\t1\t7 bytes\t1 msgs sent\n"), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	a.own(t, a.home)
	for _, input := range append(runs, big, far, long) {
		out := t.TempDir()
		v.check(t, runs[0], []string{"timeout", "60", toMatrix, "--format", "csv,npy,png", "-o", filepath.Join(out, "m"), input}, "")
		if strings.HasSuffix(input, ".prof") {
			v.check(t, runs[0], []string{"timeout", "60", mpitrace, "reorder", input}, "")
		}
	}
}

// TestReadOnlyTraced reads a traced run that is not merged, and that the reader
// cannot write to: the account reads one of root. What commands print is what
// they print for a copy of the reader's own, which they merge.
func TestReadOnlyTraced(t *testing.T) {
	testenv.At(t, testenv.Quick)
	a := newAccount(t)
	withEachInTurn(t, debian, func(t *testing.T, m implementation) {
		program, tool := copyOf(t, m.compile(t, "sends"), filepath.Join(a.shared, "sends")), copyOf(t, mpitrace, filepath.Join(a.shared, "mpitrace"))
		dir, own := filepath.Join(a.shared, m.name), filepath.Join(a.home, m.name)
		succeed(t, nil, m.launch(2, tool, "run", "--trace", "-o", dir, "--", program)...)
		succeed(t, nil, "chmod", "-R", "a+rX", dir)
		succeed(t, nil, a.as("cp", "-r", "--preserve=timestamps", dir, own)...)
		watched := watchFiles(t, dir, changes)
		for _, args := range [][]string{{"analyze"}, {"analyze", "--json"}, {"export", "--events", "--format", "csv", "-o", "-"}, {"report", "--full"},
			{"timeline", "-o", filepath.Join(a.home, "timeline.svg"), "--force"}, {"export", "--format", "perfetto", "-o", filepath.Join(a.home, "trace.json.gz"), "--force"}} {
			command := func(run string) []string { return a.as(slices.Concat([]string{tool}, args, []string{run})...) }
			read := succeed(t, nil, command(dir)...)
			want := succeed(t, nil, command(own)...)
			if read.stdout != want.stdout || read.stdout == "" {
				t.Errorf("%q prints\n%s\nwant\n%s", args, read.stdout, want.stdout)
			}
			if !strings.Contains(read.stderr, "belongs to another user") {
				t.Errorf("%q does not say why it does not merge: %s", args, read.stderr)
			}
		}
		if events := watched.seen(t); len(events) > 0 {
			t.Errorf("the run changed: %q", events)
		}
	})
}
