// Layer 6, mpit: what the library reads while the program runs, and what it offers
// the program. It reads the MPI's own variables, offers our variables through MPI_T,
// and computes the sums that these variables and the .prof file consist of. It calls
// base/, file/, record/, objects/ and calls/.
//
// This header is for reading the MPI's tool information interface (MPI_T). The
// library opens MPI_T only if a setting asks for it, because that takes time: Open
// MPI 4.1 registers all its components then, which takes a quarter of a second.
#ifndef MT_MPIT_H
#define MT_MPIT_H

#include "base/resolve.h"

// Opens MPI_T, once, at any time after mt_resolve. Returns false and prints a message
// if the MPI has no MPI_T or refuses to open it. `caller` is as for mt_resolve.
//
// It stays open. Open MPI 4.1 crashes if MPI_T is closed after MPI_Finalize. Open MPI
// 5.0 crashes if MPI is initialized, for the first time or again, after MPI_T was
// closed. And the library cannot know whether a session that is closed is the last
// one. Leaving MPI_T open has one drawback: see mt_mpit_close.
bool mt_mpit_open(uint64_t caller);

// Closes MPI_T for good, before MPI_Finalize. This is for --physical: Open MPI's
// monitoring writes its counts only when MPI_T is no longer open. The program opens
// MPI_T separately.
void mt_mpit_close(void);

// Forgets the state of MPI_T, because the MPI was unloaded.
void mt_mpit_forget(void);

// The type of a variable's value.
typedef struct mt_mpit_type {
    const char *name; // for messages
    size_t size;
    uint32_t kind; // MT_PVAR_SIGNED, …
} mt_mpit_type;

// Returns the type of a datatype handle, or NULL if variables do not have this
// datatype.
const mt_mpit_type *mt_mpit_type_of(MPI_Datatype type);

// Returns the datatype handle of a type, by the type's name, at any time after
// mt_resolve. `caller` is as for mt_resolve.
MPI_Datatype mt_mpit_handle_of(const char *name, uint64_t caller);

// Returns a value as 64 bits. Signed values keep their sign; a double is returned as
// its bits.
uint64_t mt_mpit_word(const mt_mpit_type *type, const void *value);

#endif
