package profile

import (
	"path"
	"slices"
	"strings"
)

// Name returns the path of the program for people: of a Python interpreter that of
// the script or the name of the module that it runs.
func (p *Profile) Name() string { return ProgramName(p.Program, p.Command) }

// LibraryLine returns the first line of what the MPI library says that it is.
func (p *Profile) LibraryLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(p.Library), "\n")
	return strings.Join(strings.Fields(line), " ")
}

// ProgramName is Name for the path of an executable and its command line, which
// begins with the executable's name.
func ProgramName(program string, command []string) string {
	version := strings.TrimPrefix(path.Base(program), "python")
	if version == path.Base(program) || strings.Trim(version, "0123456789.") != "" || len(command) == 0 {
		return program
	}
	if script := pythonScript(command[1:]); script != "" {
		return script
	}
	return program
}

// pythonScript returns what Python's arguments name, or "". mpi4py is looked
// through: `-m mpi4py script.py` runs script.py.
func pythonScript(args []string) string {
	// Options with an argument of their own in the next word.
	withArgument := []string{"-W", "-X", "--check-hash-based-pycs"}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-m" && i+1 < len(args):
			module := args[i+1]
			if module == "mpi4py" || module == "mpi4py.run" {
				i++
				continue
			}
			return module
		case arg == "-c" || arg == "-" || arg == "-m":
			return ""
		case slices.Contains(withArgument, arg):
			i++
		case !strings.HasPrefix(arg, "-"):
			return arg
		}
	}
	return ""
}
