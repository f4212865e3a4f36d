package interpose

import (
	_ "embed"
	"strings"
)

//go:embed calls/local.txt
var localText string

//go:embed calls/missing.txt
var missingText string

// localCalls and missingCalls hold the reasons why procedures (named as in
// profile.Calls) are not wrapped. For those in localCalls, profiles miss
// nothing. For those in missingCalls, they miss something that a user must know
// of. A procedure in none of the three is unknown.
var (
	localCalls   = parseReasons(localText)
	missingCalls = parseReasons(missingText)
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
