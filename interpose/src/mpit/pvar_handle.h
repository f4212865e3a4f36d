// Handles of our performance variables. All functions and fields are used under the
// lock of tool_pvars.c, except `next_watching` (MT_LOCK_WATCHING) and `maximum`
// (atomic).
#ifndef MT_PVAR_HANDLE_H
#define MT_PVAR_HANDLE_H

#include "record/slice.h"
#include "mpit/pvar_table.h"
#include "mpit/sums.h"
#include "mpit/tool.h"

enum { MT_FILE_NAME = 4000 };

// A handle of one of our performance variables. A variable that counts is read as a
// total. The handle therefore keeps the total when it was started or last read
// (`from`), and the sum of what it has counted until then (`counted`).
typedef struct mt_pvar_handle {
    uint64_t number; // the handle that the program has
    struct mt_tool_session *session;
    const mt_pvar_entry *variable;
    const mt_comm *comm; // or NULL
    int count;           // number of elements; of a text, bytes
    bool started;
    uint64_t *counted, *from; // [count]; NULL if the variable does not count
    _Atomic uint64_t maximum; // MT_FORM_HIGHWATERMARK: the high-water mark; MPI calls of other threads raise it
    mt_phase phase;           // MT_FORM_FLUSH, while it is started
    mt_sums before;           // likewise: what had been sent when it was started; while frozen, the sums of the phase
    struct mt_pvar_handle *next;     // in the session
    struct mt_pvar_handle *next_watching;
} mt_pvar_handle;

typedef struct mt_tool_session {
    MPI_T_pvar_session library;
    mt_pvar_handle *handles;
    char *file; // the value of pml_monitoring_flush, or NULL
} mt_tool_session;

int mt_pvar_handle_start(mt_pvar_handle *h);
int mt_pvar_handle_stop(mt_pvar_handle *h);
int mt_pvar_handle_reset(mt_pvar_handle *h);
int mt_pvar_handle_read(mt_pvar_handle *h, void *buffer);
int mt_pvar_handle_readreset(mt_pvar_handle *h, void *buffer);
int mt_pvar_handle_write(mt_pvar_handle *h, const char *text);

// Releases what the handle holds, before its memory is freed.
void mt_pvar_handle_free(mt_pvar_handle *h);

// Reports whether calls are recorded and counted now.
bool mt_pvar_handle_live(void);

// Called for each handle by mt_pvar_table_freeze and mt_pvar_table_thaw.
void mt_pvar_handle_freeze(mt_pvar_handle *h);
void mt_pvar_handle_thaw(mt_pvar_handle *h);

#endif
