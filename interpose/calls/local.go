package calls

import (
	_ "embed"
	"strings"
)

//go:embed local.txt
var localText string

// Local gives the reason why a function (without MPI_) is deliberately not
// wrapped; a function that is neither there nor in Table is unknown.
var Local = parseLocal(localText)

func parseLocal(text string) map[string]string {
	local := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		reason, names, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			local[name] = reason
		}
	}
	return local
}
