// Distinct stacks, each of which is written to the log once. The table of stacks points
// to the log records: a lookup takes no lock and allocates no memory.
//
// Optimized programs have no frame pointers, so the stack is walked by glibc's
// backtrace(). It reads the tables that each file has for exceptions. That costs
// microseconds per call, most of it independent of the depth.
#include "record/stack.h"

#include "base/lock.h"
#include "base/settings.h"
#include "file/recording.h"
#include "file/settings_log.h"
#include "record/modules.h"
#include "record/record.h"

#include <errno.h>
#include <execinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

// Frames in front of the program's: those of mt_stack_site, mt_enter_from, the wrapper
// and its out-of-line part; and those that an MPI's Fortran layer may add.
enum { MT_OWN_FRAMES = 4, MT_LAYER_FRAMES = 16, MT_STACK_SLOTS = 2 * MT_MAX_STACKS };

typedef struct stack {
    uint32_t depth;
    const uint64_t *frames;
} stack;

// Written in MPI_Init; `count`, `full` and the entries of `slots` later, under MT_LOCK_STACKS.
static int depth_wanted;
static _Atomic(mt_l_stack *) *slots; // MT_STACK_SLOTS entries, never more than half of them used
static uint32_t count;
static bool full;

void mt_stack_open(void)
{
    const char *text = mt_setting_text(MT_SETTING_STACK);
    if (!text)
        return;
    bool automatic = strcmp(text, "auto") == 0; // readers decide which frames are wrappers, as they know the names
    char *end = NULL;
    long n = automatic ? MT_AUTO_STACK_DEPTH : strtol(text, &end, 10);
    if ((end && *end) || n < 0 || n > MT_MAX_STACK_DEPTH) {
        mt_log("MPITRACE_STACK=%s is neither auto nor a number of callers from 0 to %d: no stacks are recorded", text,
               MT_MAX_STACK_DEPTH);
        mt_setting_log_rejected(MT_SETTING_STACK);
        return;
    }
    if (n < 2)
        return; // rows have one frame anyway
    void *map = mmap(NULL, MT_STACK_SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        mt_log("no memory for stacks on rank %d: call sites are recorded without their callers", mt_process.world_rank);
        return;
    }
    void *warm[1];
    backtrace(warm, 1); // the first call loads libgcc_s and allocates memory
    slots = map;
    depth_wanted = (int)n;
    mt_record.stacks_on = true;
    mt_flag_set(MT_FLAG_SITES, true);
}

static uint64_t hash(stack s)
{
    uint64_t h = s.depth;
    for (uint32_t i = 0; i < s.depth; i++)
        h = (h ^ s.frames[i]) * 0xd6e8feb86659fd93u, h ^= h >> 32;
    return h;
}

// Returns the slot of a stack, or the empty slot where it belongs.
static _Atomic(mt_l_stack *) *stack_slot(stack s, uint64_t h)
{
    for (uint64_t i = h % MT_STACK_SLOTS;; i = (i + 1) % MT_STACK_SLOTS) {
        mt_l_stack *r = atomic_load_explicit(&slots[i], memory_order_acquire);
        if (!r || (r->depth == s.depth && memcmp(r + 1, s.frames, s.depth * sizeof *s.frames) == 0))
            return &slots[i];
    }
}

static mt_l_stack *append(stack s)
{
    mt_l_stack *r = mt_recording_begin(sizeof *r + s.depth * sizeof *s.frames);
    if (!r)
        return NULL;
    r->id = count++;
    r->depth = s.depth;
    memcpy(r + 1, s.frames, s.depth * sizeof *s.frames);
    mt_recording_commit(r, MT_RECORD_STACK);
    return r;
}

// Adds a stack that is seen for the first time. Returns NULL if there is no room.
static mt_l_stack *add(stack s, uint64_t h)
{
    int saved = errno;
    mt_lock(MT_LOCK_STACKS);
    _Atomic(mt_l_stack *) *slot = stack_slot(s, h); // another thread may have added it
    mt_l_stack *r = atomic_load_explicit(slot, memory_order_relaxed);
    if (!r && !full) {
        r = count < MT_MAX_STACKS ? append(s) : NULL;
        if (r)
            atomic_store_explicit(slot, r, memory_order_release);
        else
            full = true;
        if (full && count == MT_MAX_STACKS)
            mt_log("rank %d has more than %u stacks: call sites in further stacks are recorded without their callers",
                   mt_process.world_rank, count);
    }
    mt_unlock(MT_LOCK_STACKS);
    for (uint32_t i = 0; r && i < s.depth; i++)
        mt_modules_add_site(s.frames[i]);
    errno = saved;
    return r;
}

// Moves the addresses in recorded stacks. Such a stack stays in its slot, and no stack
// that is walked later is equal to it.
static void move_stacks(const mt_move *move)
{
    if (!slots)
        return;
    mt_lock(MT_LOCK_STACKS);
    for (uint32_t i = 0; i < MT_STACK_SLOTS; i++) {
        mt_l_stack *r = atomic_load_explicit(&slots[i], memory_order_relaxed);
        for (uint32_t k = 0; r && k < r->depth; k++)
            mt_move_site(move, (uint64_t *)(r + 1) + k);
    }
    mt_unlock(MT_LOCK_STACKS);
}

MT_REGISTER(sites_move, move_stacks);

// Returns the frames from `site` on. The frames before it are ours, and those of the
// MPI's Fortran layer, if there is one. The depth is 0 if `site` is not among the first
// `size` frames, or if fewer than the wanted number follow it there.
MT_INLINE stack walk(uint64_t site, void **frames, int size)
{
    int n = backtrace(frames, size);
    for (int i = 0; i < n; i++)
        if ((uint64_t)(uintptr_t)frames[i] == site && (i + depth_wanted <= n || n < size)) {
            int depth = n - i < depth_wanted ? n - i : depth_wanted;
            return (stack){(uint32_t)depth, (const uint64_t *)(void *)&frames[i]};
        }
    return (stack){0, NULL};
}

uint64_t mt_stack_site(uint64_t site)
{
    _Static_assert(sizeof(void *) == sizeof(uint64_t), "frames are read as 64-bit words");
    void *frames[MT_MAX_STACK_DEPTH + MT_LAYER_FRAMES];
    stack s = walk(site, frames, depth_wanted + MT_OWN_FRAMES);
    if (!s.depth)
        s = walk(site, frames, depth_wanted + MT_LAYER_FRAMES);
    if (!s.depth)
        return site; // the stack cannot be walked from here
    uint64_t h = hash(s);
    mt_l_stack *r = atomic_load_explicit(stack_slot(s, h), memory_order_acquire);
    if (!r)
        r = add(s, h);
    if (r)
        return MT_STACK_SITE | r->id;
    mt_count_lost(&mt_process.header->lost_stacks, 1);
    return site;
}
