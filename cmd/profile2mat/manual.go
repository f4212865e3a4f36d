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
		commandline.WriteCommand(&m, cmd)
		return m.Bytes()
	}
	p := commandline.NewManualPage(cmd, cmd)
	p.Section("Options")
	p.List("flag", commandline.Flags(cmd))
	p.Section("Exit status")
	p.List("status", [][2]string{
		{"0", "All is well."},
		{"1", "A failure, such as damaged input or a full disk."},
		{"2", "The command line names what does not exist or cannot be used; nothing was written."},
	})
	p.Section("Examples")
	p.Prose(cmd.Example)
	p.SeeAlso("mpitrace")
	return p.Bytes()
}
