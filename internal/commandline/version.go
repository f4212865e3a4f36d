package commandline

import (
	"runtime"
	"runtime/debug"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Platform is the version of the commands and what they were built for.
func Platform() string { return Version() + " " + runtime.GOOS + "/" + runtime.GOARCH }

// Version is the version, with the revision of the source if that is
// known.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return layout.ToolVersion
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return layout.ToolVersion + " (" + s.Value[:12] + ")"
		}
	}
	return layout.ToolVersion
}
