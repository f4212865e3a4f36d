package commandline

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// HelpPage is a page of the documentation: Markdown, or a manual page. All texts are
// plain, in which indented lines are verbatim.
type HelpPage interface {
	// Section starts a section.
	Section(title string)
	// Command starts the description of a command.
	Command(path, use string)
	// Setting describes a setting.
	Setting(name, syntax, text string)
	// Prose writes paragraphs, and indented lines verbatim.
	Prose(text string)
	// List writes names and what each means. kind says what the names are.
	List(kind string, rows [][2]string)
}

// WriteCommand writes the help of a command: description, flags and examples.
func WriteCommand(p HelpPage, c *cobra.Command) {
	p.Command(c.CommandPath(), c.UseLine())
	p.Prose(cmp.Or(c.Long, c.Short+"."))
	p.List("flag", Flags(c))
	p.Prose("Examples:\n\n" + c.Example)
}

// Flags returns the synopsis (-f, --flag VALUE) and the use of each flag that is
// not hidden, without --help.
func Flags(c *cobra.Command) (rows [][2]string) {
	c.LocalFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Name == "help" || flag.Hidden {
			return
		}
		name := "--" + flag.Name
		if flag.Shorthand != "" {
			name = "-" + flag.Shorthand + ", " + name
		}
		argument, use := pflag.UnquoteUsage(flag)
		rows = append(rows, [2]string{strings.TrimSpace(name + " " + argument), use})
	})
	return rows
}
