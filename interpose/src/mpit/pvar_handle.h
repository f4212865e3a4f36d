// What a handle of one of our performance variables holds: see tool_pvars.c, under
// whose lock all of this is.
#ifndef MT_PVAR_HANDLE_H
#define MT_PVAR_HANDLE_H

#include "record/slice.h"
#include "mpit/pvar_table.h"
#include "mpit/sums.h"
#include "mpit/tool.h"

enum { MT_FILE_NAME = 4000 };

// What a variable counts is read as it is in all: a handle has where it was when
// it was started, and what it counted before.
typedef struct mt_pvar_handle {
    uint64_t number; // by which the program knows it
    struct mt_tool_session *session;
    const mt_pvar_entry *variable;
    const mt_comm *comm; // or NULL
    int count;           // elements; of a text, bytes
    bool started;
    uint64_t *counted, *from; // [count], or NULL
    _Atomic uint64_t most;    // of MT_FORM_MOST
    mt_phase phase;           // of MT_FORM_FLUSH, while it is started
    mt_sums before;           // likewise: what had been sent when it was started
    struct mt_pvar_handle *next;     // of the session
    struct mt_pvar_handle *next_watching;
} mt_pvar_handle;

typedef struct mt_tool_session {
    MPI_T_pvar_session library;
    mt_pvar_handle *handles;
    char *file; // of pml_monitoring_flush, or NULL
} mt_tool_session;

int mt_pvar_handle_start(mt_pvar_handle *h);
int mt_pvar_handle_stop(mt_pvar_handle *h);
int mt_pvar_handle_reset(mt_pvar_handle *h);
int mt_pvar_handle_read(mt_pvar_handle *h, void *buffer);
int mt_pvar_handle_readreset(mt_pvar_handle *h, void *buffer);
int mt_pvar_handle_write(mt_pvar_handle *h, const char *text);

// It is to be freed.
void mt_pvar_handle_free(mt_pvar_handle *h);

// Whether anything is counted that a handle could be asked for.
bool mt_pvar_handle_live(void);

// See mt_pvar_table_freeze.
extern MT_OURS bool mt_pvar_handle_frozen;
void mt_pvar_handle_freeze(mt_pvar_handle *h);
void mt_pvar_handle_thaw(mt_pvar_handle *h);

#endif
