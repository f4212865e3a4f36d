package main

import (
	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/commandline"
)

// manual returns the manual page docs/profile2mat.1, or for form "markdown" the
// end of docs/commands.md. `make generate` writes both, from the help.
func manual(cmd *cobra.Command, form string) []byte {
	if form == "markdown" {
		var m commandline.Markdown
		m.Command(cmd)
		return m.Bytes()
	}
	p := commandline.NewPage(cmd.Name(), cmd.Short)
	p.Section("SYNOPSIS")
	p.Line("\\fB" + cmd.Name() + "\\fR [flags] PATH...")
	p.Section("DESCRIPTION")
	p.Prose(cmd.Long)
	p.Section("OPTIONS")
	p.Flags(cmd)
	p.Section("EXIT STATUS")
	for _, s := range []struct{ code, means string }{
		{"0", "All is well."},
		{"1", "A failure, such as damaged input or a full disk."},
		{"2", "The command line names what does not exist or cannot be used; nothing was written."},
	} {
		p.Line(".TP\n.B " + s.code + "\n" + commandline.Roff(s.means))
	}
	p.Section("EXAMPLES")
	p.Prose(cmd.Example)
	p.Section("SEE ALSO")
	p.Line(".BR mpitrace (1)")
	return p.Bytes()
}
