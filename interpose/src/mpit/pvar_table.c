#include "mpit/pvar_table.h"

#include "base/clock.h"
#include "record/thread.h"
#include "objects/request.h"
#include "mpit/sums.h"

#include <pthread.h>

static uint64_t requests_now(void)
{
    return (uint64_t)atomic_load_explicit(&mt_objects.request_count, memory_order_relaxed);
}

static void find_oldest(void *oldest, mt_thread *t)
{
    uint64_t *start = oldest;
    const mt_current_call *o = t->open;
    if ((uint16_t)(__atomic_load_n(&o->what, __ATOMIC_ACQUIRE) >> 32) == 0)
        return; // between calls
    uint64_t begun = mt_read(&o->start);
    if (begun == 0) // calls are not timed
        return;
    begun += mt_read(&o->spent);
    if (begun < *start)
        *start = begun;
}

static uint64_t age_now(void)
{
    uint64_t start = UINT64_MAX, now;
    mt_thread_each(find_oldest, &start);
    now = mt_ticks();
    return start < now ? now - start : 0;
}

#define BY_PEER(name, what, part, list, word)                                                                          \
    {name, what, MPI_T_PVAR_CLASS_SIZE, MPI_T_VERBOSITY_USER_DETAIL, MT_FORM_BY_PEER, part, offsetof(mt_sums, list),   \
     offsetof(mt_volume_sum, word), NULL, false}
#define BY_COMM(name, what, class, of, field)                                                                          \
    {name, what, MPI_T_PVAR_CLASS_##class, MPI_T_VERBOSITY_USER_DETAIL, MT_FORM_BY_COMM, MT_SUM_BLOCKS,                \
     offsetof(mt_block, of), offsetof(mt_volume_sum, field), NULL, false}
#define TOTAL(name, what, class, field, seconds)                                                                       \
    {name, what, MPI_T_PVAR_CLASS_##class, MPI_T_VERBOSITY_USER_BASIC, MT_FORM_TOTAL, MT_SUM_TOTALS,                   \
     offsetof(mt_sums, field), 0, NULL, seconds}
#define BYTES(name, what, class) TOTAL("mpitrace_bytes_" name, what, AGGREGATE, bytes[class], false)
#define STATE(name, what, class, form, now, seconds)                                                                   \
    {name, what, MPI_T_PVAR_CLASS_##class, MPI_T_VERBOSITY_USER_DETAIL, form, 0, 0, 0, now, seconds}

static const mt_pvar_entry table[] = {
    {"pml_monitoring_flush",
     "The name of a file, NAME.RANK.prof, that stopping this variable writes: what was sent since it was started",
     MPI_T_PVAR_CLASS_GENERIC, MPI_T_VERBOSITY_USER_BASIC, MT_FORM_FLUSH, 0, 0, 0, NULL, false},
    BY_PEER("pml_monitoring_messages_count", "Messages sent to each process, point to point", MT_SUM_SENT, sent, count),
    BY_PEER("pml_monitoring_messages_size", "Bytes sent to each process, point to point", MT_SUM_SENT, sent, bytes),
    BY_PEER("osc_monitoring_messages_sent_count", "One-sided writes to each process", MT_SUM_WRITTEN, written, count),
    BY_PEER("osc_monitoring_messages_sent_size", "Bytes written to each process, one-sided", MT_SUM_WRITTEN, written,
            bytes),
    BY_PEER("osc_monitoring_messages_recv_count", "One-sided reads from each process", MT_SUM_READ, read, count),
    BY_PEER("osc_monitoring_messages_recv_size", "Bytes read from each process, one-sided", MT_SUM_READ, read, bytes),
    BY_PEER("coll_monitoring_messages_count", "Messages that collectives ask to be sent to each process",
            MT_SUM_COLLECTIVE, collective, count),
    BY_PEER("coll_monitoring_messages_size", "Bytes that collectives ask to be sent to each process",
            MT_SUM_COLLECTIVE, collective, bytes),
    BY_COMM("coll_monitoring_o2a_count", "One-to-all operations of which this process was the root", COUNTER, o2a,
            count),
    BY_COMM("coll_monitoring_o2a_size", "Bytes sent in one-to-all operations", AGGREGATE, o2a, bytes),
    BY_COMM("coll_monitoring_a2o_count", "All-to-one operations of which this process was the root", COUNTER, a2o,
            count),
    BY_COMM("coll_monitoring_a2o_size", "Bytes received in all-to-one operations", AGGREGATE, a2o, bytes),
    BY_COMM("coll_monitoring_a2a_count", "All-to-all operations", COUNTER, a2a, count),
    BY_COMM("coll_monitoring_a2a_size", "Bytes sent in all-to-all operations", AGGREGATE, a2a, bytes),
    TOTAL("mpitrace_time", "Seconds in MPI calls that were timed, of all threads", TIMER, ticks, true),
    TOTAL("mpitrace_calls", "MPI calls", COUNTER, calls, false),
    BYTES("p2p", "Bytes sent point to point", MT_CLASS_P2P),
    BYTES("o2a", "Bytes sent in one-to-all operations", MT_CLASS_O2A),
    BYTES("a2o", "Bytes sent in all-to-one operations", MT_CLASS_A2O),
    BYTES("a2a", "Bytes sent in all-to-all operations", MT_CLASS_A2A),
    BYTES("one_sided", "Bytes written and read one-sided", MT_CLASS_ONE_SIDED),
    BYTES("io", "Bytes read and written in files", MT_CLASS_IO),
    STATE("mpitrace_requests",
          "Requests that are followed: receives until they complete, persistent ones until they are freed", LEVEL,
          MT_FORM_STATE, requests_now, false),
    STATE("mpitrace_requests_most", "The most requests that were followed at a time", HIGHWATERMARK,
          MT_FORM_HIGHWATERMARK, requests_now, false),
    STATE("mpitrace_call_age", "Seconds since the oldest MPI call began that a thread is in, if calls are timed", LEVEL,
          MT_FORM_STATE, age_now, true),
};

const mt_pvar_entry *mt_pvar_table_at(int n)
{
    return &table[n];
}

int mt_pvar_table_count(void)
{
    return sizeof table / sizeof *table;
}

uint64_t mt_pvar_table_nanoseconds(uint64_t ticks)
{
    if (!mt_process.header || ticks == 0)
        return 0;
    const mt_l_clock now = mt_clock_read_all(), *start = &mt_process.header->start;
    double rate = (double)(now.monotonic - start->monotonic + 1) / (double)(now.ticks - start->ticks + 1);
    return (uint64_t)((double)ticks * rate);
}

static bool read_counted(const mt_pvar_entry *v, const mt_comm *c, uint64_t *words, int count)
{
    mt_sums sums;
    if (!mt_sums_compute(&sums, v->part))
        return false;
    if (v->form == MT_FORM_TOTAL)
        words[0] = *(uint64_t *)((char *)&sums + v->list);
    else if (v->form == MT_FORM_BY_COMM && c->index < (uint32_t)sums.comm_count)
        words[0] = *(uint64_t *)((char *)&sums.blocks[c->index] + v->list + v->word);
    for (int i = 0; v->form == MT_FORM_BY_PEER && i < count; i++) {
        const mt_volume_sum *list = *(mt_volume_sum **)((char *)&sums + v->list);
        int rank = mt_comm_world_rank(c, i);
        if (rank >= 0 && rank < sums.world)
            words[i] = *(const uint64_t *)((const char *)&list[rank] + v->word);
    }
    mt_sums_free(&sums);
    return true;
}

bool mt_pvar_table_read(const mt_pvar_entry *v, const mt_comm *c, uint64_t *words, int count)
{
    for (int i = 0; i < count; i++)
        words[i] = 0;
    if (!mt_on())
        return true;
    if (v->now) {
        words[0] = v->now();
        return true;
    }
    return !mt_pvar_table_counts(v) || read_counted(v, c, words, count);
}
