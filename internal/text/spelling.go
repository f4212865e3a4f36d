package text

import (
	"cmp"
	"slices"
	"strings"
)

// Distance returns the Levenshtein distance of two texts: how many bytes must
// be inserted, removed or replaced to make one text of the other.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// suggestions is the number of names that an error suggests.
const suggestions = 3

// Closest returns names that are similar to a name that does not exist: those that differ in few
// letters or, if there are none, those that contain it.
func Closest(name string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	lower := strings.ToLower(name)
	for _, n := range names {
		far := Distance(lower, strings.ToLower(n))
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
