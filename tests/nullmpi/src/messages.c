/* Of the null MPI: messages, which come back, and requests. */
#include "objects.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* --- Statuses. --- */

/* The standard ABI leaves five words of a status to the MPI. The count is in the first two,
 * above one flag, as in MPICH. With NULLMPI_COUNT=hidden it is in the last two and inverted,
 * so that only the MPI can read it. */
static bool hidden(void)
{
    const char *value = getenv("NULLMPI_COUNT");
    return value && strcmp(value, "hidden") == 0;
}

static void set_count(MPI_Status *status, MPI_Count bytes)
{
    uint64_t word = hidden() ? ~(uint64_t)bytes : (uint64_t)bytes << 32 >> 32 | (uint64_t)bytes >> 32 << 33;
    memcpy(status->reserved + (hidden() ? 3 : 0), &word, sizeof word);
}

static MPI_Count count_of(const MPI_Status *status)
{
    uint64_t word;
    memcpy(&word, status->reserved + (hidden() ? 3 : 0), sizeof word);
    return (MPI_Count)(hidden() ? ~word : (uint32_t)word | word >> 33 << 32);
}

void null_set_status(MPI_Status *status, int source, int tag, MPI_Count bytes)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    memset(status->reserved, 0, sizeof status->reserved);
    set_count(status, bytes);
}

int null_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    set_count(status, count * null_size(datatype));
    return MPI_SUCCESS;
}

int null_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    *count = count_of(status) / null_size(datatype);
    return MPI_SUCCESS;
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    *count = (int)(count_of(status) / null_size(datatype));
    return MPI_SUCCESS;
}
extern __typeof(PMPI_Get_count) MPI_Get_count __attribute__((alias("PMPI_Get_count")));

int null_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->reserved[2];
    return MPI_SUCCESS;
}

/* --- Messages that have not been received, in order. --- */

struct MPI_ABI_Message {
    struct MPI_ABI_Message *next;
    MPI_Comm comm;
    int source, tag;
    MPI_Count bytes;
    char data[];
};

static MPI_Message arrived;

static bool matches(MPI_Comm comm, int source, int tag, const struct MPI_ABI_Message *m)
{
    return comm == m->comm && (source == MPI_ANY_SOURCE || source == m->source) &&
           (tag == MPI_ANY_TAG || tag == m->tag);
}

/* Returns the place of the first message that matches: it holds NULL if there is none. */
static MPI_Message *find(MPI_Comm comm, int source, int tag)
{
    MPI_Message *m = &arrived;
    while (*m && !matches(comm, source, tag, *m))
        m = &(*m)->next;
    return m;
}

/* --- Requests. --- */

enum { OPERATION, SEND, RECEIVE };

struct MPI_ABI_Request {
    struct MPI_ABI_Request *next; /* posted after this one */
    int kind; /* OPERATION, SEND or RECEIVE */
    bool persistent, active, done, cancelled;
    int partitions, ready; /* of a partitioned send */
    const void *out;
    void *in;
    MPI_Count bytes; /* of the message, or room for it */
    MPI_Comm comm;
    int peer, tag, error;
    MPI_Status status;
};

static MPI_Request posted; /* receives without a message */
static int cancelled_sends;

static struct {
    bool set;
    int source, tag;
    MPI_Count bytes;
} chosen;

void null_cancel_sends(int count)
{
    cancelled_sends = count;
}

void null_receive(int source, int tag, MPI_Count bytes)
{
    chosen.set = true;
    chosen.source = source;
    chosen.tag = tag;
    chosen.bytes = bytes;
}

MPI_Request null_operation(bool persistent)
{
    MPI_Request request = null_new(sizeof *request);
    request->persistent = persistent;
    request->active = request->done = !persistent;
    null_set_status(&request->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    return request;
}

static MPI_Request new_message(int kind, const void *out, void *in, MPI_Count bytes, int peer, int tag, MPI_Comm comm)
{
    MPI_Request request = null_operation(true);
    request->kind = kind;
    request->out = out;
    request->in = in;
    request->bytes = bytes;
    request->peer = peer;
    request->tag = tag;
    request->comm = comm;
    return request;
}

/* Gives a message to a receive, and forgets it. */
static void deliver(MPI_Request to, MPI_Message m)
{
    MPI_Count bytes = m->bytes < to->bytes ? m->bytes : to->bytes;
    if (bytes > 0)
        memcpy(to->in, m->data, (size_t)bytes);
    to->error = m->bytes > to->bytes ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    to->done = true;
    null_set_status(&to->status, m->source, m->tag, bytes);
    free(m);
}

static void send(const void *out, MPI_Count bytes, int dest, int tag, MPI_Comm comm)
{
    if (dest == MPI_PROC_NULL)
        return;
    MPI_Message m = null_new(sizeof *m + (size_t)bytes);
    *m = (struct MPI_ABI_Message){NULL, comm, dest, tag, bytes};
    if (bytes > 0)
        memcpy(m->data, out, (size_t)bytes);
    for (MPI_Request *r = &posted; *r; r = &(*r)->next)
        if (matches((*r)->comm, (*r)->peer, (*r)->tag, m)) {
            MPI_Request to = *r;
            *r = to->next;
            deliver(to, m);
            return;
        }
    MPI_Message *last = &arrived;
    while (*last)
        last = &(*last)->next;
    *last = m;
}

static void unpost(const struct MPI_ABI_Request *request)
{
    for (MPI_Request *r = &posted; *r; r = &(*r)->next)
        if (*r == request) {
            *r = request->next;
            return;
        }
}

static void start(MPI_Request r)
{
    r->active = true;
    r->done = r->cancelled = false;
    r->error = MPI_SUCCESS;
    r->ready = 0;
    null_set_status(&r->status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    if (r->kind != RECEIVE) {
        if (r->kind == SEND && !r->partitions)
            send(r->out, r->bytes, r->peer, r->tag, r->comm);
        r->done = !r->partitions;
        return;
    }
    MPI_Message *m = find(r->comm, r->peer, r->tag), found = *m;
    if (r->peer == MPI_PROC_NULL) {
        null_set_status(&r->status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        r->done = true;
    } else if (found) {
        *m = found->next;
        deliver(r, found);
    } else {
        MPI_Request *last = &posted;
        while (*last)
            last = &(*last)->next;
        r->next = NULL;
        *last = r;
    }
}

static bool inactive(const struct MPI_ABI_Request *r)
{
    return r == MPI_REQUEST_NULL || !r->active;
}

static bool done(const struct MPI_ABI_Request *r)
{
    return inactive(r) || r->done;
}

/* Returns the error of a request that is done, and its status. */
static int look(const struct MPI_ABI_Request *r, MPI_Status *status)
{
    if (inactive(r)) {
        null_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        return MPI_SUCCESS;
    }
    if (r->kind == RECEIVE && chosen.set && !r->cancelled) {
        null_set_status(status, chosen.source, chosen.tag, chosen.bytes);
        chosen.set = false;
    } else {
        null_set_status(status, r->status.MPI_SOURCE, r->status.MPI_TAG, count_of(&r->status));
    }
    if (status != MPI_STATUS_IGNORE)
        status->reserved[2] = r->cancelled;
    return r->error;
}

/* The same, and the request is complete. */
static int complete(MPI_Request *request, MPI_Status *status)
{
    MPI_Request r = *request;
    int error = look(r, status);
    if (inactive(r))
        return error;
    r->active = false;
    if (!r->persistent) {
        free(r);
        *request = MPI_REQUEST_NULL;
    }
    return error;
}

static MPI_Request started(MPI_Request r)
{
    r->persistent = false;
    start(r);
    return r;
}

static int receive(void *in, MPI_Count bytes, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Request r = started(new_message(RECEIVE, NULL, in, bytes, source, tag, comm));
    if (!r->done)
        null_die("MPI_Recv would wait forever");
    return complete(&r, status);
}

/* --- Point-to-point calls. --- */

#define SENDS(name, nonblocking)                                                                     \
    int null_##name(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) \
    {                                                                                                \
        send(buf, count *null_size(type), dest, tag, comm);                                          \
        return MPI_SUCCESS;                                                                          \
    }                                                                                                \
    int null_##nonblocking(const void *buf, int count, MPI_Datatype type, int dest, int tag,         \
                           MPI_Comm comm, MPI_Request *request)                                      \
    {                                                                                                \
        *request = started(new_message(SEND, buf, NULL, count * null_size(type), dest, tag, comm));  \
        return MPI_SUCCESS;                                                                          \
    }                                                                                                \
    int null_##name##_init(const void *buf, int count, MPI_Datatype type, int dest, int tag,         \
                           MPI_Comm comm, MPI_Request *request)                                      \
    {                                                                                                \
        *request = new_message(SEND, buf, NULL, count * null_size(type), dest, tag, comm);           \
        return MPI_SUCCESS;                                                                          \
    }
SENDS(Send, Isend)
SENDS(Bsend, Ibsend)
SENDS(Ssend, Issend)
SENDS(Rsend, Irsend)

int null_Recv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    return receive(buf, count * null_size(type), source, tag, comm, status);
}

int null_Irecv(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    *request = started(new_message(RECEIVE, NULL, buf, count * null_size(type), source, tag, comm));
    return MPI_SUCCESS;
}

int null_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    *request = new_message(RECEIVE, NULL, buf, count * null_size(type), source, tag, comm);
    return MPI_SUCCESS;
}

int null_Sendrecv(const void *out, int out_count, MPI_Datatype out_type, int dest, int out_tag, void *in, int in_count,
                  MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Status *status)
{
    send(out, out_count * null_size(out_type), dest, out_tag, comm);
    return receive(in, in_count * null_size(in_type), source, in_tag, comm, status);
}

int null_Isendrecv(const void *out, int out_count, MPI_Datatype out_type, int dest, int out_tag, void *in, int in_count,
                   MPI_Datatype in_type, int source, int in_tag, MPI_Comm comm, MPI_Request *request)
{
    null_Irecv(in, in_count, in_type, source, in_tag, comm, request);
    send(out, out_count * null_size(out_type), dest, out_tag, comm);
    return MPI_SUCCESS;
}

/* --- Probes and matched receives. --- */

static bool probe(int source, int tag, MPI_Comm comm, MPI_Message *taken, MPI_Status *status)
{
    MPI_Message *m = find(comm, source, tag), found = *m;
    if (source == MPI_PROC_NULL) {
        null_set_status(status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
        if (taken)
            *taken = MPI_MESSAGE_NO_PROC;
        return true;
    }
    if (!found)
        return false;
    null_set_status(status, found->source, found->tag, found->bytes);
    if (taken) {
        *m = found->next;
        *taken = found;
    }
    return true;
}

int null_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    if (!probe(source, tag, comm, NULL, status))
        null_die("MPI_Probe would wait forever");
    return MPI_SUCCESS;
}

int null_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    *flag = probe(source, tag, comm, NULL, status);
    return MPI_SUCCESS;
}

int null_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    if (!probe(source, tag, comm, message, status))
        null_die("MPI_Mprobe would wait forever");
    return MPI_SUCCESS;
}

int null_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    *flag = probe(source, tag, comm, message, status);
    return MPI_SUCCESS;
}

int null_Imrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Request *request)
{
    MPI_Request r = new_message(RECEIVE, NULL, buf, count * null_size(type), MPI_PROC_NULL, 0, MPI_COMM_SELF);
    *request = started(r); /* as from nobody */
    if (*message != MPI_MESSAGE_NO_PROC)
        deliver(r, *message);
    *message = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
}

int null_Mrecv(void *buf, int count, MPI_Datatype type, MPI_Message *message, MPI_Status *status)
{
    MPI_Request request;
    null_Imrecv(buf, count, type, message, &request);
    return complete(&request, status);
}

/* --- Completion. --- */

static MPI_Status *at(MPI_Status statuses[], int i)
{
    return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
}

int null_Wait(MPI_Request *request, MPI_Status *status)
{
    if (!done(*request))
        null_die("MPI_Wait would wait forever");
    return complete(request, status);
}

int null_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    *flag = done(*request);
    return *flag ? complete(request, status) : MPI_SUCCESS;
}

int null_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    *flag = done(request);
    return *flag ? look(request, status) : MPI_SUCCESS;
}

/* Sets the errors of all statuses if one of the requests has failed. */
static int complete_all(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int errors[count + 1], failed = 0;
    for (int i = 0; i < count; i++)
        failed |= errors[i] = complete(&requests[i], at(statuses, i));
    for (int i = 0; failed && statuses && i < count; i++)
        statuses[i].MPI_ERROR = errors[i];
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int null_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    *flag = true;
    for (int i = 0; i < count; i++)
        *flag = *flag && done(requests[i]);
    return *flag ? complete_all(count, requests, statuses) : MPI_SUCCESS;
}

int null_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    int all, rc = null_Testall(count, requests, &all, statuses);
    if (!all)
        null_die("MPI_Waitall would wait forever");
    return rc;
}

int null_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    bool any = false;
    *flag = false;
    *index = MPI_UNDEFINED;
    for (int i = 0; i < count; i++) {
        any = any || !inactive(requests[i]);
        if (!inactive(requests[i]) && requests[i]->done) {
            *flag = true;
            *index = i;
            return complete(&requests[i], status);
        }
    }
    if (!any) {
        *flag = true;
        null_set_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    }
    return MPI_SUCCESS;
}

int null_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    int flag, rc = null_Testany(count, requests, index, &flag, status);
    if (!flag)
        null_die("MPI_Waitany would wait forever");
    return rc;
}

int null_Testsome(int count, MPI_Request requests[], int *out_count, int indices[], MPI_Status statuses[])
{
    int active = 0, failed = 0;
    *out_count = 0;
    for (int i = 0; i < count; i++) {
        active += !inactive(requests[i]);
        if (inactive(requests[i]) || !requests[i]->done)
            continue;
        int k = (*out_count)++, error = complete(&requests[i], at(statuses, k));
        indices[k] = i;
        failed |= error;
        if (statuses)
            statuses[k].MPI_ERROR = error;
    }
    if (active == 0)
        *out_count = MPI_UNDEFINED;
    return failed ? MPI_ERR_IN_STATUS : MPI_SUCCESS;
}

int null_Waitsome(int count, MPI_Request requests[], int *out_count, int indices[], MPI_Status statuses[])
{
    int rc = null_Testsome(count, requests, out_count, indices, statuses);
    if (*out_count == 0)
        null_die("MPI_Waitsome would wait forever");
    return rc;
}

int null_Start(MPI_Request *request)
{
    start(*request);
    return MPI_SUCCESS;
}

int null_Startall(int count, MPI_Request requests[])
{
    for (int i = 0; i < count; i++)
        start(requests[i]);
    return MPI_SUCCESS;
}

int null_Cancel(MPI_Request *request)
{
    MPI_Request r = *request;
    if (r->kind == SEND ? cancelled_sends-- > 0 : !r->done) {
        unpost(r);
        r->cancelled = r->done = true;
    }
    cancelled_sends = cancelled_sends < 0 ? 0 : cancelled_sends;
    return MPI_SUCCESS;
}

int null_Request_free(MPI_Request *request)
{
    unpost(*request);
    free(*request);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}

/* --- Partitioned messages: sent when each partition is ready. --- */

int null_Psend_init(const void *buf, int partitions, MPI_Count count, MPI_Datatype type, int dest, int tag,
                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    (void)info;
    *request = new_message(SEND, buf, NULL, partitions * count * null_size(type), dest, tag, comm);
    (*request)->partitions = partitions;
    return MPI_SUCCESS;
}

int null_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                    MPI_Info info, MPI_Request *request)
{
    (void)info;
    *request = new_message(RECEIVE, NULL, buf, partitions * count * null_size(type), source, tag, comm);
    return MPI_SUCCESS;
}

static void ready(MPI_Request r, int partitions)
{
    r->ready += partitions;
    if (r->ready < r->partitions)
        return;
    send(r->out, r->bytes, r->peer, r->tag, r->comm);
    r->done = true;
}

int null_Pready(int partition, MPI_Request request)
{
    (void)partition;
    ready(request, 1);
    return MPI_SUCCESS;
}

int null_Pready_range(int low, int high, MPI_Request request)
{
    ready(request, high - low + 1);
    return MPI_SUCCESS;
}

int null_Pready_list(int length, const int partitions[], MPI_Request request)
{
    (void)partitions;
    ready(request, length);
    return MPI_SUCCESS;
}

int null_Parrived(MPI_Request request, int partition, int *flag)
{
    (void)partition;
    *flag = done(request);
    return MPI_SUCCESS;
}
