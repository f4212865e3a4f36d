// Package readback reads the files that tests wrote.
package readback

import (
	"github.com/mpitrace/mpitrace/formats"
	"github.com/mpitrace/mpitrace/profile"
)

// Profiles returns all profiles of a file.
func Profiles(path string) (ps []*profile.Profile, err error) {
	err = formats.Files{path}.Each(func(p *profile.Profile) error {
		ps = append(ps, p)
		return nil
	})
	return ps, err
}
