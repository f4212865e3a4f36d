package views

import (
	"bytes"
	"slices"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/findings"
	"github.com/mpitrace/mpitrace/internal/text"
)

// briefBytes is the largest size of a brief in JSON.
const briefBytes = 8 << 10

// brief is a short report for programs. What does not fit is shortened or left out, and counted.
type brief struct {
	Version     int        `json:"schema_version"`
	Run         string     `json:"run"` // path
	Jobs        []briefJob `json:"jobs"`
	JobsLeftOut int        `json:"jobs_left_out"`
	Shortened   int        `json:"texts_shortened"` // which end in …
}

// briefJob is a job of a brief. The job that used most of the time is the first.
type briefJob struct {
	Program         string         `json:"program"`
	Verdict         string         `json:"verdict"`
	WallTimeS       float64        `json:"wall_time_s,omitempty"` // absent if it is not known
	Findings        []briefFinding `json:"findings"`              // the most important first
	FindingsLeftOut int            `json:"findings_left_out"`
	TimesUnknown    string         `json:"times_unknown,omitempty"` // why no finding about time can be made
	Completeness    completeness   `json:"completeness"`
	Next            []nextCommand  `json:"next"`
}

// briefFinding is a finding with its evidence. Its ranks are a text such as "0-3,7".
type briefFinding struct {
	findings.Finding
	Ranks       string `json:"ranks"`
	RanksNumber int    `json:"ranks_number"` // 0 if the finding is about all
}

// completeness says what the record of a job lacks.
type completeness struct {
	RanksExpected  int              `json:"ranks_expected"`
	RanksRecorded  int              `json:"ranks_recorded"`
	RanksFinalized int              `json:"ranks_finalized"`
	Losses         []aggregate.Loss `json:"losses"` // by kind
	LossesLeftOut  int              `json:"losses_left_out"`
}

// briefLimits are how much a brief says.
type briefLimits struct {
	jobs, findings, losses int
	bytes                  int // of each text
}

// briefSizes are the limits that are tried, from the largest brief to the smallest. The smallest always
// fits: it has some 15 texts of at most 60 bytes, each of which may take 6 bytes in JSON.
var briefSizes = []briefLimits{{8, 7, 20, 600}, {8, 7, 20, 300}, {8, 7, 12, 200}, {6, 5, 8, 200}, {4, 5, 5, 150}, {3, 3, 4, 150},
	{2, 3, 3, 150}, {1, 3, 3, 150}, {1, 3, 3, 100}, {1, 1, 1, 60}}

// BriefJSON returns the brief of the jobs of a run as JSON of at most briefBytes.
func BriefJSON(version int, path string, jobs []*aggregate.Summary, options func(*aggregate.Summary) Options) ([]byte, error) {
	whole := brief{Version: version, Run: path, Jobs: []briefJob{}}
	for _, job := range mostUsedFirst(jobs)[:min(len(jobs), briefSizes[0].jobs)] {
		whole.Jobs = append(whole.Jobs, briefOf(job, options(job)))
	}
	whole.JobsLeftOut = len(jobs) - len(whole.Jobs)
	var b bytes.Buffer
	for _, limits := range briefSizes {
		b.Reset()
		if err := text.WriteJSON(&b, whole.cut(limits)); err != nil || b.Len() <= briefBytes {
			return b.Bytes(), err
		}
	}
	return b.Bytes(), nil
}

func briefOf(s *aggregate.Summary, o Options) briefJob {
	out := briefJob{Program: s.Program, WallTimeS: s.WallTimeS, TimesUnknown: findings.TimesUnknown(s), Next: next(s, o),
		Completeness: completeness{s.RanksExpected, s.RanksRecorded, s.RanksFinalized, slices.Concat(s.Losses, lossesOfRun(o.Missing)), 0}}
	judged := findings.ReportOf(s, o.Traced)
	out.Verdict = judged.Verdict
	for _, f := range judged.Findings {
		ranks, _ := f.Ranks.MarshalText() // which has no error
		out.Findings = append(out.Findings, briefFinding{f, string(ranks), f.Ranks.Len()})
	}
	return out
}

// cut returns a copy that is not larger than the limits.
func (b *brief) cut(limits briefLimits) *brief {
	out := *b
	shorten := func(texts ...*string) {
		for _, t := range texts {
			var cut bool
			if *t, cut = text.FirstBytes(*t, limits.bytes); cut {
				out.Shortened++
			}
		}
	}
	out.Jobs = slices.Clone(b.Jobs[:min(len(b.Jobs), limits.jobs)])
	out.JobsLeftOut += len(b.Jobs) - len(out.Jobs)
	shorten(&out.Run)
	for i := range out.Jobs {
		j := &out.Jobs[i]
		shorten(&j.Program, &j.Verdict, &j.TimesUnknown)
		all := len(j.Findings)
		j.Findings = append([]briefFinding{}, j.Findings[:min(all, limits.findings)]...)
		j.FindingsLeftOut = all - len(j.Findings)
		for k := range j.Findings {
			f := &j.Findings[k]
			shorten(&f.Ranks, &f.Call, &f.Callsite, &f.Text, &f.Try, &f.Uncertain)
		}
		c := &j.Completeness
		all = len(c.Losses)
		c.Losses = append([]aggregate.Loss{}, c.Losses[:min(all, limits.losses)]...) // [] if there are none
		c.LossesLeftOut = all - len(c.Losses)
		for k := range c.Losses {
			shorten(&c.Losses[k].Kind, &c.Losses[k].Text)
		}
	}
	return &out
}
