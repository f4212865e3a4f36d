package matrix

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// varied returns the profiles of three ranks that differ in everything that can
// be selected:
//
//	r -> r+1  5 bytes in 1 message    Send in MPI_COMM_WORLD, slice run, size class 3, at solve
//	r -> r+1  40 bytes in 2 messages  Isend in row, slice warmup, size class 5, at halo
//	r -> r+1  2000 bytes in 1 message Ssend in row, slice run, size class 11, at halo
//	r -> all  8 bytes in 1 operation  Allreduce in MPI_COMM_WORLD, slice run, size class 4
//	r -> r+1  9 bytes by Put          in no communicator that is wanted
//
// Each is received, by Recv, with 1 byte more than was sent.
func varied() []*profile.Profile {
	const n = 3
	out := make([]*profile.Profile, n)
	for r := range out {
		p := &profile.Profile{Run: "v", Rank: r, Size: n, State: profile.Finalized,
			Comms: []profile.Comm{
				{ID: strings.Repeat("1", 32), Name: "MPI_COMM_WORLD", Parent: -1, Rank: r, Members: profile.Group{Stride: 1, N: n}},
				{ID: "abcd" + strings.Repeat("2", 28), Name: "row", Constructor: "Comm_split", Rank: r, Members: profile.Group{Stride: 1, N: n}},
			},
			Slices:  []profile.Slice{{Index: 0, Name: "run"}, {Index: 4, Name: "warmup"}},
			Modules: []profile.Module{{Path: "/opt/app", Start: 0x1000, End: 0x2000}},
		}
		p.Symbols = profile.Symbols{
			p.Place(0x1010): {Function: "solve", Source: "/src/app.c", Line: 7},
			p.Place(0x1020): {Function: "halo", Source: "/src/app.c", Line: 21}}
		next, before := int32((r+1)%n), int32((r+n-1)%n)
		send := profile.Row{Class: profile.P2P, Direction: profile.Send, Spread: profile.ToPeer, Peer: next, Calls: 1}
		add := func(r profile.Row, call string, comm int32, slice uint32, class uint8, site, bytes, messages uint64) {
			r.Call, r.Comm, r.Slice, r.SizeClass, r.Callsite, r.Bytes, r.Messages = call, comm, slice, class, site, bytes, messages
			p.Rows = append(p.Rows, r)
		}
		add(send, "Send", 0, 0, 3, 0x1010, 5, 1)
		add(send, "Isend", 1, 4, 5, 0x1020, 40, 2)
		add(send, "Ssend", 1, 0, 11, 0x1020, 2000, 1)
		add(profile.Row{Class: profile.AllToAll, Direction: profile.Send, Spread: profile.ToOthers, Peer: profile.PeerNone}, "Allreduce", 0, 0, 4, 0x1010, 16, 2)
		add(profile.Row{Class: profile.OneSided, Direction: profile.Write, Spread: profile.ToPeer, Peer: next}, "Put", 0, 0, 4, 0x1010, 9, 1)
		receive := profile.Row{Class: profile.P2P, Direction: profile.Recv, Peer: before, Calls: 1}
		add(receive, "Recv", 0, 0, 3, 0x1010, 6, 1)
		add(receive, "Recv", 1, 4, 5, 0x1020, 41, 2)
		out[r] = p
	}
	return out
}

// scattering returns the profile of rank 1 of 4, which sent 1, 3 and 4 bytes to
// ranks 0, 2 and 3 with Scatterv: messages of the size classes 1 and 3.
func scattering() *profile.Profile {
	row := profile.Row{Call: "Scatterv", Class: profile.OneToAll, Direction: profile.Send, Spread: profile.ToVector,
		Peer: 1, SizeClass: 3, Calls: 1, Messages: 2, Bytes: 7}
	small := row
	small.SizeClass, small.Messages, small.Bytes = 1, 1, 1
	return &profile.Profile{Rank: 1, Size: 4, State: profile.Finalized,
		Comms:   []profile.Comm{{ID: strings.Repeat("3", 32), Name: "MPI_COMM_WORLD", Parent: -1, Rank: 1, Members: profile.Group{Stride: 1, N: 4}}},
		Rows:    []profile.Row{row, small},
		Vectors: []profile.Vector{{Call: "Scatterv", Class: profile.OneToAll, Spread: profile.ToVector, Calls: 1, Bytes: []uint64{1, 2, 3, 4}}}}
}

// selected returns what rank 0 sent to 1 and to 2, of what s selects from
// varied.
func selected(t *testing.T, s Selection) (next, other Volume) {
	t.Helper()
	builder := NewBuilder(&s)
	for _, p := range varied() {
		builder.Add(p)
	}
	if some, err := builder.Unmatched(); err != nil || len(some) > 0 {
		t.Error(some, err)
	}
	m := &builder.Matrices()[All]
	for r := range 3 {
		if m.At(r, (r+1)%3) != m.At(0, 1) || m.At(r, (r+2)%3) != m.At(0, 2) {
			t.Errorf("ranks differ: %v", cells(&ByClass{*m}))
		}
	}
	return m.At(0, 1), m.At(0, 2)
}

func TestSelection(t *testing.T) {
	none := Volume{}
	send, isend, ssend, reduce, put := Volume{5, 1}, Volume{40, 2}, Volume{2000, 1}, Volume{8, 1}, Volume{9, 1}
	for name, c := range map[string]struct {
		Selection
		next  []Volume
		other Volume
	}{
		"everything":                 {Selection{}, []Volume{send, isend, ssend, reduce, put}, reduce},
		"point-to-point":             {Selection{Classes: []profile.Class{profile.P2P}}, []Volume{send, isend, ssend}, none},
		"one-sided":                  {Selection{Classes: []profile.Class{profile.OneSided}}, []Volume{put}, none},
		"two classes":                {Selection{Classes: []profile.Class{profile.AllToAll, profile.OneSided}}, []Volume{put, reduce}, reduce},
		"rooted collectives":         {Selection{Classes: []profile.Class{profile.OneToAll}}, nil, none},
		"a call":                     {Selection{Calls: []string{"Isend"}}, []Volume{isend}, none},
		"a call by its full name":    {Selection{Calls: []string{"mpi_ALLREDUCE"}}, []Volume{reduce}, reduce},
		"two calls":                  {Selection{Calls: []string{"Send", "MPI_Put"}}, []Volume{send, put}, none},
		"the world":                  {Selection{Comms: []string{"MPI_COMM_WORLD"}}, []Volume{send, reduce, put}, reduce},
		"a communicator by its name": {Selection{Comms: []string{"row"}}, []Volume{isend, ssend}, none},
		"a communicator's label":     {Selection{Comms: []string{"row#abcd2222"}}, []Volume{isend, ssend}, none},
		"a communicator's id":        {Selection{Comms: []string{"ABCD2"}}, []Volume{isend, ssend}, none},
		"two communicators":          {Selection{Comms: []string{"row", "1111"}}, []Volume{send, isend, ssend, reduce, put}, reduce},
		"a slice":                    {Selection{Slices: []string{"warmup"}}, []Volume{isend}, none},
		"two slices":                 {Selection{Slices: []string{"warmup", "run"}}, []Volume{send, isend, ssend, reduce, put}, reduce},
		"a function":                 {Selection{Callsites: []string{"halo"}}, []Volume{isend, ssend}, none},
		"a source line":              {Selection{Callsites: []string{"app.c:7"}}, []Volume{send, reduce, put}, reduce},
		"a size class":               {Selection{SizeClasses: []uint8{3}}, []Volume{send}, none},
		"several size classes":       {Selection{SizeClasses: []uint8{4, 11, 12, 64}}, []Volume{ssend, reduce, put}, reduce},
		"what was sent":              {Selection{Directions: []profile.Direction{profile.Send}}, []Volume{send, isend, ssend, reduce}, reduce},
		"what was written":           {Selection{Directions: []profile.Direction{profile.Write}}, []Volume{put}, none},
		"as receivers saw it":        {Selection{Received: true}, []Volume{{6, 1}, {41, 2}}, none},
		"received in a communicator": {Selection{Received: true, Comms: []string{"row"}}, []Volume{{41, 2}}, none},
		"all criteria": {Selection{Classes: []profile.Class{profile.P2P}, Calls: []string{"Isend", "Ssend"}, Comms: []string{"row"},
			Slices: []string{"run"}, Callsites: []string{"halo"}, SizeClasses: []uint8{11}, Directions: []profile.Direction{profile.Send}}, []Volume{ssend}, none},
		"no call of all criteria": {Selection{Calls: []string{"Send"}, Comms: []string{"row"}}, nil, none},
	} {
		t.Run(name, func(t *testing.T) {
			var want Volume
			for _, v := range c.next {
				want.Add(v)
			}
			if next, other := selected(t, c.Selection); next != want || other != c.other {
				t.Errorf("got %v and %v, want %v and %v", next, other, want, c.other)
			}
		})
	}
}

// TestSelectionOfVectors checks that an irregular collective is selected by the
// same criteria, and left out if only some of its messages are of a selected
// size class.
func TestSelectionOfVectors(t *testing.T) {
	scatterv := func(s Selection) (uint64, uint64) {
		builder := NewBuilder(&s)
		builder.Add(scattering())
		return builder.Matrices()[Collective].At(1, 3).Bytes, builder.Unsplit
	}
	for name, c := range map[string]struct {
		Selection
		bytes, unsplit uint64
	}{
		"its call":                {Selection{Calls: []string{"Scatterv"}}, 4, 0},
		"another call":            {Selection{Calls: []string{"Bcast"}}, 0, 0},
		"its class":               {Selection{Classes: []profile.Class{profile.OneToAll}}, 4, 0},
		"receives":                {Selection{Received: true}, 0, 0},
		"all of its sizes":        {Selection{Calls: []string{"Scatterv"}, SizeClasses: []uint8{1, 2, 3}}, 4, 0},
		"one of its two sizes":    {Selection{Calls: []string{"Scatterv"}, SizeClasses: []uint8{3, 4, 5, 9}}, 0, 1},
		"a size that it has not":  {Selection{Calls: []string{"Scatterv"}, SizeClasses: []uint8{60, 64}}, 0, 0},
		"a direction that is not": {Selection{Directions: []profile.Direction{profile.Read}}, 0, 0},
	} {
		if bytes, unsplit := scatterv(c.Selection); bytes != c.bytes || unsplit != c.unsplit {
			t.Errorf("%s: got %d bytes, %d calls left out", name, bytes, unsplit)
		}
	}
}

// TestSelectionOfProfLines checks that lines of .prof files are selected by
// class and direction.
func TestSelectionOfProfLines(t *testing.T) {
	lines := []profile.Flow{}
	for i, k := range []profile.Kind{profile.External, profile.Internal, profile.RemoteWrite, profile.RemoteRead, profile.Collective} {
		lines = append(lines, profile.Flow{Kind: k, From: 0, To: 1, Bytes: 1 << i, Messages: 1})
	}
	all3 := []profile.Class{profile.OneToAll, profile.AllToOne, profile.AllToAll}
	for name, c := range map[string]struct {
		Selection
		there, back uint64 // bytes from 0 to 1 and from 1 to 0
	}{
		"everything":     {Selection{}, 1 + 2 + 4 + 16, 8},
		"point-to-point": {Selection{Classes: []profile.Class{profile.P2P}}, 1 + 2, 0},
		"one-sided":      {Selection{Classes: []profile.Class{profile.OneSided}}, 4, 8},
		"collectives":    {Selection{Classes: all3}, 16, 0},
		"reads":          {Selection{Directions: []profile.Direction{profile.Read}}, 0, 8},
		"writes":         {Selection{Directions: []profile.Direction{profile.Write}}, 4, 0},
		"sends":          {Selection{Directions: []profile.Direction{profile.Send}}, 1 + 2 + 16, 0},
	} {
		builder := NewBuilder(&c.Selection)
		for i := range lines {
			builder.AddFlow(&lines[i])
		}
		if m := &builder.Matrices()[All]; m.At(0, 1).Bytes != c.there || m.At(1, 0).Bytes != c.back {
			t.Errorf("%s: got %d and %d", name, m.At(0, 1).Bytes, m.At(1, 0).Bytes)
		}
		if by := c.Selection.NeedsProfiles(); by != "" {
			t.Errorf("%s: OfRows says %q", name, by)
		}
	}
}

func TestNeedsProfiles(t *testing.T) {
	for want, s := range map[string]Selection{
		"call": {Calls: []string{"Send"}}, "communicator": {Comms: []string{"x"}}, "slice": {Slices: []string{"x"}},
		"call site": {Callsites: []string{"x"}}, "size class": {SizeClasses: []uint8{0}}, "receiver": {Received: true},
		"class of collective": {Classes: []profile.Class{profile.OneToAll, profile.P2P}},
	} {
		if got := s.NeedsProfiles(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestUnmatched checks that a value without a match is an error that lists the
// names that occur, the most similar first, and that this does not depend on
// how builders are merged.
func TestUnmatched(t *testing.T) {
	for want, s := range map[string]Selection{
		`no call "Isnd" in which something was sent; there is: Isend, Send, Ssend, Put, Allreduce`:   {Calls: []string{"Isnd", "Sent"}},
		`no call "Irecv" in which something was sent; there is: Isend, Send, Ssend, Put, Allreduce`:  {Calls: []string{"Irecv"}},
		`no call "Isend" in which something was sent; there is: Recv`:                                {Calls: []string{"Isend"}, Received: true},
		`no communicator "rows" in which something was sent; there is: row#abcd2222, MPI_COMM_WORLD`: {Comms: []string{"rows"}},
		`no slice "warm" in which something was sent; there is: warmup, run`:                         {Slices: []string{"warm"}},
		`no call site "app.c:9" in which something was sent; there is: halo app.c:21, solve app.c:7`: {Callsites: []string{"app.c:9"}},
	} {
		whole, merged := NewBuilder(&s), NewBuilder(&s)
		for _, p := range varied() {
			whole.Add(p)
			part := NewBuilder(&s)
			part.Add(p)
			merged.Merge(part)
		}
		for _, builder := range []*Builder{whole, merged} {
			var unmatched *UnmatchedError
			if _, err := builder.Unmatched(); !errors.As(err, &unmatched) || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		}
	}
}

// TestUnmatchedSome checks that a selection ignores values without a match, and
// reports them, as long as another value of the same criterion matches.
func TestUnmatchedSome(t *testing.T) {
	builder := NewBuilder(&Selection{Calls: []string{"Irecv", "Send", "Isnd"}})
	for _, p := range varied() {
		builder.Add(p)
	}
	some, err := builder.Unmatched()
	var values []string
	for _, e := range some {
		values = append(values, e.Value)
	}
	if err != nil || !slices.Equal(values, []string{"Irecv", "Isnd"}) {
		t.Errorf("got %q, %v, want Irecv and Isnd, and no error", values, err)
	}
}

// TestUnmatchedOfMany checks that the number of names kept is bounded, and that
// the names do not depend on their order.
func TestUnmatchedOfMany(t *testing.T) {
	const n = 5000
	of := func(order func(i int) int) *UnmatchedError {
		builder := NewBuilder(&Selection{Slices: []string{"step 7x"}})
		for i := range n {
			p := varied()[0]
			p.Slices = []profile.Slice{{Index: 0, Name: fmt.Sprintf("step %04d", order(i))}}
			builder.Add(p)
		}
		if kept := len(builder.names.names[bySlice].seen); kept >= 2*maxNames {
			t.Errorf("%d names are kept", kept)
		}
		var unmatched *UnmatchedError
		if _, err := builder.Unmatched(); !errors.As(err, &unmatched) {
			t.Fatal("no error")
		}
		return unmatched
	}
	up, down := of(func(i int) int { return i }), of(func(i int) int { return n - 1 - i })
	if len(up.Have) != 20 || !up.More {
		t.Errorf("got %v", up)
	}
	if diff := cmp.Diff(up, down); diff != "" {
		t.Error(diff)
	}
}
