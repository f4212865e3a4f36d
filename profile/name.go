package profile

import (
	"path"
	"slices"
	"strings"
)

// Name returns the path of the program for messages. For a Python interpreter
// it returns the path of the script or the name of the module.
func (p *Profile) Name() string { return ProgramName(p.Program, p.Command) }

// LibraryLine returns the first line of the MPI library's version string.
func (p *Profile) LibraryLine() string {
	line, _, _ := strings.Cut(strings.TrimSpace(p.Library), "\n")
	return strings.Join(strings.Fields(line), " ")
}

// LibraryName returns the name and version of an MPI library, without the package, ident
// and date of Open MPI.
func LibraryName(line string) string {
	if strings.HasPrefix(line, "Open MPI") {
		line, _, _ = strings.Cut(line, ",")
	}
	return line
}

// ProgramName returns the name that Name returns, from the path of an
// executable and its arguments. command[0] is the executable's name.
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

// pythonScript returns the script or module that Python's arguments name, or
// "". mpi4py is skipped: `-m mpi4py script.py` runs script.py.
func pythonScript(args []string) string {
	// Options whose argument is the next word.
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
