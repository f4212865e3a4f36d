// The files that are loaded into the process, for naming call sites later.
//
// A call site is an address, and rows are found by it. When a file is unloaded, another
// file may be loaded at the same addresses, and its calls must not be added to the rows
// of the first one. So when a file is unloaded, every site that was recorded in it is
// moved: its address is replaced by one from MT_UNLOADED on, where no file is ever
// loaded. The file is recorded a second time, with the new addresses. A call has no
// extra cost: dlclose does all the work.
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "base/base.h"
#include "base/hook.h"

// Sites from start to start + size become site + delta.
typedef struct mt_move {
    uint64_t start, size, delta;
} mt_move;

// Called to move the sites that a part of the library keeps. Sites of calls that are
// not booked yet are moved first, so that none is booked at its old address, and then
// all others.
typedef void mt_hook_pending_sites_move(const mt_move *move);
typedef void mt_hook_sites_move(const mt_move *move);
MT_HOOK(pending_sites_move);
MT_HOOK(sites_move);

// Reports whether a site is one of those that move.
MT_INLINE bool mt_moves(const mt_move *m, uint64_t site)
{
    return site - m->start < m->size;
}

// Moves the site in a word that its owner may be reading or replacing. Returns whether
// it did.
MT_INLINE bool mt_move_site(const mt_move *m, uint64_t *word)
{
    uint64_t site = mt_read(word);
    return mt_moves(m, site) &&
           __atomic_compare_exchange_n(word, &site, site + m->delta, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Records the loaded files that are not recorded yet.
void mt_modules_scan(void);

// Called when an address is a new call site, or in a new stack. Looks for newly loaded
// files if it lies in no known module.
void mt_modules_add_site(uint64_t address);

// Called when files may have been unloaded: moves the sites in those that were. While
// nothing is recorded it only notes them, and mt_modules_resume moves their sites.
void mt_modules_unloaded(void);

// Called when the recording is resumed after it had ended.
void mt_modules_resume(void);

#endif
