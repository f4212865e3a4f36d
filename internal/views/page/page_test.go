package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/synth"
)

// jobOf returns the job of a source, with the details of pairs.
func jobOf(t *testing.T, src profile.Source) *aggregate.Job {
	t.Helper()
	j, err := aggregate.Of(src, aggregate.Options{PairDetails: MostPairs})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// reportOf returns the page of a job.
func reportOf(t *testing.T, src profile.Source) *Page {
	t.Helper()
	j := jobOf(t, src)
	p := NewReport(Made{Version: "test"}, nil, nil)
	p.AddJob(j, j.Summary(), views.Options{})
	return p
}

// cells returns the entries of a sheet by line.
func (s *MatrixData) cells() map[[2]int]synth.Volume {
	out := map[[2]int]synth.Volume{}
	k := 0
	for row, n := range s.Entries {
		column := row
		for range n {
			column += s.Columns[k]
			out[[2]int{row, column}] = synth.Volume{Bytes: uint64(s.Bytes[k]), Messages: uint64(s.Messages[k])}
			k++
		}
	}
	return out
}

func sheet(t *testing.T, p *Page, class, unit string) *MatrixData {
	t.Helper()
	for i := range p.Jobs[0].Matrices {
		if s := &p.Jobs[0].Matrices[i]; s.Class == class && s.Unit == unit {
			return s
		}
	}
	t.Fatalf("no sheet of %s by %s", class, unit)
	return nil
}

// TestExactPairs compares a small job with the formulas of its pattern.
func TestExactPairs(t *testing.T) {
	j := synth.NewStencil(100)
	s := sheet(t, reportOf(t, j), "point-to-point", "rank")
	if s.Block != 1 || s.Lines != 100 || s.Ranks != 100 {
		t.Fatalf("%d lines of %d of %d ranks", s.Lines, s.Block, s.Ranks)
	}
	got := s.cells()
	for from := range 100 {
		for to := range 100 {
			if want := j.P2P(from, to); got[[2]int{from, to}] != want {
				t.Errorf("%d to %d: %+v, want %+v", from, to, got[[2]int{from, to}], want)
			}
		}
	}
}

// TestBlocks checks that a job with too many pairs has exact sums of blocks and of
// nodes.
func TestBlocks(t *testing.T) {
	const ranks, perNode = 1000, 48
	j := synth.New("alltoall", ranks)
	j.PerNode = perNode
	j.Collectives = []synth.Collective{{Call: synth.Alltoall, On: synth.World, Times: 10, Bytes: 2048}}
	p := reportOf(t, j)
	for _, test := range []struct {
		unit         string
		block, lines int
	}{{"rank", 2, 500}, {"node", perNode, 21}} {
		s := sheet(t, p, "collectives", test.unit)
		if s.Lines != test.lines || test.unit == "rank" && s.Block != test.block {
			t.Fatalf("%s: %d lines of %d", test.unit, s.Lines, s.Block)
		}
		size := func(line int) uint64 { return uint64(min(test.block, ranks-line*test.block)) }
		got := s.cells()
		if len(got) != test.lines*test.lines {
			t.Errorf("%s: %d entries", test.unit, len(got))
		}
		for at, v := range got {
			pairs := size(at[0]) * size(at[1])
			if at[0] == at[1] {
				pairs -= size(at[0]) // nothing to themselves
			}
			if want := (synth.Volume{Bytes: 10 * 2048 * pairs, Messages: 10 * pairs}); v != want {
				t.Errorf("%s %v: %+v, want %+v", test.unit, at, v, want)
			}
		}
	}
}

// TestPairs checks that the details of a pair add up to its entry.
func TestPairs(t *testing.T) {
	j := synth.NewRing(8)
	j.Phases = 3
	p := reportOf(t, j).Jobs[0].Pairs
	if want := []string{"phase 1", "phase 2", "phase 3"}; !cmp.Equal(p.Slices, want) || !cmp.Equal(p.Calls, []string{"Sendrecv"}) {
		t.Errorf("slices %q, calls %q", p.Slices, p.Calls)
	}
	sums := map[[2]int]synth.Volume{}
	for i, from := range p.From {
		at := [2]int{from, p.To[i]}
		sums[at] = synth.Volume{Bytes: sums[at].Bytes + uint64(p.Bytes[i]), Messages: sums[at].Messages + uint64(p.Messages[i])}
		if p.SizeClass[i] != 13 { // 4096 = 2^12
			t.Errorf("size class %d", p.SizeClass[i])
		}
	}
	for from := range 8 {
		to := (from + 1) % 8
		if got := sums[[2]int{from, to}]; got != j.P2P(from, to) || got.Messages != 150 {
			t.Errorf("%d to %d: %+v", from, to, got)
		}
	}
	if len(sums) != 8 {
		t.Errorf("%d pairs", len(sums))
	}
}

// TestManyPairs checks that there are no details of more than MostPairs pairs.
func TestManyPairs(t *testing.T) {
	for ranks, want := range map[int]bool{MostPairs: true, MostPairs + 1: false} {
		if got := reportOf(t, synth.NewRing(ranks)).Jobs[0].Pairs; (got != nil) != want {
			t.Errorf("%d pairs have details: %v", ranks, got != nil)
		}
	}
}

// TestRanks checks the columns of a job and that blocks of ranks are means.
func TestRanks(t *testing.T) {
	for _, ranks := range []int{64, maxRanks + 1} {
		j := synth.New("idle", ranks)
		job := jobOf(t, j)
		s := job.Summary()
		hosts, hostOf := job.Hosts()
		r := ranksOf(s, hosts, hostOf, nil)
		block := 1
		if ranks > maxRanks {
			block = 2
		}
		if n := (ranks + block - 1) / block; r.Block != block || len(r.Rank) != n || len(r.Useful) != n || len(r.Activities) != int(profile.NumActivities) {
			t.Fatalf("%d entries of %d of %d ranks", len(r.Rank), r.Block, ranks)
		}
		for i := range r.Rank {
			if r.Rank[i] != i*block || r.Hosts[r.Host[i]] != s.Ranks[i*block].Host {
				t.Fatalf("entry %d is rank %d on %s", i, r.Rank[i], r.Hosts[r.Host[i]])
			}
		}
		if r.Waits != nil {
			t.Error("waits without a trace")
		}
	}
}

// embedded returns the JSON in a page.
func embedded(t *testing.T, page []byte) map[string]any {
	t.Helper()
	found := regexp.MustCompile(`<script[^>]*id="data"[^>]*>([^<]*)</script>`).FindSubmatch(page)
	if found == nil {
		t.Fatal("no data in the page")
	}
	zipped, err := base64.StdEncoding.DecodeString(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestWrite checks that the data in the file are those of the page, that hostile names stay
// text, and that the page refers to nothing outside of it.
func TestWrite(t *testing.T) {
	const hostile = `</script><script>alert(1)</script>{{.Script}}`
	j := synth.NewRing(4)
	j.Name = hostile
	p := reportOf(t, j)
	var out bytes.Buffer
	if err := Write(&out, p); err != nil {
		t.Fatal(err)
	}
	data := embedded(t, out.Bytes())
	job := data["jobs"].([]any)[0].(map[string]any)
	if sections, _ := json.Marshal(job["sections"]); job["title"] != "script>{{.Script}} --ranks 4" || !strings.Contains(string(sections), "on 4 of 4 ranks, ") {
		t.Errorf("title %v, sections %.300s", job["title"], sections)
	}
	if strings.Contains(out.String(), "alert(1)</script>") {
		t.Error("the name of the program is markup")
	}
	if n := strings.Count(out.String(), "<script"); n != 2 {
		t.Errorf("%d scripts", n)
	}
	if found := regexp.MustCompile(`(src|href)="(https?:|//)[^"]*`).FindAllString(out.String(), -1); found != nil {
		t.Errorf("refers to %q", found)
	}
}

// TestLargeAmounts checks that numbers above 2^53 stay exact.
func TestLargeAmounts(t *testing.T) {
	for value, want := range map[amount]string{0: "0", 1 << 53: "9007199254740992", 1<<53 + 1: `"9007199254740993"`, 1<<64 - 1: `"18446744073709551615"`} {
		text, err := json.Marshal(value)
		if err != nil || string(text) != want {
			t.Errorf("%d: %s, %v", uint64(value), text, err)
		}
		var back amount
		if err := json.Unmarshal(text, &back); err != nil || back != value {
			t.Errorf("%s is read as %d, %v", text, uint64(back), err)
		}
	}
}

// TestScripts bounds the lines of the hand-written script and their length, and checks that
// only live.js, which only served pages have, asks a server, and that no name is declared
// twice: the files share one scope, in which a second function replaces the first.
func TestScripts(t *testing.T) {
	const most, mostApart, mostWide = 2500, 300, 120
	forbidden := []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "XMLHttpRequest", "WebSocket", "EventSource", "sendBeacon", "importScripts"}
	files, err := fs.Glob(app, "app/*.js")
	if err != nil {
		t.Fatal(err)
	}
	declaration := regexp.MustCompile(`(?m)^(?:async )?(?:function\*?|const|let|class) ([\w$]+)`)
	declaredIn := map[string]string{} // file by name
	lines := 0
	for _, name := range files {
		name = path.Base(name)
		text := file(name)
		for _, found := range declaration.FindAllStringSubmatch(text, -1) {
			if other, ok := declaredIn[found[1]]; ok {
				t.Errorf("%s is declared in %s and in %s", found[1], other, name)
			}
			declaredIn[found[1]] = name
		}
		n := codeLines(text)
		if !slices.Contains([]string{"live.js", "history.js", "placement.js"}, name) {
			lines += n
		} else if n > mostApart {
			t.Errorf("%s: %d lines, %d at most", name, n, mostApart)
		}
		if long := longLines(text, mostWide); len(long) > 0 {
			t.Errorf("%s: lines %v have more than %d characters", name, long, mostWide)
		}
		for _, word := range forbidden {
			if strings.Contains(text, word) {
				t.Errorf("%s uses %s", name, word)
			}
		}
		if strings.Contains(text, "fetch(") && name != "live.js" {
			t.Errorf("%s asks a server", name)
		}
	}
	if lines > most {
		t.Errorf("%d lines, %d at most", lines, most)
	}
	if strings.Contains(script(false), "fetch(") || !strings.Contains(script(true), "fetch(") {
		t.Error("served pages, and no others, ask a server")
	}
	if strings.Contains(script(true), "</script") || strings.Contains(fmt.Sprint(file("style.css")), "</style") {
		t.Error("the script or the style ends its element")
	}
}

// codeLines returns the number of lines that are neither empty nor only a comment.
func codeLines(script string) int {
	n := 0
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

// longLines returns the numbers of the lines that are longer than a number of characters.
func longLines(script string, most int) []int {
	var long []int
	for i, line := range strings.Split(script, "\n") {
		if utf8.RuneCountInString(line) > most {
			long = append(long, i+1)
		}
	}
	return long
}

// TestTitle requires a title without characters that could make a tab of the browser, or a
// list of files, show something else.
func TestTitle(t *testing.T) {
	p := profile.Profile{Program: "/opt/\u202exe\x1b[2J\u2066app\n", Size: 1, State: profile.Finalized}
	var out bytes.Buffer
	if err := Write(&out, reportOf(t, profile.List{&p})); err != nil {
		t.Fatal(err)
	}
	const want = `<title>\u202exe\x1b[2J\u2066app\n - mpitrace</title>`
	if !strings.Contains(out.String(), want) {
		t.Errorf("the page has no %s", want)
	}
}

// TestSheetsInBoundedMemory checks that matrices that are too large for a page are not made: the
// 4,096² entries of an all-to-all by node would take 330 MB.
func TestSheetsInBoundedMemory(t *testing.T) {
	const ranks, most = 4096, 100 << 20
	j := synth.New("alltoall", ranks)
	j.PerNode = 1
	j.Collectives = []synth.Collective{{Call: synth.Alltoall, On: synth.World, Times: 10, Bytes: 2048}}
	job := jobOf(t, j)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	sheets := sheetsOf(job)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > most {
		t.Errorf("allocated %d bytes, at most %d expected", used, most)
	}
	if len(sheets) != 1 || sheets[0].Unit != "rank" || sheets[0].Block != 8 {
		t.Errorf("%d sheets, the first of blocks of %d", len(sheets), sheets[0].Block)
	}
}
