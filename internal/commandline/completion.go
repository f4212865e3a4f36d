package commandline

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// CompleteFlag lets shells complete the value of a flag from words. If the flag
// takes a list, each element after a comma is completed.
func CompleteFlag(cmd *cobra.Command, flag string, words ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := ""
		if f := cmd.Flags().Lookup(flag); f != nil && strings.Contains(typed, ",") {
			before = typed[:strings.LastIndex(typed, ",")+1]
		}
		var found []string
		for _, word := range words {
			if strings.HasPrefix(before+word, typed) {
				found = append(found, before+word)
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // unknown flag, or words were registered twice
	}
}

// CompleteRuns returns a completion of up to most arguments that are run
// directories, for which isRun reports true. It offers other directories too,
// followed by a slash, because they may contain runs.
func CompleteRuns(most int, isRun func(dir string) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		dir, prefix := filepath.Split(typed)
		entries, _ := os.ReadDir(filepath.Clean("./" + dir))
		if filepath.IsAbs(dir) {
			entries, _ = os.ReadDir(dir)
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		var found []string
		for _, e := range entries {
			path := dir + e.Name()
			info, err := os.Stat(path)
			if err != nil || !info.IsDir() || !strings.HasPrefix(e.Name(), prefix) || prefix == "" && e.Name()[0] == '.' {
				continue
			}
			if !isRun(path) {
				path += "/"
				directive |= cobra.ShellCompDirectiveNoSpace
			}
			found = append(found, path)
		}
		return found, directive
	}
}
