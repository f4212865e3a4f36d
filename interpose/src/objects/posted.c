#include "objects/posted.h"

#include "record/trace.h"
#include "objects/status.h"

static mt_posted *posted_at(uint32_t place)
{
    return &mt_objects.posted.posted[place % MT_POSTED_ROOM];
}

// Adds a receive that completed to its row, and returns the row. `row` is the row of the
// receive before: a sequence of equal receives looks up its row once.
// book_receive in request.c does the same for receives in the table.
MT_INLINE mt_row *book_receive(mt_thread *t, mt_row *row, const mt_posted *p, const MPI_Status *status)
{
    if (mt_unlikely(status->MPI_SOURCE < 0)) // MPI_PROC_NULL is negative
        return row;
    uint64_t bytes = mt_status_fields(status);
    mt_key k = {p->site, (uint32_t)p->place | (uint64_t)(uint32_t)status->MPI_SOURCE << 32,
                p->what | (uint64_t)MT_DIR_RECV_POSTED << 48 | (uint64_t)mt_size_class(bytes) << 56};
    if (!mt_row_is(row, k.site, k.place, k.what))
        row = mt_row_of(t, k);
    mt_add(&row->bytes, bytes);
    mt_add(&row->count, 1);
    if (mt_unlikely(mt_traced()))
        mt_trace_message(t, row, k, bytes, status->MPI_TAG, p->number);
    return row;
}

// Removes the first n receives. An empty queue starts again at its first slots, which are
// in the cache.
MT_INLINE void remove_oldest(uint32_t n)
{
    mt_posted_queue *q = &mt_objects.posted;
    q->head += n;
    if (q->head == q->tail)
        q->head = q->tail = 0;
    mt_requests_add_count(-(int64_t)n);
}

void mt_posted_completed(int count, MPI_Request requests[], const MPI_Status statuses[])
{
    const mt_posted_queue *q = &mt_objects.posted;
    uint32_t at = q->head, tail = q->tail;
    mt_thread *t = mt_self;
    if (mt_likely(at != tail && t)) {
        mt_row *row = t->rows;
        for (int i = 0; i < count && at != tail; i++) {
            const mt_posted *p = posted_at(at);
            if (MT_KEY(requests[i]) != p->key)
                continue;
            row = book_receive(t, row, p, &statuses[i]);
            requests[i] = (MPI_Request)0;
            at++;
        }
        remove_oldest(at - q->head);
    }
}

static mt_comm *comm_of(uint32_t index)
{
    mt_comm *c = mt_comm_by_index(index);
    return c ? c : mt_comm_none();
}

void mt_posted_open(void)
{
    if (!mt_take_before_call() && mt_objects.status_trusted)
        mt_objects.posted.room = MT_POSTED_ROOM;
}

// Moves the first n receives to the table.
static MT_SLOW void spill(uint32_t n, mt_posted_put *put)
{
    uint32_t at = mt_objects.posted.head, end = at + n;
    remove_oldest(n);
    for (; at != end; at++) {
        const mt_posted *p = posted_at(at);
        mt_request e = {.key = p->key, .site = p->site, .comm = comm_of((uint32_t)p->place),
                        .peer = (int32_t)(p->place >> 32), .slice = (uint32_t)p->what, .number = p->number,
                        .call = (uint16_t)(p->what >> 32), .kind = MT_RECEIVE};
        put(&e);
    }
}

void mt_posted_spill(mt_posted_put *put)
{
    spill(mt_objects.posted.tail - mt_objects.posted.head, put);
    mt_objects.posted.room = 0;
}

// How many receives are compared with a handle before the whole queue is moved to the
// table.
enum { MT_POSTED_NEAR = 8 };

bool mt_posted_one_completed(uint64_t key, const MPI_Status *status, mt_posted_put *put)
{
    const mt_posted_queue *q = &mt_objects.posted;
    uint32_t n = q->tail - q->head, before = 0;
    while (before < n && before < MT_POSTED_NEAR && posted_at(q->head + before)->key != key)
        before++;
    bool found = before < n && before < MT_POSTED_NEAR && mt_self;
    if (mt_unlikely(found ? before > 0 : before == MT_POSTED_NEAR || !mt_self))
        spill(found ? before : n, put); // older receives may stay pending; without them the next is first
    if (!found)
        return false;
    book_receive(mt_self, mt_self->rows, posted_at(q->head), status);
    remove_oldest(1);
    return true;
}

void mt_posted_move(const mt_move *move)
{
    for (uint32_t at = mt_objects.posted.head; at != mt_objects.posted.tail; at++)
        mt_move_site(move, &posted_at(at)->site);
}
