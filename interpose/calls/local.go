package calls

import (
	_ "embed"
	"strings"
)

//go:embed local.txt
var localText string

//go:embed missing.txt
var missingText string

// Local and Missing hold the reasons why procedures (named as in Table) are not
// wrapped. For those in Local, profiles miss nothing. For those in Missing,
// they miss something that a user must know of. A procedure in none of the
// three is unknown.
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
