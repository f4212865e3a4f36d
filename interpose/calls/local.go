package calls

import (
	_ "embed"
	"strings"
)

//go:embed local.txt
var localText string

//go:embed missing.txt
var missingText string

// Local gives the reason why a procedure (named as in Table) is not wrapped
// although nothing is lost; Missing, why one is not that a user must know of.
// What is in neither nor in Table is unknown.
var (
	Local   = parseReasons(localText)
	Missing = parseReasons(missingText)
)

func parseReasons(text string) map[string]string {
	reasons := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		reason, names, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		for _, name := range strings.Fields(names) {
			reasons[name] = reason
		}
	}
	return reasons
}
