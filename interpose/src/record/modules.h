// The files that are loaded into the process, for naming call sites later.
//
// A call site is an address, and rows are found by it. When a file is unloaded
// the next one may be loaded to the same addresses, and its calls must not be
// added to the rows of the first. So when a file is unloaded, every site recorded
// in it is moved: its address is replaced by one from MT_UNLOADED on, which no
// loaded file has. The file is recorded a second time with these addresses.
// Nothing is added to the path of a call: dlclose does all the work.
#ifndef MT_MODULES_H
#define MT_MODULES_H

#include "base/base.h"
#include "base/hook.h"

// Sites from start to start + size are to become site + delta.
typedef struct mt_move {
    uint64_t start, size, delta;
} mt_move;

// Whoever keeps call sites moves them: first those that are to be booked yet, so that
// none is booked where it was, then all others.
typedef void mt_hook_pending_sites_move(const mt_move *move);
typedef void mt_hook_sites_move(const mt_move *move);
MT_HOOK(pending_sites_move);
MT_HOOK(sites_move);

MT_INLINE bool mt_moves(const mt_move *m, uint64_t site)
{
    return site - m->start < m->size;
}

// Moves the site in a word that its owner may be reading or replacing. Returns
// whether it was one of those that move.
MT_INLINE bool mt_move_site(const mt_move *m, uint64_t *word)
{
    uint64_t site = mt_read(word);
    return mt_moves(m, site) &&
           __atomic_compare_exchange_n(word, &site, site + m->delta, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

// Records the modules that are not recorded yet.
void mt_modules_scan(void);

// The address is a call site, or in a stack. Scans again if it lies in no module
// that is known.
void mt_modules_meet(uint64_t address);

// Files may have been unloaded: moves the sites in those that were. While nothing
// is recorded this is only noted, and done by mt_modules_resume.
void mt_modules_unloaded(void);

// The recording is written again after it had ended.
void mt_modules_resume(void);

#endif
