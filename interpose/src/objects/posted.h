// The posted receive queue: receives that were posted and have not completed, in the
// order of posting.
//
// Programs post receives and then wait for them in the same order. Following such a
// receive executes 25 instructions when it is posted, and 65 when it completes, or 47 if
// its row is that of the receive before. There is no search: each handle that a
// completion call was given is compared with the head of the queue, in 16 instructions.
//
// What is not so simple is in the table of request.h. There the queue is spilled, in
// order, as soon as anything else is asked about a request: MPI_Request_free,
// MPI_Cancel, a call that failed, a receive that completed before many that were posted
// earlier. A receive is posted to the table where the queue is full, where entries have
// to be taken out before a call (mt_take_first), and by the calls that quick.h leaves
// to leave.c.
//
// Invariants: a request is in the queue or in the table, never in both, and counts in
// mt_objects.request_count in either. Threads use the queue in turns, as they use MPI: from the
// time when they may do so at once (mt_process.multiple) it is empty and has no room.
#ifndef MT_POSTED_H
#define MT_POSTED_H

#include "base/resolve.h"
#include "objects/request.h"

// A receive: its row but for what its status will tell. Its communicator, peer, slice
// and call are as in the line of the call that posted it.
typedef struct mt_posted {
    uint64_t key; // the handle
    uint64_t site, place, what;
    uint32_t number; // of its events
} mt_posted;

enum { MT_POSTED_ROOM = 512 }; // a power of two

typedef struct mt_posted_queue {
    uint32_t head, tail; // the oldest one, and where the next one goes; not wrapped
    uint32_t room;       // MT_POSTED_ROOM, or 0: receives go to the table
    mt_posted posted[MT_POSTED_ROOM];
} mt_posted_queue;

extern MT_OURS mt_posted_queue mt_posted_receives;

// The call `o` posted a receive. Returns false if it belongs in the table.
MT_INLINE bool mt_posted_add(const mt_current_call *o, MPI_Request request, uint32_t number)
{
    mt_posted_queue *q = &mt_posted_receives;
    if (mt_unlikely(q->tail - q->head >= q->room) || mt_unlikely(request == mt_const.request_null))
        return false;
    mt_posted *p = &q->posted[q->tail++ % MT_POSTED_ROOM];
    p->key = MT_KEY(request);
    p->site = o->site;
    p->place = o->place;
    p->what = o->what;
    p->number = number;
    mt_requests_count(1);
    return true;
}

// All these requests completed, with these statuses. Records those that are in the
// queue in the same order, and sets their handles to 0.
void mt_posted_completed(int count, MPI_Request requests[], const MPI_Status statuses[]);

// Puts a receive into the table.
typedef void mt_posted_put(const mt_request *receive);

// A request completed: records it if it is in the queue, else returns false. The queue
// is spilled if it would have to be searched for long.
bool mt_posted_one_completed(uint64_t key, const MPI_Status *status, mt_posted_put *put);

// Moves all to the table. Leaves no room.
void mt_posted_spill(mt_posted_put *put);

// A receive went to the table: makes room for the next ones, unless it is better there.
void mt_posted_open(void);

MT_INLINE bool mt_posted_any(void)
{
    return mt_posted_receives.head != mt_posted_receives.tail;
}

// Moves the call sites: see modules.h.
void mt_posted_move(const mt_move *move);

#endif
