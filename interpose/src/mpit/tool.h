// MPI's tool interface as programs see it: the library's variables, and ours
// among them. What is the library's is passed on to it.
//
// Indices never change: what the library has when the program first opens the
// interface keeps its own, ours follow, and what the library adds later (Open
// MPI, in MPI_Init) comes after those.
#ifndef MT_TOOL_H
#define MT_TOOL_H

#include "base/hook.h"
#include "base/resolve.h"
#include "base/settings.h"

typedef enum mt_tool_kind { MT_TOOL_PVARS, MT_TOOL_CVARS, MT_TOOL_CATEGORIES, MT_TOOL_KINDS } mt_tool_kind;

// Whose a call is. `site` is an address in the program: see mt_resolve.
typedef enum mt_tool_state {
    MT_TOOL_OPEN,
    MT_TOOL_CLOSED, // MPI_T_ERR_NOT_INITIALIZED
    MT_TOOL_OTHER,  // another MPI's, which we know nothing of
} mt_tool_state;
mt_tool_state mt_tool_enter(uint64_t site);

// Begins a wrapper that passes on what it cannot answer.
#define MT_TOOL_ENTER(pass_on)                                                                                         \
    do {                                                                                                               \
        mt_tool_state state_ = mt_tool_enter((uint64_t)(uintptr_t)__builtin_return_address(0));                        \
        if (state_ != MT_TOOL_OPEN)                                                                                    \
            return state_ == MT_TOOL_CLOSED ? MPI_T_ERR_NOT_INITIALIZED : mt_pmpi.pass_on;                             \
    } while (0)

// MPI is being finalized: the library's interface is closed if the program has
// closed it. (Open MPI's monitoring writes its files only then.)
void mt_tool_finalizing(void);

// The MPI was unloaded.
void mt_tool_forget(void);

// The program opened the interface, with a call from `site`; or closed it for the last
// time: handles that were not freed are gone.
typedef void mt_hook_tool_opened(uint64_t site);
typedef void mt_hook_tool_closed(void);
MT_HOOK(tool_opened);
MT_HOOK(tool_closed);

// How many of a kind there are of ours: the settings, and whether calls are recorded.
enum { MT_TOOL_OWN_CATEGORIES = 1, MT_TOOL_OWN_CVARS = MT_SETTINGS_COUNT + 1 };

// Which of ours has an index, or -1; what the library has at an index that is not
// ours; and the other way round.
int mt_tool_own(mt_tool_kind kind, int index);
int mt_tool_library(mt_tool_kind kind, int index);
int mt_tool_index_of_own(mt_tool_kind kind, int own);
int mt_tool_index_of_library(mt_tool_kind kind, int library);

// Whether there is something at an index: libraries do not all look.
bool mt_tool_has(mt_tool_kind kind, int index);

// How many there are, when the library has so many.
int mt_tool_count(mt_tool_kind kind, int library);

// Returns a string as the Standard has it: at most *length - 1 characters and a
// terminator, and in *length what the whole takes; only that where there is no
// buffer or no length, and nothing where there is no place for the length.
void mt_tool_text(const char *text, char *buffer, int *length);

// Returns a value where somebody wants it.
#define MT_TOOL_GIVE(place, value)                                                                                     \
    do {                                                                                                               \
        if (place)                                                                                                     \
            *(place) = (value);                                                                                        \
    } while (0)

// Handles of ours are no addresses but numbers that no address has, each given
// once: one that was freed is known to be, and the library never gets to see one.
uint64_t mt_tool_new_handle(void);

static inline bool mt_tool_is_own(const void *handle)
{
    return (uintptr_t)handle >> 48 == 0x6d74;
}

#endif
