// The posted receive queue: receives that were posted and have not completed, in the order
// of posting.
//
// Programs post receives and then wait for them in the same order. Following such a receive
// costs 25 instructions when it is posted and 65 when it completes, or 47 if its row is
// that of the receive before. There is no search: each handle passed to a completion call
// is compared with the head of the queue, in 16 instructions.
//
// All other cases use the table of request.h. The queue is moved to the table, in order, as
// soon as anything else is done with a request: MPI_Request_free, MPI_Cancel, a call that
// failed, or a receive that completes before many that were posted earlier. A receive is
// posted directly to the table if the queue is full or has no room yet (the first receive of
// the process, and the first one after the queue was moved), if entries have to be taken out before
// a call (mt_take_before_call), and by calls on the general path (call.h).
//
// Invariants: a request is in the queue or in the table, never in both, and
// mt_objects.request_count counts it in either. Threads use the queue one at a time, as
// they use MPI. Once several may use MPI at the same time (mt_process.multiple), the queue
// is empty and has no room.
#ifndef MT_POSTED_H
#define MT_POSTED_H

#include "base/resolve.h"
#include "objects/request.h"

// Adds the receive that the call `o` posted. Returns false if it has to go to the table.
MT_INLINE bool mt_posted_add(const mt_current_call *o, MPI_Request request, uint32_t number)
{
    mt_posted_queue *q = &mt_objects.posted;
    if (mt_unlikely(q->tail - q->head >= q->room) || mt_unlikely(request == mt_const.request_null))
        return false;
    mt_posted *p = &q->posted[q->tail++ % MT_POSTED_ROOM];
    p->key = MT_KEY(request);
    p->site = o->site;
    p->place = o->place;
    p->what = o->what;
    p->number = number;
    mt_requests_add_count(1);
    return true;
}

// Handles a call in which all these requests completed, with these statuses. Records those
// that are in the queue in the same order, and sets their handles to 0.
void mt_posted_completed(int count, MPI_Request requests[], const MPI_Status statuses[]);

// Adds a receive to the table.
typedef void mt_posted_put(const mt_request *receive);

// Records a request that completed, if it is in the queue; else returns false. Moves
// receives to the table where the search would be long.
bool mt_posted_one_completed(uint64_t key, const MPI_Status *status, mt_posted_put *put);

// Moves all receives to the table, and leaves the queue without room.
void mt_posted_spill(mt_posted_put *put);

// Gives the queue its room again, after a receive was added to the table. Does nothing if
// entries have to be taken out before calls, or if the fields of a status cannot be used.
void mt_posted_open(void);

MT_INLINE bool mt_posted_any(void)
{
    return mt_objects.posted.head != mt_objects.posted.tail;
}

// Moves the call sites of the receives: see modules.h.
void mt_posted_move(const mt_move *move);

#endif
