// What a handle of one of our performance variables holds: see tool_pvars.c, under
// whose lock all of this is.
#ifndef MT_HELD_H
#define MT_HELD_H

#include "offered.h"
#include "slice.h"
#include "sums.h"
#include "tool.h"

enum { MT_FILE_NAME = 4000 };

// What a variable counts is read as it is in all: a handle has where it was when
// it was started, and what it counted before.
typedef struct mt_held {
    uint64_t number; // by which the program knows it
    struct mt_tool_session *session;
    const mt_offered *variable;
    const mt_comm *comm; // or NULL
    int count;           // elements; of a text, bytes
    bool started;
    uint64_t *counted, *from; // [count], or NULL
    _Atomic uint64_t most;    // of MT_FORM_MOST
    mt_phase phase;           // of MT_FORM_FLUSH, while it is started
    mt_sums before;           // likewise: what had been sent when it was started
    struct mt_held *next;     // of the session
    struct mt_held *next_watching;
} mt_held;

typedef struct mt_tool_session {
    MPI_T_pvar_session library;
    mt_held *handles;
    char *file; // of pml_monitoring_flush, or NULL
} mt_tool_session;

int mt_held_start(mt_held *h);
int mt_held_stop(mt_held *h);
int mt_held_reset(mt_held *h);
int mt_held_read(mt_held *h, void *buffer);
int mt_held_readreset(mt_held *h, void *buffer);
int mt_held_write(mt_held *h, const char *text);

// It is to be freed.
void mt_held_let_go(mt_held *h);

// Whether anything is counted that a handle could be asked for.
bool mt_held_live(void);

// See mt_offered_freeze.
extern MT_OURS bool mt_held_frozen;
void mt_held_freeze(mt_held *h);
void mt_held_thaw(mt_held *h);

#endif
