package perfetto

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// ns parses a time of the file as an importer does, and returns ns.
func ns(t *testing.T, text string) int64 {
	t.Helper()
	whole, rest, _ := strings.Cut(text, ".")
	v, err := strconv.ParseInt(whole+(rest + "000")[:3], 10, 64)
	if err != nil || len(rest) > 3 {
		t.Fatalf("time %q", text)
	}
	return v
}

// inOrder returns the events in the order of Perfetto's importer: by time; at
// the same time, slices first, the longest before the others.
func (f file) inOrder(t *testing.T) file {
	t.Helper()
	all := slices.Clone(f.TraceEvents)
	all = slices.DeleteFunc(all, func(e event) bool { return e.Ph == "M" })
	length := func(e event) int64 {
		if e.Ph == "X" {
			return ns(t, e.Dur.String())
		}
		return 0
	}
	slices.SortStableFunc(all, func(a, b event) int {
		return cmp.Or(cmp.Compare(ns(t, a.Ts.String()), ns(t, b.Ts.String())), cmp.Compare(length(b), length(a)))
	})
	return file{all, f.OtherData}
}

// arrows returns the slices in which each message begins and ends, as
// Perfetto's importer finds them. It fails the test on anything that the
// importer would complain about.
func arrows(t *testing.T, f file) (out [][2]event) {
	t.Helper()
	open, from := map[int][]event{}, map[int]event{}
	end := func(e event) int64 { return ns(t, e.Ts.String()) + ns(t, e.Dur.String()) }
	for _, e := range f.inOrder(t).TraceEvents {
		stack := open[e.Tid]
		switch e.Ph {
		case "X":
			at := ns(t, e.Ts.String())
			for n := len(stack); n > 0 && (end(stack[n-1]) < at || end(stack[n-1]) == at && (stack[n-1].Dur != "0" || e.Dur != "0")); n-- {
				stack = stack[:n-1]
			}
			if n := len(stack); n > 0 && end(e) > end(stack[n-1]) {
				t.Errorf("%+v overlaps %+v, so Perfetto would drop it", e, stack[n-1])
			}
			open[e.Tid] = append(stack, e)
		case "s", "f":
			if len(stack) == 0 {
				t.Fatalf("%+v is not in any slice", e)
			}
			if e.Ph == "s" {
				from[e.ID] = stack[len(stack)-1]
				continue
			}
			if _, ok := from[e.ID]; !ok || e.Bp != "e" {
				t.Fatalf("%+v ends before it starts", e)
			}
			out = append(out, [2]event{from[e.ID], stack[len(stack)-1]})
		}
	}
	return out
}

// checkFile requires what is true of all files: slices nest, arrows have two
// ends, each track has its own number, and counters are never below 0, end at
// 0, and have one value at a time.
func checkFile(t *testing.T, f file) {
	t.Helper()
	if got := uint64(len(arrows(t, f))); got != f.OtherData.Arrows || got != uint64(len(f.of("s"))) {
		t.Errorf("got %d arrows, metadata says %d, %d starts", got, f.OtherData.Arrows, len(f.of("s")))
	}
	pids, last := map[int]int{}, map[string]string{}
	for _, e := range f.inOrder(t).TraceEvents {
		if pid, known := pids[e.Tid]; known && pid != e.Pid || e.Tid <= 0 || e.Pid <= 0 {
			t.Fatalf("thread %d belongs to processes %d and %d", e.Tid, pid, e.Pid)
		}
		pids[e.Tid] = e.Pid
		if e.Ph == "C" {
			v := e.Args["bytes"].(interface{ String() string }).String()
			if strings.HasPrefix(v, "-") {
				t.Errorf("%+v", e)
			}
			last[e.Name+strconv.Itoa(e.Pid)] = v
		}
	}
	at := map[string]int64{}
	for _, e := range f.of("C") {
		name, ts := e.Name+strconv.Itoa(e.Pid), ns(t, e.Ts.String())
		if earlier, known := at[name]; known && ts <= earlier {
			t.Errorf("%+v comes after a sample at %d ns", e, earlier)
		}
		at[name] = ts
	}
	for name, v := range last {
		if v != "0" {
			t.Errorf("counter %s ends at %s", name, v)
		}
	}
}
