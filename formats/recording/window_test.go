package recording

import (
	"testing"

	"github.com/mpitrace/mpitrace/interpose/layout"
	"github.com/mpitrace/mpitrace/profile"
)

// TestWindowTags reads the tags of calls on windows and of constructors.
func TestWindowTags(t *testing.T) {
	tag := func(window, detail int32) int32 { return window*layout.WindowDetails + detail }
	type told struct {
		Window int32
		Lock   profile.Lock
		Group  int32
		Made   int32
	}
	for _, test := range []struct {
		call string
		comm int32
		tag  int32
		want told
	}{
		{"Win_lock", 0, tag(1, layout.LockExclusive), told{Window: 1, Lock: profile.ExclusiveLock}},
		{"Win_lock", 0, tag(2, layout.LockShared), told{Window: 2, Lock: profile.SharedLock}},
		{"Put", 0, tag(layout.MaxWindows, 0), told{Window: layout.MaxWindows}},
		{"Win_post", 0, tag(2, 5), told{Window: 2, Group: 5}},
		{"Win_flush", -1, tag(2, 0), told{}}, // it failed
		{"Intercomm_create", 0, 8, told{Made: 4}},
		{"Comm_create_group", 0, 0, told{}},
		{"Comm_create_group", 0, 99, told{}}, // of no communicator that is recorded
	} {
		r := rows{unlike: map[profile.EventKind]uint32{}, windowed: map[windowRow]uint32{}, comms: map[uint32]int32{7: 3}, same: []int32{0}}
		base := r.index(profile.EventKind{Call: test.call, Class: profile.CallNamed(test.call).Class, Comm: test.comm})
		if !r.roles[base].window {
			t.Errorf("%s: its tag is not looked at", test.call)
		}
		k := r.all[r.window(base, 1, test.tag)]
		if got := (told{k.Window, k.Lock, k.Group, k.Made}); got != test.want {
			t.Errorf("%s with tag %d: %+v, want %+v", test.call, test.tag, got, test.want)
		}
		if n := len(r.all); r.window(base, 1, test.tag) != uint32(n-1) && test.want != (told{}) || len(r.all) != n {
			t.Errorf("%s: another kind the second time", test.call)
		}
	}
}
