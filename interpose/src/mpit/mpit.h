// Layer 6, mpit: what is read while the program runs, and what is served. The MPI's
// own variables, those that programs read of ours through MPI_T, and the sums that
// these and .prof are made of.
// It calls base/, file/, record/, objects/ and calls/.
//
// MPI's tool information interface, as the library reads it: nothing here is
// touched unless a setting asks for it, since opening it is not free (Open MPI
// 4.1 registers all its components then, which takes a quarter of a second).
#ifndef MT_MPIT_H
#define MT_MPIT_H

#include "base/resolve.h"

// Opens the interface, once, at any time after mt_resolve; false, with a line on
// stderr, if the MPI has none or refuses. `caller` is as for mt_resolve.
//
// It stays open. Open MPI 4.1 crashes where it is closed after MPI_Finalize; 5.0
// where MPI is initialized, once more or at all, after it was closed; and nobody
// can tell whether a session that is closed is the last. Left open it does no harm
// but one: see mt_mpit_close.
bool mt_mpit_open(uint64_t caller);

// For good, before MPI_Finalize: for Open MPI's monitoring, which writes what it
// counted when nothing is open any more (--physical). The program opens its own.
void mt_mpit_close(void);

// The MPI was unloaded.
void mt_mpit_forget(void);

// The datatypes that variables have.
typedef struct mt_mpit_type {
    const char *name; // for people
    size_t size;
    uint32_t kind; // MT_PVAR_SIGNED and so on
} mt_mpit_type;

// NULL for any other.
const mt_mpit_type *mt_mpit_type_of(MPI_Datatype type);

// The handle of one of them, by name, at any time after mt_resolve; `caller` as above.
MPI_Datatype mt_mpit_handle_of(const char *name, uint64_t caller);

// A value as 64 bits: signed ones keep their sign, of doubles it is the bits.
uint64_t mt_mpit_word(const mt_mpit_type *type, const void *value);

#endif
