package profile

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRankSet(t *testing.T) {
	for text, want := range map[string]string{
		"3":             "3",
		"2-4,7":         "2-4,7",
		"7,2-4,3-5,7-7": "2-5,7",
		"8-2000000000":  "8-2000000000",
		"0,1,2":         "0-2",
	} {
		s, err := ParseRankSet(text)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if got, _ := s.MarshalText(); string(got) != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"", ",", "1,", "-", "-1", "4-2", "1-2-3", "a", "0x3", "+1", " 1", "1 - 2"} {
		if s, err := ParseRankSet(text); err == nil || !strings.Contains(err.Error(), "0-15,64") {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	if s, err := ParseRankSet("99999999999"); err == nil || !strings.Contains(err.Error(), "2^31") {
		t.Errorf("%v, %v", s, err)
	}
}

func TestRankSet(t *testing.T) {
	for want, ranks := range map[string][]int{
		"rank 3": {3}, "ranks 0-2, 5": {5, 0, 1, 2}, "ranks 1, 3": {1, 1, 3},
		"ranks 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, ... (13 in all)": {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24},
	} {
		s := RankSetOf(ranks...)
		if got := s.String(); got != want {
			t.Errorf("%v: got %q, want %q", ranks, got, want)
		}
		for rank := range 30 {
			if s.Contains(rank) != slices.Contains(ranks, rank) {
				t.Errorf("%v contains %d: %v", s, rank, s.Contains(rank))
			}
		}
	}
	for _, c := range []struct {
		set  RankSet
		n    int
		want string
	}{{RankSetOf(1, 2, 5), 1 << 31, "0,3-4,6-2147483647"}, {RankSetOf(0, 1), 2, ""}, {nil, 3, "0-2"}, {RankSetOf(2), 3, "0-1"}} {
		if got, _ := c.set.Complement(c.n).MarshalText(); string(got) != c.want {
			t.Errorf("complement of %v in %d is %q, want %q", c.set, c.n, got, c.want)
		}
	}
}

func TestRankSetAsText(t *testing.T) {
	for _, s := range []RankSet{nil, RankSetOf(4), RankSetOf(0, 1, 2, 64)} {
		text, _ := s.MarshalText()
		var back RankSet
		if err := back.UnmarshalText(text); err != nil || back.Compare(s) != 0 {
			t.Errorf("%v became %v, %v", s, back, err)
		}
	}
}
