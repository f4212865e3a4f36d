package views

import (
	"cmp"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/text"
)

// nextCommand is a command that shows more of a run.
type nextCommand struct {
	Shows string `json:"shows"`
	Line  string `json:"command"`
}

// Columns of the path of a run and of a command, in a line with others.
const (
	shortPath    = 40
	shortCommand = 48
)

// next returns the commands that show more of a job: at most three.
func next(s *aggregate.Summary, o Options) []nextCommand {
	run := cmp.Or(shellWord(o.Path), "RUN")
	list := []nextCommand{{"everything", "mpitrace report --full " + run}}
	if o.Files {
		return list
	}
	switch {
	case o.Traced != nil || o.Unanalyzed:
		list = append(list, nextCommand{"why ranks wait", "mpitrace analyze " + run})
	case findings.WaitsUnknown(s, o.Traced):
		list = append(list, nextCommand{"why ranks wait", "mpitrace run --trace -- " + cmp.Or(commandLine(o), "COMMAND")})
	}
	return append(list, nextCommand{"the page in a browser", "mpitrace view " + run})
}

// shellWord returns a word as a shell needs it. It returns "" if the word is too long for a line, or has
// characters that a terminal would not show as they are.
func shellWord(word string) string {
	quoted := text.ShellQuote(word)
	if word == "" || text.Line(word) != word || text.Columns(text.ASCII(quoted)) > shortPath {
		return ""
	}
	return quoted
}

// commandLine returns the command that was recorded; empty if it is not known or too long.
func commandLine(o Options) string {
	if o.Info == nil {
		return ""
	}
	var words []string
	for _, word := range o.Info.Command {
		quoted := shellWord(word)
		if quoted == "" {
			return ""
		}
		words = append(words, quoted)
	}
	line := strings.Join(words, " ")
	if text.Columns(line) > shortCommand {
		return ""
	}
	return line
}
