// The MPI's own performance variables (MPI_T), read while the program runs: those
// that MPITRACE_PVAR names (globs, separated by commas), and the length of the queue
// of unexpected messages (unexpected.h).
//
// There is one session. A variable without an object is bound once. A variable of
// communicators is bound to each communicator, from when it is made (or MPI is
// initialized) until just before it is freed; a variable of windows likewise. All
// variables are read at the end of MPI_Init, when a slice ends, at the first call
// after each MPITRACE_PVAR_INTERVAL, and before MPI_Finalize. The variables of an
// object are also read when it is made and before it is freed. No variable is ever
// reset or written.
//
// Communicators that share a record (comm.h) also share their handle records.
// Readings when such a communicator is made or freed are omitted if they equal the
// last reading, so that 10,000 dup/free cycles do not enlarge the recording. Readings
// take up to a quarter of the recording's maximum size. Later ones are only counted,
// except for those at MPI_Init and MPI_Finalize.
//
// An object is not followed if the library did not see it being made. It might not
// see it being freed either, and would then make the MPI read memory that is no
// longer there. Intercommunicators are not followed under Open MPI, whose variables
// have an element for each member of the local group but count those of the remote
// group.
#ifndef MT_PVARS_H
#define MT_PVARS_H

#include "objects/comm.h"

// Reads the settings, and opens MPI_T if they ask for it. Called before MPI_Init,
// because opening it is cheaper there. `caller` is as for mt_resolve.
void mt_pvars_prepare(uint64_t caller);

// Called when MPI is initialized, and before the last open part of MPI (world model
// or session) is finalized. mt_pvars_open reports whether the variables are read from
// then on.
bool mt_pvars_open(void);
void mt_pvars_close(void);

// Stops following all objects. Called when a part of MPI is finalized while others
// are open: it is not known which objects belong to that part and end with it.
void mt_pvars_forget_objects(void);

// Reads how many messages wait in a communicator's queue of unexpected messages.
// Returns false if that is not known.
bool mt_pvars_queue_length(const mt_comm *c, uint64_t *messages);

// Reports whether the MPI has a variable for the length of that queue. Valid once
// mt_pvars_open has returned true.
bool mt_pvars_have_queue(void);

#endif
