package mpit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/internal/text"
)

// suggestions is the number of names that an error suggests.
const suggestions = 3

// closest returns names similar to one that does not exist: those that differ
// in few letters, or, if there are none, those that contain it.
func closest(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, n := range names {
		far := text.Distance(lower, strings.ToLower(n))
		switch {
		case far <= min(max(2, len(name)/5), len(name)/3):
			found = append(found, candidate{n, far})
		case lower != "" && strings.Contains(strings.ToLower(n), lower):
			found = append(found, candidate{n, len(name) + far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var out []string
	for _, c := range found[:min(len(found), suggestions)] {
		out = append(out, c.name)
	}
	return out
}
