package views_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
)

func TestEndsText(t *testing.T) {
	j := aggregate.New(jobs.TimedOut())
	rank, err := j.RankSummary(4)
	if err != nil {
		t.Fatal(err)
	}
	running := jobs.Hung()
	for _, p := range running {
		p.Exit.Alive = jobs.Start + 12*jobs.Second
	}
	for name, write := range map[string]func(*bytes.Buffer) error{
		"ends.txt":      func(b *bytes.Buffer) error { return Summary(b, j.Summary(), Options{Top: -1}) },
		"ends_rank.txt": func(b *bytes.Buffer) error { return Rank(b, rank, Options{ASCII: true, Top: -1}) },
		"status.txt":    func(b *bytes.Buffer) error { return Status(b, aggregate.New(running).Status(), Options{Top: -1}) },
		"status_end.txt": func(b *bytes.Buffer) error {
			return Status(b, j.Status(), Options{Top: -1})
		},
	} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

func TestEndsAborted(t *testing.T) {
	ps := jobs.TimedOut()
	ps[4].Open = []profile.OpenCall{{Call: "Abort", Class: profile.Other, Peer: profile.PeerNone, Source: profile.PeerNone, Code: -3}}
	var b bytes.Buffer
	if err := Summary(&b, aggregate.New(ps).Summary(), Options{Top: -1}); err != nil {
		t.Fatal(err)
	}
	if want := "\n    MPI_Abort(-3) in MPI_COMM_WORLD\n"; !strings.Contains(b.String(), want) {
		t.Errorf("no %q in\n%s", want, &b)
	}
}
