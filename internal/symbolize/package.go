package symbolize

import (
	"bytes"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/internal/atomicfile"
)

// dpkgLists are Debian's lists of the files of installed packages, one path a line.
const dpkgLists = "/var/lib/dpkg/info/*.list"

// maxList is the size of the largest list that is read, in bytes.
const maxList = 16 << 20

// DebugPackage returns the name of Debian's package with the debug file of a program or library:
// that of the package that installed it, and -dbgsym. It returns "" if no package did.
func DebugPackage(path string) string { return debugPackage(path, dpkgLists) }

func debugPackage(path, lists string) string {
	wanted := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		wanted = append(wanted, real)
	}
	for _, name := range wanted { // a merged /usr
		wanted = append(wanted, strings.TrimPrefix(name, "/usr"))
	}
	files, _ := filepath.Glob(lists) // the pattern is well formed
	for _, file := range files {
		text, err := atomicfile.Read(file, maxList)
		if err != nil {
			continue
		}
		for _, name := range wanted {
			if bytes.Contains(text, []byte("\n"+name+"\n")) {
				owner, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".list"), ":")
				return owner + "-dbgsym"
			}
		}
	}
	return ""
}
