package nullmpi

import (
	"path/filepath"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// messages are the phases of programs/messages.c.
func messages() map[string]phase {
	five := []uint64{12, 12, 12, 12, 12}
	return map[string]phase{
		"sends": newPhase().sent("Send", 0, 1).sent("Bsend", 0, 2*4).sent("Ssend", 0, 3*8).sent("Rsend", 0, 4*2).
			sent("Isend", 2, 50).sent("Ibsend", 2, 60).sent("Issend", 2, 70).sent("Irsend", 2, 80),
		"receives": newPhase().received("Recv", 0, 1, 2*4).received("Mrecv", 0, 3*8).received("Imrecv", 0, 4*2).
			received("Irecv", 2, 50, 60, 70, 80),
		"nobody": newPhase(),
		"both": newPhase().sent("Sendrecv", 2, 10*4).received("Sendrecv", 2, 10*4).
			sent("Isendrecv", 0, 11*4).ended(profile.UntoldReceive, 1), // no MPI with this ABI has to set its status
		"persistent": newPhase().sent("Startall", 2, five...).received("Startall", 2, five...).
			sent("Start", 2, 3*4).received("Recv", 2, 3*4),
		"partitioned": newPhase().sent("Startall", 0, 80, 80, 80).received("Startall", 0, 80, 80, 80),
		"truncated": newPhase().sent("Send", 2, 20, 20, 20, 20).received("Irecv", 2, 20).
			ended(profile.TruncatedReceive, 3),
		"chosen": newPhase().sent("Send", 0, 7, 7).received("Recv", 2, 5000000000, 4),
		"failed": newPhase().sent("Send", 0, 50, 60, 70, 80, 90).sent("Sendrecv", 0, 95).
			ended(profile.FailedReceive, 1+1+1+2+1).ended(profile.DoubtfulSend, 1),
		"cancelled": newPhase().sent("Isend", 0, 30, 30, 30, 40, 30).ended(profile.CancelledSend, 2+1).
			ended(profile.FreedSend, 1).ended(profile.CancelledReceive, 1).ended(profile.FreedReceive, 1),
		"cancelled persistent": newPhase().sent("Start", 0, 20, 20, 20).
			ended(profile.CancelledSend, 2).ended(profile.FreedSend, 1),
		"unfinished": newPhase().ended(profile.UnfinishedReceive, 2),
	}
}

// TestMessages compares what a program moved and what failed with what its source says.
// The second time, the library cannot find the count in a status and has to ask the MPI.
func TestMessages(t *testing.T) {
	withChecks(t, func(t *testing.T, m *MPI) {
		program := m.Compile(t, filepath.Join("programs", "messages.c"))
		for _, count := range []string{"", "hidden"} {
			t.Logf("the count of a status is %q", count)
			checkPhases(t, m.Record(t, []string{"NULLMPI_SIZE=3", "NULLMPI_RANK=1", "NULLMPI_COUNT=" + count}, program), 3, messages())
		}
	})
}
