package page

import (
	"slices"
	"strings"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/history"
	"github.com/mpitrace/mpitrace/internal/placement"
	"github.com/mpitrace/mpitrace/internal/plot"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/internal/timeline"
	"github.com/mpitrace/mpitrace/internal/trace"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/profile"
)

const version = 1 // of the data

// Page is the data of a page: see docs/page.md.
type Page struct {
	Version    int              `json:"version"`
	Kind       string           `json:"kind"` // report, diff or history
	Made       Made             `json:"made"`
	Activities []ActivityColour `json:"activities"`
	Run        any              `json:"run"`
	Missing    []string         `json:"missing"`
	A          string           `json:"a,omitempty"` // path of a diff's run
	B          string           `json:"b,omitempty"`
	Jobs       []JobData        `json:"jobs"`
	Sections   []views.Section  `json:"sections,omitempty"` // of no job: the table of jobs, a history

	listed []*aggregate.Summary // the jobs of the table
}

// Made says when and by what the page was made.
type Made struct {
	At      time.Time `json:"at"`
	Version string    `json:"mpitrace"`
}

// ActivityColour is what ranks do, with its colour in charts.
type ActivityColour struct {
	Name  string `json:"name"`
	Color string `json:"color"` // #rrggbb
}

// topOfPage is how many rows of a table a page shows at first.
const topOfPage = 25

// JobData is a job of the page, or two jobs that are compared.
type JobData struct {
	Sections  []views.Section        `json:"sections"`
	Title     string                 `json:"title"` // the program and its arguments
	Ranks     *RankColumns           `json:"ranks,omitempty"`
	Matrices  []MatrixData           `json:"matrices"`
	Pairs     *Pairs                 `json:"pairs"`
	Timeline  *TimelineData          `json:"timeline"`
	Sources   map[string]SourceLines `json:"sources,omitempty"`
	Placement *BestOrder             `json:"placement,omitempty"`
}

// BestOrder is the best order found of the ranks: as in reorder --json.
type BestOrder struct {
	Slot   placement.Order       `json:"slot"`
	Placed []placement.NodeRanks `json:"placed"`
}

// bestOrder returns nil if no order was looked for.
func bestOrder(a *placement.Answer) *BestOrder {
	if a == nil {
		return nil
	}
	return &BestOrder{a.Slot, a.Placed}
}

// MostPairs is the largest number of pairs whose details a page has.
const MostPairs = 4096

// NewReport returns the page of a run, without jobs.
func NewReport(made Made, run any, missing []string) *Page {
	return newPage("report", made, run, missing)
}

// NewDiff returns the page of the differences between two runs, without jobs.
func NewDiff(made Made, a, b string) *Page {
	p := newPage("diff", made, nil, nil)
	p.A, p.B = a, b
	return p
}

// NewHistory returns the page of many runs, of whose lists it shows topOfPage entries at first.
func NewHistory(made Made, h *history.History) *Page {
	p := newPage("history", made, nil, nil)
	p.Sections = views.History(h, views.HistoryView{Top: topOfPage, ChangesFirst: true})
	return p
}

func newPage(kind string, made Made, run any, missing []string) *Page {
	return &Page{Version: version, Kind: kind, Made: made, Activities: activities(), Run: run, Missing: slices.Concat([]string{}, missing), Jobs: []JobData{}}
}

// Title returns the title of the page.
func (p *Page) Title() string {
	if p.Kind == "diff" || p.Kind == "history" {
		return "mpitrace " + p.Kind
	}
	if len(p.Jobs) == 0 {
		return "mpitrace"
	}
	return text.Line(p.Jobs[0].Title) + " - mpitrace"
}

// activities returns the activities with their colours.
func activities() []ActivityColour {
	out := []ActivityColour{}
	for _, a := range timeline.Activities() {
		out = append(out, ActivityColour{a.Name, plot.Hex(a.Color)})
	}
	return out
}

// AddJob adds a job. The options of the job must have had PairDetails: MostPairs. o says what the
// sections show, of whose lists a page shows topOfPage entries at first.
func (p *Page) AddJob(j *aggregate.Job, s *aggregate.Summary, o views.Options) *JobData {
	hosts, hostOf := j.Hosts()
	ranks := ranksOf(s, hosts, hostOf, o.Traced)
	o.Top, o.Block = topOfPage, ranks.Block
	p.Jobs = append(p.Jobs, JobData{
		Sections:  views.Of(s, o),
		Title:     titleOf(s),
		Ranks:     ranks,
		Matrices:  sheetsOf(j),
		Pairs:     pairsOf(j.PairDetails()),
		Placement: bestOrder(o.Placed),
	})
	p.list(s)
	return &p.Jobs[len(p.Jobs)-1]
}

// titleOf returns the program with its arguments, or the names of several programs.
func titleOf(s *aggregate.Summary) string {
	if s.Programs.Several() {
		return s.Programs.String()
	}
	return strings.Join(append([]string{s.Program}, s.Command[min(1, len(s.Command)):]...), " ")
}

// list adds a job to the table of jobs.
func (p *Page) list(s *aggregate.Summary) {
	p.listed = append(p.listed, s)
	p.Sections = views.Jobs(p.listed)
}

// AddTimeline adds the timeline of the job's traces, in the order of ranks. Its section stands
// before that of the settings.
func (j *JobData) AddTimeline(events []profile.EventSource, waits []profile.Wait, path *trace.CriticalPath) (err error) {
	t, err := timelineOf(events, waits, path, pageLimits)
	if err != nil {
		return err
	}
	of := func(shown []int, all int) views.Excerpt { return views.Excerpt{Shown: len(shown), All: all} }
	section := views.Timeline(t.EventsTotal, t.Events != nil, of(t.Waits.Line, t.WaitsTotal), of(t.Messages.From, t.MessagesTotal), t.missing)
	at := slices.IndexFunc(j.Sections, func(s views.Section) bool { return s.ID == "settings" })
	if at < 0 { // no setting is known
		at = len(j.Sections)
	}
	j.Timeline, j.Sections = t, slices.Insert(j.Sections, at, section)
	return nil
}

// AddDiff adds a comparison of two jobs. o says what the sections show, of whose lists a page
// shows topOfPage entries at first.
func (p *Page) AddDiff(d *aggregate.Diff, o views.DiffView, a, b *aggregate.Job) {
	o.Top = topOfPage
	out := JobData{Sections: views.Diff(d, o), Title: d.B.Programs.String(), Matrices: []MatrixData{}}
	for _, side := range []struct {
		name string
		*aggregate.Job
	}{{"A", a}, {"B", b}} {
		for _, s := range sheetsOf(side.Job) {
			s.Side = side.name
			out.Matrices = append(out.Matrices, s)
		}
	}
	p.Jobs = append(p.Jobs, out)
	p.list(&aggregate.Summary{Programs: d.B.Programs, Library: d.B.Library, RanksExpected: d.B.RanksExpected, RanksRecorded: d.B.RanksRecorded,
		Started: d.B.Started, WallTimeS: float64(d.WallTime.B) / 1e9, Timing: profile.TimingOff.String(), Problems: d.B.Problems})
}

// Pairs are the details of pairs in columns: see docs/page.md.
type Pairs struct {
	Calls     []string `json:"calls"`
	Sites     []string `json:"sites"`
	Slices    []string `json:"slices"`
	From      []int    `json:"from"`
	To        []int    `json:"to"`
	Call      []int    `json:"call"`
	Site      []int    `json:"site"`
	Slice     []int    `json:"slice"`
	SizeClass []int    `json:"size_class"` // not uint8, which JSON writes as text
	Messages  []amount `json:"messages"`
	Bytes     []amount `json:"bytes"`
}

// names numbers texts.
type names struct {
	list  *[]string
	index map[string]int
}

func (n *names) of(name string) int {
	i, known := n.index[name]
	if !known {
		if n.index == nil {
			n.index = map[string]int{}
		}
		i = len(*n.list)
		n.index[name] = i
		*n.list = append(*n.list, name)
	}
	return i
}

// pairsOf returns the columns of pairs; nil if there are no details.
func pairsOf(details []aggregate.PairDetail) *Pairs {
	if details == nil {
		return nil
	}
	p := &Pairs{Calls: []string{}, Sites: []string{}, Slices: []string{}, From: []int{}, To: []int{}}
	calls, sites, sliceNames := names{list: &p.Calls}, names{list: &p.Sites}, names{list: &p.Slices}
	for _, d := range details {
		p.From, p.To = append(p.From, d.From), append(p.To, d.To)
		p.Call = append(p.Call, calls.of(d.Call))
		p.Site = append(p.Site, sites.of(d.Site))
		p.Slice = append(p.Slice, sliceNames.of(d.Slice))
		p.SizeClass = append(p.SizeClass, int(d.SizeClass))
		p.Messages, p.Bytes = append(p.Messages, amount(d.Messages)), append(p.Bytes, amount(d.Bytes))
	}
	return p
}
