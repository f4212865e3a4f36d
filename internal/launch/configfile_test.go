package launch

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// configFiles are the contents of files for -configfile, and of their copies,
// in which @ stands for the words in front of a program. An empty copy means
// that the programs are not found.
var configFiles = []struct{ name, launcher, content, want string }{
	{"sections", "mpiexec.hydra", "-n 1 ./a x\n-n 2 -env A 1 ./b\n", "-n 1 @ -- ./a x\n-n 2 -env A 1 @ -- ./b\n"},
	{"no end of line", "mpiexec.mpich", "-n 1 ./a\n./b", "-n 1 @ -- ./a\n@ -- ./b"},
	{"comments and empty lines", "mpiexec.hydra", "# -n 9 ./no\n\n   # two\n-n 1 ./a # three\n \n", "# -n 9 ./no\n\n   # two\n-n 1 @ -- ./a # three\n \n"},
	{"blanks", "mpiexec.mpich", "\t-n\t1   ./a\t b  c\r\n-n 1 ./b\r\n", "\t-n\t1   @ -- ./a\t b  c\r\n-n 1 @ -- ./b\r\n"},
	{"colon in a line", "mpiexec.hydra", "-n 1 ./a y : -n 1 ./b\n./c : y", "-n 1 @ -- ./a y : -n 1 @ -- ./b\n@ -- ./c : @ -- y"},
	{"variables", "mpiexec.mpich", "-genv A=1 -env B 2 -n 1 ./a", "-genv A=1 -env B 2 -n 1 @ -- ./a"},
	{"arguments in quotes", "mpiexec.hydra", `-n 1 ./a "two words" 'x' \` + "n", `-n 1 @ -- ./a "two words" 'x' \` + "n"},
	{"option in quotes, Intel MPI", "mpiexec.hydra", `-n 1 -env A "x y" "./a"`, `-n 1 -env A "x y" @ -- "./a"`},
	{"quote in quotes, Intel MPI", "mpiexec.hydra", `-n 1 -env A "x \" y" ./a`, `-n 1 -env A "x \" y" @ -- ./a`},
	{"option in quotes, MPICH", "mpiexec.mpich", `-n 1 -env A "x y" ./a`, `-n 1 -env A "x @ -- y" ./a`},
	{"search path", "mpiexec.hydra", "-n 1 -gpath /p a\nb", "-n 1 -gpath /p @ --path /p -- a\n@ --path /p -- b"},

	{"empty", "mpiexec.hydra", "", ""},
	{"line without a program", "mpiexec.hydra", "-n 1\n./a\n", ""},
	{"another file", "mpiexec.hydra", "-configfile x\n", ""},
	{"continued line", "mpiexec.mpich", "-n 1 \\\n ./a\n", ""},
	{"tool", "mpiexec.hydra", "-gtool gdb:0 -n 1 ./a\n", ""},
}

func TestConfigFile(t *testing.T) {
	launchers(t)
	for _, test := range configFiles {
		t.Run(test.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "file")
			testenv.WriteFile(t, file, test.content)
			c := parsed(t, []string{test.launcher, "-l", "-configfile", file, "-genv", "B", "2"})
			if test.want == "" {
				if len(c.Programs) != 0 || c.Reason == "" || c.InFile() {
					t.Errorf("programs %v, reason %q; want none, with a reason", c.Programs, c.Reason)
				}
				return
			}
			argv, text, err := c.Rewrite([]string{"@"}, "copy")
			if err != nil || text != test.want {
				t.Errorf("%v\n got %q\nwant %q", err, text, test.want)
			}
			if got, want := strings.Join(argv, " "), test.launcher+" -l -configfile copy -genv B 2"; got != want {
				t.Errorf("command line %s, want %s", got, want)
			}
		})
	}
}

// Each case is a command line whose configuration file cannot be replaced.
func TestConfigFileNotReplaced(t *testing.T) {
	dir := launchers(t)
	file := filepath.Join(dir, "file")
	testenv.WriteFile(t, file, "-n 1 ./a\n")
	for _, command := range []string{
		"mpiexec.hydra -configfile " + file + " ./b",
		"mpiexec.hydra -n 1 ./b : -configfile " + file,
		"mpiexec.hydra -configfile " + file + " -configfile " + file + " ./b",
		"mpiexec.hydra -gdb -configfile " + file,
		"mpiexec.hydra -configfile " + dir,
		"mpiexec.hydra -configfile " + dir + "/none",
		"mpiexec.hydra -configfile",
	} {
		c, err := Parse(strings.Fields(command))
		if err != nil || len(c.Programs) != 0 || c.Reason == "" {
			t.Errorf("%s: %+v, %v; want no programs, and a reason", command, c, err)
		}
	}
}

func TestConfigFileAttached(t *testing.T) {
	file := filepath.Join(launchers(t), "file=1")
	testenv.WriteFile(t, file, "-n 1 ./a\n")
	for _, test := range [][2]string{
		{"mpiexec.mpich -configfile=" + file, "mpiexec.mpich -configfile=copy"},
		{"mpiexec.mpich --configfile " + file, "mpiexec.mpich --configfile copy"},
	} {
		c, err := Parse(strings.Fields(test[0]))
		if err != nil || !c.InFile() || c.Name() != "a" {
			t.Fatalf("%s: %+v, %v; want the program of the file", test[0], c, err)
		}
		argv, _, err := c.Rewrite(nil, "copy")
		if got := strings.Join(argv, " "); err != nil || got != test[1] {
			t.Errorf("%s: %s, %v, want %s", test[0], got, err, test[1])
		}
	}
}

// Each case is a copy that the launcher could not read.
func TestConfigFileLimits(t *testing.T) {
	dir := launchers(t)
	many := strings.Repeat("-n 1 ./a\n", maxConfigWords/5)
	for _, test := range []struct {
		launcher, content, word string
		fails                   bool
	}{
		{"mpiexec.hydra", "./a", "a b", true},
		{"mpiexec.mpich", "./a", `a"b`, true},
		{"mpiexec.mpich", "./a " + strings.Repeat("x", maxConfigLine), "w", true},
		{"mpiexec.mpich", many, "w", true},
		{"mpiexec.hydra", many, "w", false},
	} {
		file := filepath.Join(dir, "file")
		testenv.WriteFile(t, file, test.content)
		c := parsed(t, []string{test.launcher, "-configfile", file})
		if _, _, err := c.Rewrite([]string{test.word}, "copy"); (err != nil) != test.fails {
			t.Errorf("%s, %d bytes: error %v, want one: %v", test.launcher, len(test.content), err, test.fails)
		}
	}
}
