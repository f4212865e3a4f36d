package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/profile"
)

// countForms returns the forms with int and with large counts, without
// nonblocking and persistent collectives.
func countForms() []form {
	all := forms()
	return []form{all[0], all[3]}
}

// remoteBy returns what was written to or read from the memory of other ranks,
// by call.
func remoteBy(ranks []*profile.Profile, kind profile.Kind) map[string]volumes {
	moved := map[string]volumes{}
	for _, p := range ranks {
		p.EachFlow(func(row *profile.Row, f profile.Flow) {
			if f.Kind == kind {
				if moved[row.Call] == nil {
					moved[row.Call] = volumes{}
				}
				moved[row.Call].add(f.From, f.To, f.Bytes, f.Messages)
			}
		})
	}
	return moved
}

// TestWindows uses windows on the ranks in reverse order, so that the next rank
// is the one before in the world.
func TestWindows(t *testing.T) {
	next := func(ints ...int) volumes {
		v := volumes{}
		for _, n := range ints {
			v = v.plus(message(0, 2, 4*n)).plus(message(1, 0, 4*n)).plus(message(2, 1, 4*n))
		}
		return v
	}
	written := map[string]volumes{
		"Put": next(6, 10, 10, 11, 12).plus(toSelf(3, 4)), "Rput": next(8),
		"Accumulate": next(9), "Raccumulate": next(4), "Get_accumulate": next(3), "Rget_accumulate": next(5),
	}
	read := map[string]volumes{
		"Get": next(3).plus(toSelf(3, 8)), "Rget": next(6), "Get_accumulate": next(3),
		"Rget_accumulate": next(5, 7), "Fetch_and_op": next(1),
	}
	calls := map[string]uint64{
		// To the next rank, to itself, to MPI_PROC_NULL and to a rank that does
		// not exist.
		"Put": 1 + 2 + 1 + 1 + 1 + 1, "Get": 3, "Accumulate": 2, "Raccumulate": 2, "Rput": 2, "Rget": 2,
		"Get_accumulate": 2, "Rget_accumulate": 3, "Fetch_and_op": 2, "Compare_and_swap": 1,
		"Win_lock_all": 2, "Win_unlock_all": 2, "Win_lock": 1, "Win_unlock": 1, "Win_flush_all": 1,
		"Win_flush_local": 1, "Win_flush_local_all": 1, "Win_sync": 1, "Win_fence": 4,
		"Win_post": 2, "Win_start": 2, "Win_complete": 2, "Win_wait": 1,
		"Win_create": 1, "Win_allocate_shared": 1, "Win_create_dynamic": 1, "Win_attach": 1, "Win_detach": 1, "Win_free": 3,
		"Win_shared_query": 1, "Win_get_group": 1, "Win_set_name": 1, "Win_get_name": 1, "Win_get_info": 1, "Win_set_info": 1,
		"Win_create_keyval": 1, "Win_set_attr": 1, "Win_delete_attr": 1, "Win_free_keyval": 1, "Win_create_errhandler": 1,
		"Win_get_errhandler": 1, "Win_set_errhandler": 1, "Win_call_errhandler": 1, "Type_contiguous": 1, "Type_commit": 1,
	}
	for _, f := range countForms() {
		t.Run(f.name, func(t *testing.T) {
			withEach(t, f.has, func(t *testing.T, m implementation) {
				ranks := m.part(t, "windows", f.flags...)
				diff(t, "written", written, remoteBy(ranks, profile.RemoteWrite))
				diff(t, "read", read, remoteBy(ranks, profile.RemoteRead))
				got := callsBy(ranks)
				for call, n := range calls {
					diff(t, "calls of "+call, []uint64{n, n, n}, got[call])
				}
				if n := got["Win_test"]; n == nil || min(n[0], n[1], n[2]) == 0 {
					t.Errorf("calls of Win_test: %v, want some", n)
				}
				checkSyncMovesNothing(t, ranks)
			})
		})
	}
}

// checkSyncMovesNothing requires that rows of Win_ calls have a time, but no
// direction and no messages.
func checkSyncMovesNothing(t *testing.T, ranks []*profile.Profile) {
	t.Helper()
	for _, p := range ranks {
		for _, r := range p.Rows {
			if sync := strings.HasPrefix(r.Call, "Win_"); sync && (r.Direction != profile.None || r.Messages != 0 || r.TimeNs == 0) {
				t.Errorf("rank %d: %+v", p.Rank, r)
			}
		}
	}
}

// TestFileCalls has each family of MPI-IO calls move a different number of
// ints.
func TestFileCalls(t *testing.T) {
	families := []string{"%s", "%s_all", "%s_at", "%s_at_all", "%s_shared", "%s_ordered",
		"i%s", "i%s_all", "i%s_at", "i%s_at_all", "i%s_shared", "%s_all_begin", "%s_at_all_begin", "%s_ordered_begin"}
	once := []string{"File_set_size", "File_preallocate", "File_get_size", "File_get_amode", "File_get_group",
		"File_get_info", "File_set_info", "File_set_view", "File_get_view", "File_seek", "File_seek_shared",
		"File_get_position", "File_get_position_shared", "File_get_byte_offset", "File_get_type_extent",
		"File_set_atomicity", "File_get_atomicity", "File_create_errhandler", "File_get_errhandler",
		"File_set_errhandler", "File_call_errhandler", "File_sync", "File_open", "File_close"}
	for _, f := range countForms() {
		t.Run(f.name, func(t *testing.T) {
			withEach(t, f.has, func(t *testing.T, m implementation) {
				ranks := m.part(t, "file_calls", f.flags...)
				calls := callsBy(ranks)
				for _, p := range ranks {
					want := map[string]profile.FlowVolume{}
					for _, verb := range []string{"read", "write"} {
						for k, name := range families {
							ints := uint64(1 + p.Rank + k)
							want[verb+" File_"+fmt.Sprintf(name, verb)] = profile.FlowVolume{Bytes: 4 * ints, Count: 1}
						}
						for _, way := range []string{"_all_end", "_at_all_end", "_ordered_end"} {
							diff(t, "calls of "+verb+way, uint64(1), calls["File_"+verb+way][p.Rank])
						}
					}
					if d := cmp.Diff(want, movedByFiles(t, p)); d != "" {
						t.Errorf("rank %d (-want +got):\n%s", p.Rank, d)
					}
				}
				for _, call := range once {
					diff(t, "calls of "+call, []uint64{1, 1}, calls[call])
				}
				diff(t, "calls of File_delete", []uint64{1, 0}, calls["File_delete"])
				diff(t, "calls of File_write_at, one of which fails", []uint64{2, 2}, calls["File_write_at"])
				if v := sentBy(ranks); len(v) != 1 || v["Barrier"] == nil {
					t.Errorf("sent %v, want only barriers", v)
				}
			})
		})
	}
}

// movedByFiles returns what a process read and wrote, by direction and call.
func movedByFiles(t *testing.T, p *profile.Profile) map[string]profile.FlowVolume {
	t.Helper()
	moved := map[string]profile.FlowVolume{}
	for i := range p.Rows {
		if r := &p.Rows[i]; r.Class == profile.IO && r.Direction != profile.None {
			if r.Messages != 0 {
				t.Errorf("%s: got %d messages, want none: file calls have no receiver", r.Call, r.Messages)
			}
			v := moved[r.Direction.String()+" "+r.Call]
			v.Add(profile.FlowVolume{Bytes: r.Bytes, Count: r.Calls})
			moved[r.Direction.String()+" "+r.Call] = v
		}
	}
	return moved
}
