package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/profile"
)

// Command is a command line that starts MPI processes, taken apart.
type Command struct {
	Argv     []string
	Launcher *Launcher    // nil if there is none: a program or a script alone
	Programs []Invocation // where in Argv the programs of the MPI processes stand
	// Reason tells why no program was found, for people. The environment is
	// set instead.
	Reason string
}

// Invocation is a program in a launcher's command line.
type Invocation struct {
	Index int    // of the program in Argv; its arguments follow
	Dir   string // working directory that the launcher was told, empty for the current one
	Path  string // search path that the launcher was told, empty for $PATH
	Here  bool   // a bare name that is not in the search path is looked for in Dir, as Open MPI does
}

func (i Invocation) lookup(name string) (string, error) {
	path := i.Path
	if path == "" {
		path = os.Getenv("PATH")
	}
	file, err := lookProgram(name, i.Dir, path)
	if err != nil && i.Here {
		if here, err := lookProgram("./"+name, i.Dir, path); err == nil {
			return here, nil
		}
	}
	return file, err
}

// Parse takes a command line apart. An error is about a command that cannot
// be run or recorded at all.
func Parse(argv []string) (*Command, error) {
	c := &Command{Argv: argv}
	at := launcherIndex(argv)
	if queuers[filepath.Base(argv[0])] {
		return nil, fmt.Errorf("%s only queues the job: put `mpitrace run --` in front of the launcher (mpirun, srun) inside the job script", argv[0])
	}
	if at < 0 {
		return c, c.parseAlone()
	}
	l, err := findLauncher(argv[at])
	if err != nil {
		return nil, err
	}
	c.Launcher = l
	start := at + 1
	if l.System == FluxLauncher {
		if start = afterFluxRun(argv, at); start < 0 {
			c.Reason = "only `flux run` is known here"
			return c, nil
		}
	}
	c.parseSections(start)
	return c, nil
}

// parseAlone handles a command that is no launcher. A program linked to MPI is
// started as a job of one process; all else may start jobs itself.
func (c *Command) parseAlone() error {
	i := Invocation{Index: 0}
	path, err := i.lookup(c.Argv[0])
	if err != nil {
		return err
	}
	p, err := Inspect(path)
	if err != nil {
		return err
	}
	switch p.Kind {
	case Script, NoMPI:
		c.Reason = path + " is not an MPI program itself, but may start one"
		if p.Kind == Script {
			c.Reason = path + " is a script"
		}
	default:
		c.Programs = []Invocation{i}
	}
	return nil
}

// starters run the command in their arguments; a launcher may be behind them.
var starters = []string{"env", "nice", "ionice", "timeout", "stdbuf", "time", "nohup", "setsid", "taskset", "numactl", "chrt", "unbuffer"}

// launcherIndex is where the launcher stands in the command line, -1 if there
// is none: first, or behind commands such as env and timeout.
func launcherIndex(argv []string) int {
	if isLauncher(argv[0]) {
		return 0
	}
	if !slices.Contains(starters, filepath.Base(argv[0])) {
		return -1
	}
	return slices.IndexFunc(argv, isLauncher)
}

// IsLauncher tells whether a command starts MPI processes by a launcher.
func IsLauncher(argv []string) bool { return launcherIndex(argv) >= 0 }

// afterFluxRun is where the options of `flux run` begin, -1 for another of
// flux's commands.
func afterFluxRun(argv []string, at int) int {
	rest := argv[at+1:]
	if len(rest) > 0 && rest[0] == "mini" {
		rest = rest[1:]
	}
	if len(rest) == 0 || rest[0] != "run" {
		return -1
	}
	return len(argv) - len(rest) + 1
}

// parseSections finds the program of each section of the command line;
// sections (MPMD) are separated by a lone colon.
func (c *Command) parseSections(start int) {
	table := c.Launcher.options()
	if table == nil {
		c.searchProgram(start)
		return
	}
	var last section
	for start <= len(c.Argv) {
		s := section{command: c, options: table, at: start}
		if c.Launcher.System == HydraLauncher { // its options are for all sections
			s.dir, s.path = last.dir, last.path
		}
		s.parse()
		switch {
		case s.file != "":
			c.giveUp("the option " + s.file + " names or copies the programs elsewhere")
			return
		case s.at >= len(c.Argv) || c.Argv[s.at] == ":":
			c.giveUp("no program found in the command line of " + filepath.Base(c.Launcher.Path))
			return
		}
		c.Programs = append(c.Programs, Invocation{Index: s.at, Dir: s.dir, Path: s.path, Here: c.Launcher.System == OpenMPILauncher})
		last = s
		colon := -1
		if c.Launcher.System != FluxLauncher {
			colon = slices.Index(c.Argv[s.at:], ":")
		}
		if colon < 0 {
			return
		}
		start = s.at + colon + 1
	}
}

func (c *Command) giveUp(reason string) { c.Programs, c.Reason = nil, reason }

// searchProgram finds the program of a launcher whose options are not known:
// the first word that is an executable file linked to MPI.
func (c *Command) searchProgram(start int) {
	for i := start; i < len(c.Argv); i++ {
		in := Invocation{Index: i}
		path, err := in.lookup(c.Argv[i])
		if err != nil {
			continue
		}
		if p, err := Inspect(path); err == nil && p.Kind == UsesMPI {
			c.Programs = append(c.Programs, in)
			return
		}
	}
	c.giveUp("no MPI program found in the command line of " + filepath.Base(c.Launcher.Path) + ", whose options are not known")
}

// section is one `OPTIONS program ARGS` of a launcher's command line while it
// is read.
type section struct {
	command   *Command
	options   *options
	at        int    // the word to read next; at the end, the program
	dir, path string // as in Invocation
	file      string // an option that takes the program out of our sight
}

// parse reads options up to the program.
func (s *section) parse() {
	for s.at < len(s.command.Argv) {
		word := s.command.Argv[s.at]
		if word == "--" {
			s.at++
			return
		}
		if len(word) < 2 || word[0] != '-' {
			return
		}
		s.at++
		if s.options.long && word[1] != '-' {
			s.letters(word[1:])
			continue
		}
		name, value, attached := strings.Cut(strings.TrimLeft(word, "-"), "=")
		name, arity := s.lookup(name, attached)
		if attached {
			s.note(name, value)
			continue
		}
		s.take(name, arity)
	}
}

// take notes an option and steps over its arguments.
func (s *section) take(name string, arity int) {
	value := ""
	if arity > 0 && s.at < len(s.command.Argv) {
		value = s.command.Argv[s.at]
	}
	s.note(name, value)
	s.at += arity
}

// note keeps what matters of an option.
func (s *section) note(name, value string) {
	switch {
	case slices.Contains(s.options.wdir, name):
		s.dir = value
	case slices.Contains(s.options.path, name):
		s.path = value
	case slices.Contains(s.options.file, name):
		s.file = "-" + name
		if len(name) > 1 {
			s.file = "--" + name
		}
	}
}

// lookup is an option's full name and how many arguments it takes.
func (s *section) lookup(name string, attached bool) (string, int) {
	if n, ok := s.options.arity[name]; ok {
		return name, n
	}
	if s.options.long {
		if full := s.options.complete(name); full != "" {
			return full, s.options.arity[full]
		}
	}
	if attached || name == "" {
		return name, 0
	}
	return name, s.unknown(name)
}

// complete finds the long option that an abbreviation stands for, empty if
// there is none or more than one.
func (o *options) complete(prefix string) string {
	found := ""
	for name := range o.arity {
		if len(name) > 1 && strings.HasPrefix(name, prefix) {
			if found != "" {
				return ""
			}
			found = name
		}
	}
	return found
}

// unknown guesses whether an option that is in no table takes an argument: it
// does unless the next word is an option or can be executed.
func (s *section) unknown(name string) int {
	if s.options.arity[name[:1]] == 1 && strings.Trim(name[1:], "0123456789") == "" {
		return 0 // -n4
	}
	if s.at >= len(s.command.Argv) {
		return 0
	}
	next := s.command.Argv[s.at]
	if strings.HasPrefix(next, "-") {
		return 0
	}
	if _, err := (Invocation{Dir: s.dir, Path: s.path}).lookup(next); err == nil {
		return 0
	}
	return 1
}

// letters reads a word of single-letter options, the last of which may have
// its argument attached (-vn4) or in the next word (-vn 4).
func (s *section) letters(word string) {
	for i, letter := range word {
		name := string(letter)
		switch n, known := s.options.arity[name]; {
		case !known:
			return // the argument of an optional one: -I60
		case n == 0:
			s.note(name, "")
		case i+1 < len(word):
			s.note(name, strings.TrimPrefix(word[i+1:], "="))
			return
		default:
			s.take(name, n)
		}
	}
}

// Rewrite is the command line with the given words, and what they need to know
// about the invocation, in front of each program:
//
//	mpirun -n 4 ./app -> mpirun -n 4 mpitrace rank ... -- ./app
func (c *Command) Rewrite(rank []string) []string {
	var out []string
	from := 0
	for _, p := range c.Programs {
		out = append(out, c.Argv[from:p.Index]...)
		out = append(out, rank...)
		if p.Path != "" {
			out = append(out, "--path", p.Path)
		}
		out = append(out, "--")
		from = p.Index
	}
	return append(out, c.Argv[from:]...)
}

// Name is what to call the job: the base name of its first program, else of
// the command itself.
func (c *Command) Name() string {
	if len(c.Programs) > 0 {
		program := c.Argv[c.Programs[0].Index:]
		return filepath.Base(profile.ProgramName(program[0], program))
	}
	return filepath.Base(profile.ProgramName(c.Argv[0], c.Argv))
}
