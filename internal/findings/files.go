package findings

import (
	"fmt"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

const (
	filesLeast  = 0.05     // share of the time in MPI-IO
	smallAccess = 64 << 10 // bytes; calls that read or write less are small
	mostlyOpens = 0.5      // of the time in MPI-IO
)

// fileSums are the sums of the calls of MPI-IO.
type fileSums struct {
	opens, reads, writes, all float64 // ns
	accesses                  uint64  // calls that read or write
	bytes                     uint64
	accessNs                  float64
	ranks                     int  // the most ranks that read or write at a call site
	opensEach                 bool // whether a rank opens a file at a call site again and again
	collective                bool // whether the accesses that take most time are collective
	longest                   *aggregate.CallSite
}

// fileAccess holds if MPI-IO takes long.
func fileAccess(j *facts) *Finding {
	all := j.shareOf(float64(j.Tree.Before[aggregate.FileIO]))
	if all < filesLeast {
		return nil
	}
	sums := filesOf(j)
	if sums.longest == nil {
		return nil
	}
	f := &Finding{Share: all, Call: sums.longest.Call, Callsite: sums.longest.String(), Ranks: fileRanks(j)}
	var parts []string
	for _, part := range []struct {
		name string
		ns   float64
	}{{"open and close", sums.opens}, {"reading", sums.reads}, {"writing", sums.writes}, {"other calls", sums.all - sums.opens - sums.reads - sums.writes}} {
		if share := j.shareOf(part.ns); share >= leastShare/10 {
			parts = append(parts, part.name+" "+text.Percent(share))
		}
	}
	f.Text = fmt.Sprintf("MPI-IO: %s. Most time is in %s.", strings.Join(parts, ", "), at(sums.longest))
	if sums.accesses > 0 && sums.bytes > 0 {
		f.Text += sums.accessText(j.RanksRecorded)
	}
	f.Try = sums.try(j.RanksRecorded)
	f.Cause = "most in " + at(sums.longest)
	return f
}

// filesOf adds up the calls of MPI-IO.
func filesOf(j *facts) (sums fileSums) {
	var collective, own float64
	for i := range j.CallSites {
		c := &j.CallSites[i]
		if c.Class != profile.IO.String() {
			continue
		}
		ns := float64(c.OwnNs)
		sums.all += ns
		if sums.longest == nil || c.OwnNs > sums.longest.OwnNs {
			sums.longest = c
		}
		traits, reads, writes := profile.TraitsOf(c.Call), strings.Contains(c.Call, "read"), strings.Contains(c.Call, "write")
		switch {
		case traits.Any(profile.TraitOpensFile):
			sums.opens += ns
			sums.opensEach = sums.opensEach || c.Calls > uint64(c.PerRank.Ranks)
			continue
		case reads:
			sums.reads += ns
		case writes:
			sums.writes += ns
		default:
			continue
		}
		sums.accessNs += ns
		sums.bytes += c.Moved().Bytes
		if !strings.HasSuffix(c.Call, "_end") { // which completes the call before
			sums.accesses += c.Calls
		}
		sums.ranks = max(sums.ranks, c.PerRank.Ranks)
		if traits.Any(profile.TraitAccessesTogether) {
			collective += ns
		} else {
			own += ns
		}
	}
	sums.collective = collective > own
	return sums
}

// accessText returns how much the calls read and write, and how fast.
func (s *fileSums) accessText(ranks int) string {
	how := "each on its own"
	if s.collective {
		how = "collectively"
	}
	words := fmt.Sprintf(" %s move %s, %s each", text.CountOf(s.accesses, "call"), text.Bytes(s.bytes), text.Bytes(s.bytes/s.accesses))
	if s.accessNs > 0 {
		words += fmt.Sprintf(", at %s/s together", text.Bytes(uint64(float64(s.bytes)*float64(s.ranks)/s.accessNs*1e9)))
	}
	verb := "make"
	switch {
	case ranks == 1:
		return words + "."
	case s.ranks == 1:
		verb = "makes"
	}
	return words + fmt.Sprintf("; %s of %s %s them, %s.", text.Count(s.ranks), text.CountOf(ranks, "rank"), verb, how)
}

// try returns what to try.
func (s *fileSums) try(ranks int) string {
	switch {
	case s.opens >= mostlyOpens*s.all && s.opensEach:
		return "Open the file once, before the loop, and close it at the end."
	case s.opens >= mostlyOpens*s.all:
		return "Open fewer files, or let fewer ranks open them."
	case s.accesses > 0 && s.bytes/s.accesses < smallAccess && !s.collective:
		return "Read and write larger pieces, or use the collective calls (File_write_at_all), which can join small ones."
	case s.accesses > 0 && s.bytes/s.accesses < smallAccess:
		return "Read and write larger pieces, less often."
	case ranks == 1:
		return "Access the file less often, and read or write more each time."
	case s.ranks == 1:
		return "Let more ranks take part, with a collective call."
	case !s.collective:
		return "Try the collective calls (File_write_at_all), or fewer ranks that access the file."
	}
	return "Try fewer or more ranks that access the file (the hint cb_nodes), or access it less often."
}

// fileRanks returns the ranks that call MPI-IO; none if all do.
func fileRanks(j *facts) profile.RankSet {
	var ranks []int
	for i := range j.Ranks {
		if r := &j.Ranks[i]; r.Activities[profile.InFileIO] > 0 {
			ranks = append(ranks, r.Rank)
		}
	}
	if len(ranks) == len(j.Ranks) {
		return nil
	}
	return profile.RankSetOf(ranks...)
}
