package text

import "testing"

func TestProgramList(t *testing.T) {
	for _, c := range []struct {
		list                  ProgramList
		counted, onRanks, all string
	}{
		{nil, "", "", ""},
		{ProgramList{{"a", 4}}, "a", "a on 4 ranks", "a"},
		{ProgramList{{"a", 3}, {"b", 1}}, "a (3 ranks) and b (1 rank)", "a on 3 ranks and b on 1", "a and b"},
		{ProgramList{{"a", 1}, {"b", 2000}, {"c", 3}}, "a (1 rank), b (2,000 ranks) and c (3 ranks)", "a on 1 rank, b on 2,000 and c on 3", "a, b and c"},
		{ProgramList{{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}}, "a (1 rank), b (2 ranks), c (3 ranks) and 2 more", "a on 1 rank, b on 2, c on 3 and 2 more", "a, b, c and 2 more"},
	} {
		if counted, onRanks, all := c.list.String(), c.list.OnRanks(), c.list.Names(); counted != c.counted || onRanks != c.onRanks || all != c.all {
			t.Errorf("%q, %q, %q, want %q, %q, %q", counted, onRanks, all, c.counted, c.onRanks, c.all)
		}
	}
}
