// The MPI's own performance variables (MPI_T), read beside what the program does:
// those that MPITRACE_PVAR names (globs, with commas between them), and the one
// that tells how many messages wait unexpected (unexpected.h).
//
// There is one session. A variable that belongs to no object is bound once; one
// of communicators to each of them, from when it is made (or MPI is initialized)
// until before it is freed; one of windows likewise. All are read at the end of
// MPI_Init, when a slice ends, at the first call after each
// MPITRACE_PVAR_INTERVAL, and before MPI_Finalize; those of an object when it
// comes and before it goes. Nothing is ever reset or written.
//
// Communicators that share a record (comm.h) share those of their handles too;
// and what is read when such a one comes or goes is left out where it is what was
// read last, so that 10,000 dup/free cycles stay flat. Readings take up to a quarter of
// what a recording may have; later ones are counted, but for those before
// MPI_Finalize.
//
// An object whose making was not seen is not followed, as its end might not be
// seen either, and the MPI would be made to read what is not there any more. Nor
// are intercommunicators under Open MPI: its variables have an element for each
// member of the local group and count the remote one's.
#ifndef MT_PVARS_H
#define MT_PVARS_H

#include "objects/comm.h"

// Reads the settings, and opens MPI_T if they ask for it: before MPI_Init, where
// that is cheaper. `caller` is as for mt_resolve.
void mt_pvars_prepare(uint64_t caller);

// When MPI is initialized, whether they are read from now on; and before the last of
// it is finalized.
bool mt_pvars_open(void);
void mt_pvars_close(void);

// A part of MPI is finalized while others are open: what objects are of it, and
// end with it, is not known.
void mt_pvars_forget_objects(void);

// How many messages wait unexpected on a communicator; false if nobody can tell.
bool mt_pvars_queued(const mt_comm *c, uint64_t *messages);

// Whether the MPI has a variable that tells, once opened.
bool mt_pvars_tell_queue(void);

#endif
