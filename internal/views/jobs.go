package views

import (
	"fmt"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
)

// Jobs returns the section of the jobs of a run that has several; none for others.
func Jobs(jobs []*aggregate.Summary) []Section {
	out := Section{ID: "jobs", Title: "Jobs"}
	if len(jobs) > 1 {
		out.Add(jobTable(jobs))
	}
	return Finish(out)
}

func jobTable(jobs []*aggregate.Summary) *Table {
	type R = struct {
		*aggregate.Summary
		number int
	}
	var list []R
	for i, s := range jobs {
		list = append(list, R{s, i + 1})
	}
	return tableOf("jobs", list,
		col("job", "job", Rank, func(j *R) Cell { return rankCell(j.number) }),
		col("program", "program", Words, func(j *R) Cell { return wordsCell(j.Programs.String()) }),
		col("ranks", "ranks", Count, func(j *R) Cell {
			if j.RanksRecorded != j.RanksExpected {
				return Cell{fmt.Sprintf("%d of %d", j.RanksRecorded, j.RanksExpected), j.RanksExpected}
			}
			return countCell(j.RanksExpected)
		}),
		col("mpi", "MPI", Words, func(j *R) Cell { return wordsCell(profile.LibraryName(j.Library)) }),
		col("started", "started", Words, func(j *R) Cell {
			if j.Started.IsZero() {
				return missing
			}
			return wordsCell(j.Started.Format(time.TimeOnly))
		}),
		col("time_ns", "time", Ns, func(j *R) Cell {
			if j.WallTimeS == 0 { // not known
				return missing
			}
			return secondsCell(j.WallTimeS)
		}),
		col("mpi_share", "in MPI", Share, func(j *R) Cell {
			if !j.Timed() {
				return missing
			}
			return shareCell(j.MPIShare.Mean)
		}),
		col("record", "record", Words, func(j *R) Cell {
			if len(j.Problems) == 0 {
				return wordsCell("complete")
			}
			return wordsCell("incomplete")
		}))
}
