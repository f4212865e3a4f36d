package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate/matrix"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The fixture has ranks 0 and 1 on node0, 2 and 3 on node1. Its matrix of all:
//
//	0 146 183 116
//	17  0  52  77
//	16 16   0  52
//	55 16  16   0
func TestLocality(t *testing.T) {
	s := New(fixture()).Summary()
	want := Locality{Class: "all", Within: matrix.Volume{Bytes: 146 + 17 + 52 + 16, Messages: 6 + 3 + 5 + 2},
		Between: matrix.Volume{Bytes: 183 + 116 + 52 + 77 + 16 + 16 + 55 + 16, Messages: 5 + 3 + 6 + 5 + 2 + 2 + 5 + 2}}
	testenv.Equal(t, want, s.Localities[0])
	p2p := Locality{Class: "external", Within: matrix.Volume{Bytes: 30 + 36, Messages: 6}, Between: matrix.Volume{Bytes: 7 + 33 + 7 + 39, Messages: 1 + 3 + 1 + 3}}
	testenv.Equal(t, p2p, s.Localities[1])
}

// Messages to a rank that was not recorded are neither within nor between
// nodes.
func TestLocalityOfMissingRanks(t *testing.T) {
	s := New(fixture()[:3]).Summary()
	want := Locality{Class: "external", Within: matrix.Volume{Bytes: 30, Messages: 3}, Between: matrix.Volume{Bytes: 7 + 33, Messages: 4}, Unknown: matrix.Volume{Bytes: 7 + 36, Messages: 4}}
	testenv.Equal(t, want, s.Localities[1])
}

func TestBalance(t *testing.T) {
	got := New(fixture()).Summary().Balances
	// The times in MPI are 400, 500, 600 and 700 ms. Sent volumes are the sums
	// of rows, received ones those of columns.
	want := []Balance{
		{Quantity: "mpi_time_ns", Mean: 550 * ms, Median: 550 * ms, Min: 400 * ms, Max: 700 * ms, MaxRank: 3, Imbalance: 700.0/550 - 1},
		{Quantity: "sent_bytes", Mean: 762.0 / 4, Median: (87 + 146) / 2.0, Min: 84, MinRank: 2, Max: 445, MaxRank: 0, Imbalance: 445/190.5 - 1},
		{Quantity: "received_bytes", Mean: 762.0 / 4, Median: (178 + 245) / 2.0, Min: 88, MinRank: 0, Max: 251, MaxRank: 2, Imbalance: 251/190.5 - 1},
	}
	for i := range want {
		w, g := want[i], got[i]
		if g.Quantity != w.Quantity || !near(g.Mean/w.Mean, 1) || g.Min != w.Min || g.MinRank != w.MinRank ||
			g.Max != w.Max || g.MaxRank != w.MaxRank || !near(g.Imbalance, w.Imbalance) {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}

func TestStandouts(t *testing.T) {
	values := func(vs ...float64) []rankValue {
		out := make([]rankValue, len(vs))
		for i, v := range vs {
			out[i] = rankValue{i, v}
		}
		return out
	}
	for _, c := range []struct {
		name   string
		values []rankValue
		want   []Standout
	}{
		{"nobody among equals", values(5, 5, 5, 5, 5), nil},
		{"one among equals", values(5, 5, 5, 500, 5, 5, 5, 5, 5, 5), []Standout{{3, 500}}},
		{"one that does nothing", values(98, 100, 102, 101, 0, 99, 100, 103), []Standout{{4, 0}}},
		{"the furthest first", values(98, 100, 300, 101, 0, 99, 100, 103), []Standout{{2, 300}, {4, 0}}},
		{"nobody in a spread", values(1, 2, 3, 4, 5, 6, 7, 8), nil},
		{"too small to look at", values(1000, 1000, 1001, 1000, 1000, 1060), nil},
		{"too few", values(1, 1, 100), nil},
	} {
		got := balanceOf("x", c.values)
		if diff := cmp.Diff(c.want, got.Standouts, cmp.Transformer("nil", func(s []Standout) []Standout {
			if len(s) == 0 {
				return nil
			}
			return s
		})); c.want != nil && diff != "" || len(got.Standouts) != len(c.want) || got.Outlying != len(c.want) {
			t.Errorf("%s: got %+v, want %v", c.name, got, c.want)
		}
	}
}
