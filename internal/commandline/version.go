package commandline

import (
	"runtime"
	"runtime/debug"

	"github.com/mpitrace/mpitrace/interpose/layout"
)

// Platform returns the version and the platform that the commands were built
// for, such as "1.0 linux/amd64".
func Platform() string { return Version() + " " + runtime.GOOS + "/" + runtime.GOARCH }

// Version returns the version, followed by the revision of the source if that
// is known.
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
