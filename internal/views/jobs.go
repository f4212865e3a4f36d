package views

import (
	"fmt"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// JobRow is what the table of jobs shows of one.
type JobRow struct {
	Program, Library string
	Ranks, Recorded  int
	Started          time.Time
	WallS            float64  // 0 if not known
	MPIShare         *float64 // mean over the ranks; nil if not known
	Complete         bool
}

// RowOf returns the row of a job.
func RowOf(s *aggregate.Summary) JobRow {
	return JobRow{s.Program, s.Library, s.RanksExpected, s.RanksRecorded, s.Started, s.WallTimeS, &s.MPIShare.Mean, len(s.Problems) == 0}
}

// Jobs returns the section of the jobs of a run that has several; none for others.
func Jobs(jobs []JobRow) []Section {
	out := Section{ID: "jobs", Title: "Jobs"}
	if len(jobs) > 1 {
		out.Add(jobTable(jobs))
	}
	return Finish(out)
}

func jobTable(jobs []JobRow) *Table {
	type R = JobRow
	number := 0
	return tableOf("jobs", jobs,
		col("job", "job", Rank, func(*R) Cell { number++; return rankCell(number) }),
		col("program", "program", Words, func(j *R) Cell { return wordsCell(j.Program) }),
		col("ranks", "ranks", Count, func(j *R) Cell {
			if j.Ranks != j.Recorded {
				return Cell{fmt.Sprintf("%d of %d", j.Recorded, j.Ranks), j.Ranks}
			}
			return Cell{fmt.Sprint(j.Ranks), j.Ranks}
		}),
		col("mpi", "MPI", Words, func(j *R) Cell { return wordsCell(profile.LibraryName(j.Library)) }),
		col("started", "started", Words, func(j *R) Cell {
			if j.Started.IsZero() {
				return missing
			}
			return wordsCell(j.Started.Format(time.TimeOnly))
		}),
		col("time_ns", "time", Ns, func(j *R) Cell {
			if j.WallS == 0 {
				return missing
			}
			return secondsCell(j.WallS)
		}),
		col("mpi_share", "in MPI", Share, func(j *R) Cell {
			if j.MPIShare == nil {
				return missing
			}
			return shareCell(*j.MPIShare)
		}),
		col("record", "record", Words, func(j *R) Cell {
			if j.Complete {
				return wordsCell("complete")
			}
			return wordsCell("incomplete")
		}))
}
