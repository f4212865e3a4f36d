package jobs

import "github.com/mpitrace/mpitrace/profile"

// Rank returns a process of a job of two ranks that did nothing. The program
// has a name of its own in each job: "aprog" in the job "a".
func Rank(run string, rank int, start int64) *profile.Profile {
	return &profile.Profile{Run: run, Rank: rank, Size: 2, Start: start, Program: "/opt/bin/" + run + "prog"}
}
