package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// Command is a parsed command line that starts MPI processes.
type Command struct {
	Argv     []string
	Launcher *Launcher    // nil for a program or a script that is started without a launcher
	Programs []Invocation // the programs of the MPI processes, in the order of Argv
	// Reason is a text for the user: why no program was found in Argv. The
	// recorder is then put into the environment instead of the command line.
	Reason string

	config *configFile // the file that holds the programs (-configfile), nil if Argv does
}

// Invocation is a program in a launcher's command line.
type Invocation struct {
	Index int      // index of the program in the words that hold it: Argv, or those of a file
	Words []string // the program's name and the words behind it
	Dir   string   // working directory given to the launcher, empty for the current one
	Path  string   // search path given to the launcher, empty for $PATH
	Here  bool     // like Open MPI, look for a bare name in Dir if the search path does not have it
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

// Parse parses a command line. It returns an error if the command cannot be run
// or recorded at all.
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
	if l.System == HydraLauncher && os.Getenv("I_MPI_GTOOL") != "" {
		c.giveUp("I_MPI_GTOOL starts programs under a tool")
	}
	return c, nil
}

// parseAlone parses a command that has no launcher. A program linked to MPI is
// started as a job of one process. Any other command may start jobs itself.
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
	case Script:
		c.Reason = path + " is a script"
	case NoMPI:
		c.Reason = path + " is not an MPI program itself, but may start one"
	case Unreadable:
		c.Reason = path + " may be run, but not read"
	default:
		i.Words = c.Argv
		c.Programs = []Invocation{i}
	}
	return nil
}

// starters are commands that run the command in their arguments, which may be a
// launcher.
var starters = []string{"env", "nice", "ionice", "timeout", "stdbuf", "time", "nohup", "setsid", "taskset", "numactl", "chrt", "unbuffer"}

// launcherIndex returns the index of the launcher in argv, or -1 if there is
// none. The launcher is the first word, or follows a command such as env or
// timeout.
func launcherIndex(argv []string) int {
	if isLauncher(argv[0]) {
		return 0
	}
	if !slices.Contains(starters, filepath.Base(argv[0])) {
		return -1
	}
	return slices.IndexFunc(argv, isLauncher)
}

// IsLauncher reports whether a command starts MPI processes with a launcher.
func IsLauncher(argv []string) bool { return launcherIndex(argv) >= 0 }

// afterFluxRun returns the index of the first option of `flux run`, or -1 for
// another flux command.
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

// parseSections finds the program of each section of the command line. A lone
// colon separates the sections (MPMD).
func (c *Command) parseSections(start int) {
	table := c.Launcher.options()
	if table == nil {
		c.searchProgram(start)
		return
	}
	var last section
	words := c.Argv
	for start <= len(words) {
		s := section{words: words, options: table, at: start}
		// Hydra's options apply to the following sections too
		if c.Launcher.System == HydraLauncher {
			s.dir, s.path = last.dir, last.path
		}
		s.parse()
		if s.config > 0 && c.readsConfig(&s) {
			words, start, last = c.config.words, 0, s
			continue
		}
		if reason := s.whyNot(); reason != "" {
			c.giveUp(reason)
			return
		}
		c.Programs = append(c.Programs, Invocation{Index: s.at, Words: words[s.at:], Dir: s.dir, Path: s.path,
			Here: c.Launcher.System == OpenMPILauncher})
		last = s
		colon := -1
		if c.Launcher.System != FluxLauncher {
			colon = slices.Index(words[s.at:], ":")
		}
		if colon < 0 {
			return
		}
		start = s.at + colon + 1
	}
}

// readsConfig reads the file of -configfile, if a section consists of options
// only. It returns false, and the reason in s, if the file's programs cannot be
// replaced.
func (c *Command) readsConfig(s *section) bool {
	switch {
	case s.reason != "":
		return false
	case c.config != nil || len(c.Programs) > 0 || s.at != len(s.words):
		s.reason = "-configfile is used together with other programs"
		return false
	}
	word := c.Argv[s.config]
	if _, value, attached := strings.Cut(word, "="); attached && word[0] == '-' {
		word = value
	}
	config, err := readConfigFile(word, strings.Contains(c.Launcher.Version, "Intel"))
	if err != nil {
		s.reason = "read the file of -configfile: " + err.Error()
		return false
	}
	config.arg = s.config
	c.config = config
	return true
}

func (c *Command) giveUp(reason string) { c.Programs, c.config, c.Reason = nil, nil, reason }

// searchProgram finds the program of a launcher whose options are unknown: the
// first word that is an executable file linked to MPI.
func (c *Command) searchProgram(start int) {
	for i := start; i < len(c.Argv); i++ {
		in := Invocation{Index: i, Words: c.Argv[i:]}
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

// section parses one `OPTIONS program ARGS` of a launcher's command line.
type section struct {
	words     []string // that hold the section
	options   *optionArity
	at        int    // index of the next word to read; after parse, of the program
	dir, path string // as in Invocation
	valueAt   int    // index of the word with the value of the option that was read last
	word      string // the option that was read last, as the user wrote it
	config    int    // index of the word with the argument of -configfile, 0 if there is none
	reason    string // why the program cannot be replaced, empty if it can
	found     []foundOption
}

// foundOption is an option in a command line, with its arguments.
type foundOption struct {
	name  string // in full, without dashes; of several letters in one word the first
	words []string
}

// whyNot returns why the section's program cannot be replaced, empty if it can.
func (s *section) whyNot() string {
	switch {
	case s.reason != "":
		return s.reason
	case s.at >= len(s.words) || s.words[s.at] == ":":
		return "no program found in the launcher's command line"
	case s.joinsPath():
		return "the launcher looks for " + s.words[s.at] + " below " + s.path
	}
	return ""
}

// joinsPath reports whether the launcher puts its search path in front of a
// relative program name, as Intel MPI does. `mpitrace rank` does not.
func (s *section) joinsPath() bool {
	name := s.words[s.at]
	return s.options == hydraOptions && s.path != "" && strings.Contains(name, "/") && !filepath.IsAbs(name)
}

// parse reads the options in front of the program.
func (s *section) parse() {
	for s.at < len(s.words) {
		word := s.words[s.at]
		if word == "--" {
			s.at++
			return
		}
		if len(word) < 2 || word[0] != '-' {
			return
		}
		begin := s.at
		s.at++
		s.word, _, _ = strings.Cut(word, "=")
		name := s.option(word)
		s.found = append(s.found, foundOption{name, s.words[begin:min(s.at, len(s.words))]})
	}
}

// option reads an option, whose word was passed, and its arguments.
func (s *section) option(word string) string {
	if s.options.long && word[1] != '-' {
		s.letters(word[1:])
		return word[1:2]
	}
	name, value, attached := strings.Cut(strings.TrimLeft(word, "-"), "=")
	name, arity := s.lookup(name, attached)
	if attached {
		s.valueAt = s.at - 1
		s.note(name, value)
		s.at += s.options.arguments(name, arity, value, true)
		return name
	}
	s.take(name, arity)
	return name
}

// take records an option and skips its arguments.
func (s *section) take(name string, arity int) {
	value := ""
	if arity > 0 && s.at < len(s.words) {
		value = s.words[s.at]
	}
	s.valueAt = s.at
	s.note(name, value)
	s.at += s.options.arguments(name, arity, value, false)
}

// note stores the value of an option that sets the working directory, the
// search path or the file with the programs, and the reason if an option hides
// the program. It ignores all others.
func (s *section) note(name, value string) {
	switch {
	case slices.Contains(s.options.wdir, name):
		s.dir = value
	case slices.Contains(s.options.path, name):
		s.path = value
	case name == s.options.config:
		s.config = s.valueAt
	case slices.Contains(s.options.file, name):
		s.reason = "the option " + s.word + " names or copies the programs elsewhere"
	case slices.Contains(s.options.tool, name):
		s.reason = "the option " + s.word + " starts programs under a tool"
	}
}

// lookup returns an option's full name and the number of arguments it takes.
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

// complete returns the long option that prefix abbreviates. It returns "" if
// none or several have this prefix.
func (o *optionArity) complete(prefix string) string {
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

// unknown guesses how many arguments an option takes that the table does not
// have: 0 if the next word is an option or an executable program, else 1.
func (s *section) unknown(name string) int {
	if s.options.arity[name[:1]] == 1 && strings.Trim(name[1:], "0123456789") == "" {
		return 0 // -n4
	}
	if s.at >= len(s.words) {
		return 0
	}
	next := s.words[s.at]
	if strings.HasPrefix(next, "-") {
		return 0
	}
	if _, err := (Invocation{Dir: s.dir, Path: s.path}).lookup(next); err == nil {
		return 0
	}
	return 1
}

// letters parses a word of single-letter options. The argument of the last one
// is attached (-vn4) or is the next word (-vn 4).
func (s *section) letters(word string) {
	for i, letter := range word {
		name := string(letter)
		switch n, known := s.options.arity[name]; {
		case !known:
			return // an optional argument, as in -I60
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

// Rewrite returns the command line with the words of rank in front of each
// program. It adds the search path if the launcher was given one:
//
//	mpirun -n 4 ./app -> mpirun -n 4 mpitrace rank ... -- ./app
//
// If a file holds the programs, the command line names copyPath instead,
// and text is what to write into it. It is an error if the launcher could not
// read that text.
func (c *Command) Rewrite(rank []string, copyPath string) (argv []string, text string, err error) {
	if c.config != nil {
		intel := slices.Equal(c.Launcher.flavours(), []rundir.Flavour{rundir.IntelMPI})
		text, err = c.config.rewrite(c.Programs, rank, !intel)
		argv = slices.Clone(c.Argv)
		option, _, attached := strings.Cut(argv[c.config.arg], "=")
		if argv[c.config.arg] = copyPath; attached && option[0] == '-' {
			argv[c.config.arg] = option + "=" + copyPath
		}
		return argv, text, err
	}
	from := 0
	for _, p := range c.Programs {
		argv = append(argv, c.Argv[from:p.Index]...)
		argv = append(argv, p.recorderWords(rank)...)
		from = p.Index
	}
	return append(argv, c.Argv[from:]...), "", nil
}

// recorderWords returns the words to put in front of the program.
func (i Invocation) recorderWords(rank []string) []string {
	words := slices.Clone(rank)
	if i.Path != "" {
		words = append(words, "--path", i.Path)
	}
	return append(words, "--")
}

// InFile reports whether a file holds the programs, and not Argv.
func (c *Command) InFile() bool { return c.config != nil }

// Name returns a name for the job: the base name of its first program, or of
// the command itself if it has no program.
func (c *Command) Name() string {
	program := c.Argv
	if len(c.Programs) > 0 {
		program = c.Programs[0].Words
	}
	return filepath.Base(profile.ProgramName(program[0], program))
}
