package source

import (
	"bytes"
	"slices"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

func TestWithProgress(t *testing.T) {
	src := withProgress(new(bytes.Buffer), "reading", profile.List{{Rank: 0}, {Rank: 1}})
	for range 2 {
		var ranks []int
		err := src.Each(func(p *profile.Profile) error { ranks = append(ranks, p.Rank); return nil })
		if err != nil || !slices.Equal(ranks, []int{0, 1}) || src.(*shownSource).total != 2 {
			t.Errorf("ranks %v of %d, %v", ranks, src.(*shownSource).total, err)
		}
	}
}
