package views

import (
	"cmp"
	"strings"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// settings returns the section of the settings of mpitrace and of the MPI library. The terminal
// shows in section Run those that limit what was recorded.
func (s *report) settings() Section {
	out := Section{ID: "settings", Title: "Settings"}
	out.Detail(func() {
		out.Fact("timing", s.Timing)
		receives := map[string]string{profile.ReceivesOn: "followed", profile.ReceivesOff: "not followed"}
		out.Fact("nonblocking receives", cmp.Or(receives[s.Receives], s.Receives))
		if run := s.Info; run != nil {
			out.Fact("launched by", strings.Join(run.Command, " "))
			out.Fact("in", run.WorkingDirectory)
			out.Fact("mpitrace", run.Version)
			out.Add(settingTable(run.Settings))
		}
		out.Add(userVariables(s.Variables))
		if s.Info != nil {
			out.Add(tunedVariables(s.Info.CVars))
		}
	})
	return out
}

func settingTable(list []rundir.ChangedSetting) *Table {
	type R = rundir.ChangedSetting
	return tableOf("settings", list,
		col("setting", "setting of mpitrace", Words, func(v *R) Cell { return wordsCell(v.Name) }),
		col("value", "value", Words, func(v *R) Cell { return wordsCell(v.Value) }),
		col("from", "from", Words, func(v *R) Cell { return wordsCell(cmp.Or(v.SetBy, v.Source)) }),
	).named("settings that are not the default")
}

func userVariables(list []aggregate.UserCVar) *Table {
	type R = aggregate.UserCVar
	return tableOf("user_variables", list,
		col("variable", "MPI variable", Words, func(v *R) Cell { return wordsCell(v.Name) }),
		col("value", "value", Words, func(v *R) Cell { return wordsCell(v.Value) }),
		col("from", "from", Words, func(v *R) Cell { return wordsCell(v.From) }),
		col("ranks", "ranks", Words, func(v *R) Cell { return wordsCell(v.Ranks.String()) }),
		col("refused", "refused", Words, func(v *R) Cell { return wordsCell(v.Refused) }),
	).named("MPI variables that the user set")
}

func tunedVariables(list []rundir.TunedCVar) *Table {
	type R = rundir.TunedCVar
	return tableOf("tuned_variables", list,
		col("variable", "variable", Words, func(v *R) Cell { return wordsCell(v.Name) }),
		col("value", "value", Words, func(v *R) Cell { return wordsCell(v.Value) }),
		col("default", "default", Words, func(v *R) Cell { return wordsCell(v.Default) }),
	).named("control variables of the MPI that are not the default")
}
