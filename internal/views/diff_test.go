package views_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

func TestDiffText(t *testing.T) {
	for name, o := range map[string]views.DiffView{"diff.txt": {Top: -1}, "diff_short.txt": {Top: 1, IgnoreTime: true}} {
		how := Options{Width: 110, ASCII: o.IgnoreTime}
		a, b := jobs.Fixture(), jobs.Changed()
		for i := range 2 {
			a, b = append(a, jobs.Moved(i, 0)), append(b, jobs.Moved(i, 3))
			a[4+i].Rank, b[4+i].Rank = 4+i, 4+i
		}
		d := aggregate.Compare(comparedOf(t, a), comparedOf(t, b[:5]), aggregate.DiffOptions{Pairs: o.Top, IgnoreTime: o.IgnoreTime})
		d.Judge(aggregate.Limits{aggregate.InTime: 20, aggregate.InBytes: 0})
		o.NameA, o.NameB = "before", "after"
		var text bytes.Buffer
		if err := write(&text, views.Diff(d, o), how); err != nil {
			t.Fatal(err)
		}
		golden(t, name, text.Bytes())
		for line := range strings.Lines(text.String()) {
			if n := utf8.RuneCountInString(line); n > how.Width+1 && !strings.Contains(line, "add up") || strings.HasSuffix(line, " \n") {
				t.Errorf("%s: %d columns: %q", name, n, line)
			}
		}
	}
}

func TestDiffTextIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\r\a\u202e\xff\u0085"
	b := jobs.Changed()
	for _, p := range b {
		p.Program, p.Library, p.Command = "/"+evil, evil, []string{evil}
		p.Comms[0].Name = evil
		p.Rows[2].Call = evil
	}
	d := aggregate.Compare(comparedOf(t, jobs.Fixture()), comparedOf(t, b), aggregate.DiffOptions{Pairs: -1})
	d.Judge(aggregate.Limits{aggregate.InBytes: 0})
	var text bytes.Buffer
	if err := write(&text, views.Diff(d, views.DiffView{Top: -1, NameA: evil, NameB: evil}), Options{}); err != nil {
		t.Fatal(err)
	}
	for i, c := range text.String() {
		if c < ' ' && c != '\n' || c == '\u202e' || c == '\u0085' || c == utf8.RuneError {
			t.Fatalf("%q at %d of %q", c, i, text.String())
		}
	}
	if strings.Count(text.String(), `\x1b[2J\r\a\u202e\xff\u0085`) < 6 {
		t.Errorf("not all of the texts are there in their escaped form:\n%s", text.String())
	}
}

func TestDiffOfEfficiency(t *testing.T) {
	sampled := func(wrong uint64, useful ...uint64) []*profile.Profile {
		ps := jobs.Computing(useful...)
		for _, p := range ps {
			p.Timing, p.Rows[1].TimeErrorNs = profile.TimingSampled, wrong
		}
		return ps
	}
	unfinished := jobs.Computing(6, 10)
	unfinished[0].State, unfinished[1].State = profile.Running, profile.Running
	for name, c := range map[string]struct {
		b    []*profile.Profile
		want string
	}{
		"better":        {jobs.Computing(9, 9), "66.7 % 75.0 % +8.3 points"},
		"worse":         {jobs.Computing(6, 6), "66.7 % 50.0 % -16.7 points"},
		"equal":         {jobs.Computing(8, 8), "66.7 % 66.7 % –"},
		"not known":     {unfinished, "66.7 % – –"},
		"within reason": {sampled(600*jobs.MS, 9, 9), "66.7 % 75.0 % ±3.6 +8.3 points"},        // √2 × 0.6 / 2 / 12 = 3.54 %
		"chance":        {sampled(720*jobs.MS, 9, 9), "66.7 % 75.0 % ±4.3 – within its error"}, // 4.24 %: twice this is more than 8.33 %
	} {
		var b bytes.Buffer
		d := aggregate.Compare(comparedOf(t, jobs.Computing(6, 10)), comparedOf(t, c.b), aggregate.DiffOptions{})
		if err := write(&b, views.Diff(d, views.DiffView{Top: -1}), Options{}); err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(b.String(), "parallel efficiency")
		line, _, _ := strings.Cut(rest, "\n")
		if got := strings.Join(strings.Fields(line), " "); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func comparedOf(t *testing.T, ps []*profile.Profile) *aggregate.ComparedJob {
	t.Helper()
	profile.Unify(ps)
	c, err := aggregate.OfCompared(profile.List(ps), aggregate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// diffOf returns the text of a comparison, with all lines.
func diffOf(t *testing.T, a, b *aggregate.ComparedJob) string {
	t.Helper()
	var text strings.Builder
	d := aggregate.Compare(a, b, aggregate.DiffOptions{Pairs: -1})
	if err := write(&text, views.Diff(d, views.DiffView{Top: -1, NameA: "a", NameB: "b"}), Options{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestDiffOfEstimates(t *testing.T) {
	later := func(more uint64) *aggregate.ComparedJob {
		ps := jobs.Sampled()
		for i := range ps[0].Rows {
			if r := &ps[0].Rows[i]; r.Call == "Send" {
				r.TimeNs += more
			}
		}
		return comparedOf(t, ps)
	}
	for name, c := range map[string]struct {
		a, b *aggregate.ComparedJob
		want []string
		not  []string
	}{
		"within the error": {comparedOf(t, jobs.Sampled()), later(20 * jobs.MS), []string{
			"--timing sampled: times are estimates, and no difference within 2 standard errors is one",
			"in MPI                    2.20 s       2.22 s       –  within its error",
			"parallel efficiency  72.5 % ±0.2  72.2 % ±0.2       –  within its error",
			"Send           time     1.00 s  1.02 s  +20.0 ms ±8.5    +2.0 %"}, nil},
		"sampled and exact": {comparedOf(t, jobs.Fixture()), later(50 * jobs.MS), []string{
			"--timing exact in A, sampled in B: times are estimates", "+50.0 ms ±10.0", "+50.0 ms ±6.0"}, nil},
		"off": {comparedOf(t, jobs.Fixture()), comparedOf(t, jobs.Untimed()), []string{
			"--timing exact in A, off in B: times of calls are not compared",
			"--receives on in A, off in B: what nonblocking receives received is not compared",
			"application", "nothing changed in bytes and messages"}, []string{"in MPI", "Init and Finalize", "Send"}},
	} {
		got := diffOf(t, c.a, c.b)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		for _, not := range c.not {
			if strings.Contains(got, not) {
				t.Errorf("%s: %q in\n%s", name, not, got)
			}
		}
	}
}

func TestDiffOfWatched(t *testing.T) {
	changed := jobs.Watched()
	changed[3].Late = append(changed[3].Late, changed[3].Late[0])
	for i := range changed[0].Readings {
		if r := &changed[0].Readings[i]; r.Moment == profile.ReadAtFinalize && r.Values[0] == 150 {
			r.Values[0] = 180
		}
	}
	golden(t, "diff_watched.txt", []byte(diffOf(t, comparedOf(t, jobs.Watched()), comparedOf(t, changed))))
	for _, p := range changed {
		p.Settings = nil
	}
	got := diffOf(t, comparedOf(t, jobs.Watched()), comparedOf(t, changed))
	if want := "--watch-unexpected 10 in A, off in B: late receives are not compared\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
}

func TestDiffOfTheSame(t *testing.T) {
	got := diffOf(t, comparedOf(t, jobs.Fixture()), comparedOf(t, jobs.Fixture()))
	if !strings.HasSuffix(got, "\nnothing changed in bytes and messages\n") {
		t.Error(got)
	}
}

func TestDiffOfSettings(t *testing.T) {
	value := func(s string) *string { return &s }
	d := &aggregate.Diff{Settings: []aggregate.SettingChange{{Name: "watch-unexpected", A: value("9")}},
		Variables: []aggregate.SettingChange{{Name: "UCX_TLS", B: value("self")}, {Name: "btl_eager_limit", A: value("4096"), B: value("8192")}, {Name: "no_such", A: value("1")}}}
	var got strings.Builder
	if err := write(&got, views.Diff(d, views.DiffView{Top: 2}), Options{}); err != nil {
		t.Fatal(err)
	}
	const want = "setting watch-unexpected: 9 in A, default in B\n" +
		"MPI variable UCX_TLS: not set in A, self in B\nMPI variable btl_eager_limit: 4096 in A, 8192 in B\nand 1 more MPI variable\n"
	if !strings.Contains(got.String(), want) {
		t.Errorf("no\n%sin\n%s", want, &got)
	}
}

// TestDiffOfLargeNumbers requires all digits of numbers above 2^53, and of their difference.
func TestDiffOfLargeNumbers(t *testing.T) {
	const b = 1<<53 + 3
	a := b - 2 // the nearest floating-point numbers differ by 4
	of := func(n uint64) []*profile.Profile {
		list := jobs.Fixture()
		list[0].Rows[0].Messages += n
		return list
	}
	d := aggregate.Compare(comparedOf(t, of(uint64(a))), comparedOf(t, of(b)), aggregate.DiffOptions{Pairs: -1})
	var text bytes.Buffer
	if err := write(&text, views.Diff(d, views.DiffView{Top: -1}), Options{}); err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^messages sent .* \+2 `).FindAllString(text.String(), -1)
	if len(rows) != 1 {
		t.Errorf("no row with a difference of 2:\n%s", text.String())
	}
}
