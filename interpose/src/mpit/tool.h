// MPI's tool interface as programs see it: the library's variables and ours. Calls
// for the library's variables are passed on to it. In the files tool*.c and tool.h,
// "the library" is the MPI library.
//
// Indices never change. What the library has when the program first opens the
// interface keeps its indices. Ours follow, and what the library adds later (Open
// MPI, in MPI_Init) comes after ours.
#ifndef MT_TOOL_H
#define MT_TOOL_H

#include "base/hook.h"
#include "base/resolve.h"
#include "base/settings.h"

typedef enum mt_tool_kind { MT_TOOL_PVARS, MT_TOOL_CVARS, MT_TOOL_CATEGORIES, MT_TOOL_KINDS } mt_tool_kind;

// How a call of MPI_T is to be answered. `site` is an address in the program: see
// mt_resolve.
typedef enum mt_tool_state {
    MT_TOOL_OPEN,
    MT_TOOL_CLOSED, // return MPI_T_ERR_NOT_INITIALIZED
    MT_TOOL_OTHER,  // pass on: it is for an MPI that this library was not built for
} mt_tool_state;
mt_tool_state mt_tool_enter(uint64_t site);

// Begins a wrapper. Returns from it if the interface is closed, and passes the call
// on if it is for another MPI.
#define MT_TOOL_ENTER(pass_on)                                                                                         \
    do {                                                                                                               \
        mt_tool_state state_ = mt_tool_enter((uint64_t)(uintptr_t)__builtin_return_address(0));                        \
        if (state_ != MT_TOOL_OPEN)                                                                                    \
            return state_ == MT_TOOL_CLOSED ? MPI_T_ERR_NOT_INITIALIZED : mt_pmpi.pass_on;                             \
    } while (0)

// Called when MPI is being finalized: closes the library's interface if the program
// has closed it. (Open MPI's monitoring writes its files only then.)
void mt_tool_finalizing(void);

// Forgets the state of the interface, because the MPI was unloaded.
void mt_tool_forget(void);

// Hooks. The program opened the interface, with a call from `site`. Or it closed the
// interface for the last time: handles that were not freed are invalid.
typedef void mt_hook_tool_opened(uint64_t site);
typedef void mt_hook_tool_closed(void);
MT_HOOK(tool_opened);
MT_HOOK(tool_closed);

// The number of our own categories and control variables. The control variables are the settings
// and mpitrace_enabled.
enum { MT_TOOL_OWN_CATEGORIES = 1, MT_TOOL_OWN_CVARS = MT_SETTINGS_COUNT + 1 };

// Programs use one range of indices for the library's entries and for ours. mt_tool_own returns the
// number of our entry with this index, or -1 if the entry is not ours. mt_tool_index_of_own does
// the reverse. mt_tool_library returns the library's index of an entry that is not ours.
int mt_tool_own(mt_tool_kind kind, int index);
int mt_tool_library(mt_tool_kind kind, int index);
int mt_tool_index_of_own(mt_tool_kind kind, int own);
int mt_tool_index_of_library(mt_tool_kind kind, int library);

// Reports whether the index is valid. Not all libraries check that.
bool mt_tool_has(mt_tool_kind kind, int index);

// Returns how many of a kind programs see, if the library has `library` of them.
int mt_tool_count(mt_tool_kind kind, int library);

// Returns a string as the Standard requires. Copies at most *length - 1 characters
// and a terminator, and sets *length to the size of the whole string with its
// terminator. Without a buffer, or if *length is 0, it only sets *length. Does
// nothing if `length` is NULL.
void mt_tool_text(const char *text, char *buffer, int *length);

// Stores a value, unless the caller passed NULL.
#define MT_TOOL_STORE(place, value)                                                                                    \
    do {                                                                                                               \
        if (place)                                                                                                     \
            *(place) = (value);                                                                                        \
    } while (0)

// Returns a new handle of ours. Our handles are not addresses but numbers that no
// address can have. Each number is given out once. Therefore a freed handle is
// recognized, and a handle of ours is never passed to the library.
uint64_t mt_tool_new_handle(void);

static inline bool mt_tool_is_own(const void *handle)
{
    return (uintptr_t)handle >> 48 == 0x6d74;
}

#endif
