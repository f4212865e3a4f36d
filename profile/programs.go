package profile

import (
	"path/filepath"
	"slices"
)

// BuildID returns the build-id of the executable, empty if it is not known.
func (p *Profile) BuildID() string {
	if p.Program == "" {
		return ""
	}
	for _, same := range []func(path string) bool{
		func(path string) bool { return path == p.Program },
		func(path string) bool { return filepath.Base(path) == filepath.Base(p.Program) },
	} {
		if i := slices.IndexFunc(p.Modules, func(m Module) bool { return m.BuildID != "" && same(m.Path) }); i >= 0 {
			return p.Modules[i].BuildID
		}
	}
	return ""
}
