package e2e

import "testing"

// TestUnseenConstructors uses communicators whose constructors the library does
// not see. The library must query their members from the MPI and must not lose
// any message; the ids of such communicators are a guess.
func TestUnseenConstructors(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.recorded(t, "unseen").ranks
		sent := message(0, 1, 12)
		want{
			sent:     map[string]volumes{"Send": sent, "Put": message(0, 1, 16)},
			received: map[string]volumes{"Recv": sent},
		}.check(t, ranks)
	})
}

// TestIdupIntoAVariableThatIsGone completes an MPI_Comm_idup after the variable
// that it wrote to no longer exists.
func TestIdupIntoAVariableThatIsGone(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.part(t, "idup_moved")
		checkMembers(t, ranks, map[string][]int{"moved": {0, 1}})
		diff(t, "sent", map[string]volumes{"moved": message(0, 1, 9)}, pointToPointByComm(ranks))
		for _, p := range ranks {
			if c := named(t, p, "moved"); c.Constructor != "Comm_idup" {
				t.Errorf("rank %d: made by %q, want Comm_idup", p.Rank, c.Constructor)
			}
		}
	})
}

func TestPersistentCollectivesBeforeTheStandard(t *testing.T) {
	early := func(m implementation) bool { return m.name == "openmpi" } // the other MPIs have these calls under MPI_ names
	withEach(t, early, func(t *testing.T, m implementation) {
		want{
			sent: map[string]volumes{
				"Allreduce_init": toOthers(3, func(from, to int) int { return 5 * 4 }).times(2),
				"Bcast_init":     message(1, 0, 7).plus(message(1, 2, 7)),
			},
			calls: map[string][]uint64{"Allreduce_init": {1, 1, 1}, "Bcast_init": {1, 1, 1}, "Start": {3, 3, 3}},
		}.check(t, m.part(t, "early_persistent"))
	})
}

func TestMPI41(t *testing.T) {
	withEach(t, can(callsOfMPI41), func(t *testing.T, m implementation) {
		sends := messages(0, 1, 10, 20, 30, 40)
		ranks := m.part(t, "mpi41")
		want{
			sent:     map[string]volumes{"Send": sends, "Ibsend": message(0, 1, 50)},
			received: map[string]volumes{"Irecv": sends, "Recv": message(0, 1, 50)},
			calls: map[string][]uint64{
				"Comm_attach_buffer": {1, 1}, "Comm_flush_buffer": {1, 0}, "Comm_detach_buffer": {1, 1},
			},
		}.check(t, ranks)
		for _, call := range []string{"Request_get_status_any", "Request_get_status_some", "Request_get_status_all"} {
			if n := callsBy(ranks)[call]; n == nil || n[0] != 0 || n[1] == 0 {
				t.Errorf("calls of %s: %v, want some, on rank 1 only", call, n)
			}
		}
	})
}

// TestCallsThatMoveNothing has rank r make each of these calls r + 1 times.
// They must be counted and move no data.
func TestCallsThatMoveNothing(t *testing.T) {
	programs := map[string][]string{
		"rest": {"Comm_group", "Group_incl", "Group_excl", "Group_compare", "Group_free",
			"Comm_create_keyval", "Comm_set_attr", "Comm_delete_attr", "Comm_free_keyval",
			"Comm_create_errhandler", "Comm_get_errhandler", "Comm_set_errhandler", "Comm_call_errhandler",
			"Errhandler_free", "Add_error_class", "Add_error_code", "Add_error_string",
			"Comm_get_name", "Type_get_name", "Get_processor_name", "Op_create", "Op_commutative", "Op_free",
			"Comm_get_info", "Info_get_nkeys"},
		"manage": {"Group_union", "Group_intersection", "Group_difference", "Group_range_incl", "Group_range_excl",
			"Type_vector", "Type_indexed", "Type_create_hvector", "Type_create_hindexed", "Type_create_hindexed_block",
			"Type_create_indexed_block", "Type_create_struct", "Type_create_subarray", "Type_create_darray",
			"Type_create_resized", "Type_dup", "Type_set_name", "Type_get_contents", "Type_create_keyval",
			"Type_set_attr", "Type_delete_attr", "Type_free_keyval", "Type_match_size", "Alloc_mem", "Free_mem",
			"Pack", "Unpack", "Pack_external", "Unpack_external", "Reduce_local", "Info_create", "Info_set", "Info_get",
			"Info_get_valuelen", "Info_get_nthkey", "Info_dup", "Info_delete", "Info_free", "Grequest_start",
			"Grequest_complete", "Cart_get", "Cart_map", "Graph_get", "Graph_map", "Graph_neighbors",
			"Dist_graph_neighbors", "Comm_remote_group"},
	}
	for program, made := range programs {
		t.Run(program, func(t *testing.T) {
			withEach(t, anyMPI, func(t *testing.T, m implementation) {
				ranks := m.part(t, program)
				calls := callsBy(ranks)
				for _, call := range made {
					diff(t, "calls of "+call, []uint64{1, 2}, calls[call])
				}
				want{}.check(t, ranks)
				diff(t, "abnormal", map[string]uint64{}, abnormalOf(ranks))
			})
		})
	}
}
