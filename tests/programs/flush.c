/* Flushes phases in all possible ways, including wrong ones (2 ranks). Rank 0
 * sends rank 1 messages whose sizes identify the phases. The last phase ends
 * after MPI_Finalize, or never with "unfinished". With "others" the program
 * only mixes flushed phases with phases that it begins by other calls. */
#include "check.h"

#include <mpitrace.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A session, with handles of the flush variable and of the messages and bytes
 * sent. */
typedef struct watch {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle file, counts, bytes;
    int length; /* of the file's name when the flush variable was bound */
} watch;

static MPI_T_pvar_handle bind(MPI_T_pvar_session session, const char *name, int class, int *count)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle handle;
    int index = -1;
    REQUIRE(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_handle_alloc(session, index, &world, &handle, count) == MPI_SUCCESS);
    return handle;
}

static MPI_T_pvar_handle bind_flush(MPI_T_pvar_session session, int *length)
{
    return bind(session, "pml_monitoring_flush", MPI_T_PVAR_CLASS_GENERIC, length);
}

static watch open_watch(void)
{
    watch w;
    int members;
    REQUIRE(MPI_T_pvar_session_create(&w.session) == MPI_SUCCESS);
    w.file = bind_flush(w.session, &w.length);
    w.counts = bind(w.session, "pml_monitoring_messages_count", MPI_T_PVAR_CLASS_SIZE, &members);
    w.bytes = bind(w.session, "pml_monitoring_messages_size", MPI_T_PVAR_CLASS_SIZE, &members);
    REQUIRE(w.length == 0 && members == 2);
    return w;
}

static void close_watch(watch *w)
{
    REQUIRE(MPI_T_pvar_session_free(&w->session) == MPI_SUCCESS);
}

static void start(watch *w, MPI_T_pvar_handle handle)
{
    REQUIRE(MPI_T_pvar_start(w->session, handle) == MPI_SUCCESS);
}

static void name(watch *w, const char *text)
{
    REQUIRE(MPI_T_pvar_write(w->session, w->file, (void *)text) == MPI_SUCCESS);
}

static int stop(watch *w)
{
    return MPI_T_pvar_stop(w->session, w->file);
}

static void flush(watch *w, const char *text)
{
    name(w, text);
    REQUIRE(stop(w) == MPI_SUCCESS);
}

/* has_counted reports whether this many messages and bytes were counted, all from
 * rank 0 to rank 1. */
static int has_counted(watch *w, unsigned long messages, unsigned long bytes)
{
    unsigned long n[2], sum[2];
    REQUIRE(MPI_T_pvar_read(w->session, w->counts, n) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_read(w->session, w->bytes, sum) == MPI_SUCCESS);
    return n[0] == 0 && sum[0] == 0 && (world_rank == 1 || (n[1] == messages && sum[1] == bytes));
}

static void send_to_rank_1(int bytes)
{
    if (world_rank == 0)
        send_bytes(bytes, 1, MPI_COMM_WORLD);
    else
        recv_bytes(bytes, 0, MPI_COMM_WORLD);
}

static void overlap(watch *a, watch *b)
{
    start(a, a->file);
    send_to_rank_1(1);
    start(b, b->file);
    send_to_rank_1(2);
    flush(a, "prof/first");
    send_to_rank_1(4);
    flush(b, "prof/second");
    send_to_rank_1(8);
}

static void nested(watch *a, watch *b)
{
    start(a, a->file);
    send_to_rank_1(16);
    start(b, b->file);
    send_to_rank_1(32);
    flush(b, "prof/inner");
    send_to_rank_1(64);
    flush(a, "prof/outer");
    send_to_rank_1(128);
}

/* again flushes twice to one name: the second file replaces the first. */
static void again(watch *w)
{
    for (int i = 0; i < 2; i++) {
        start(w, w->file);
        start(w, w->file);
        send_to_rank_1(3 + 2 * i);
        flush(w, "prof/same");
    }
}

static void is_stopped(watch *w)
{
    char path[64];
    start(w, w->file);
    flush(w, "prof/once");
    snprintf(path, sizeof path, "prof/once.%d.prof", world_rank);
    REQUIRE(unlink(path) == 0 && stop(w) == MPI_SUCCESS && access(path, F_OK) != 0);
}

static void refuse(watch *w, const char *path, unsigned long messages, unsigned long bytes)
{
    name(w, path);
    REQUIRE(stop(w) == MPI_T_ERR_INVALID && has_counted(w, messages, bytes));
}

static void refused(watch *w)
{
    char path[64], far[5000];
    snprintf(path, sizeof path, "prof/taken.%d.prof", world_rank);
    REQUIRE(mkdir(path, 0777) == 0);
    memset(far, 'f', sizeof far);
    far[sizeof far - 1] = '\0';
    start(w, w->file);
    start(w, w->counts);
    start(w, w->bytes);
    send_to_rank_1(7);
    refuse(w, "no/directory/is/here", 1, 7);
    send_to_rank_1(9);
    refuse(w, "prof/taken", 2, 16);
    REQUIRE(MPI_T_pvar_write(w->session, w->file, far) == MPI_T_ERR_INVALID);
    far[300] = '\0';
    refuse(w, far, 2, 16);
    far[240] = '\0';
    send_to_rank_1(11);
    flush(w, "prof/taken at last");
    REQUIRE(has_counted(w, 0, 0));
    start(w, w->file);
    send_to_rank_1(13);
    flush(w, far);
    send_to_rank_1(15);
    REQUIRE(has_counted(w, 1, 15));
}

/* isolated checks that a flush in one session does not reset the counts of
 * another. */
static void isolated(watch *a, watch *b)
{
    start(b, b->counts);
    start(b, b->bytes);
    send_to_rank_1(17);
    start(a, a->file);
    send_to_rank_1(19);
    REQUIRE(has_counted(a, 2 + 1, 17 + 19 + 15) && has_counted(b, 2, 17 + 19));
    REQUIRE(MPI_T_pvar_stop(b->session, b->bytes) == MPI_SUCCESS);
    flush(a, "prof/isolated");
    REQUIRE(has_counted(a, 0, 0) && has_counted(b, 2, 17 + 19));
    start(b, b->file);
    flush(b, "");
    REQUIRE(has_counted(b, 0, 0));
}

/* names checks that a handle has room for the name that was set when it was bound. */
static void names(watch *w, watch *other)
{
    char text[32];
    int length;
    name(w, "prof/12345");
    MPI_T_pvar_handle handle = bind_flush(w->session, &length);
    REQUIRE(length == 10);
    memset(text, '*', sizeof text);
    REQUIRE(MPI_T_pvar_read(w->session, handle, text) == MPI_SUCCESS && memcmp(text, "prof/12345***", 13) == 0);
    name(w, "prof/1234567890");
    REQUIRE(MPI_T_pvar_read(w->session, handle, text) == MPI_SUCCESS && memcmp(text, "prof/12345***", 13) == 0);
    name(w, "short");
    REQUIRE(MPI_T_pvar_read(w->session, handle, text) == MPI_SUCCESS && memcmp(text, "short\0", 6) == 0);
    memset(text, '*', sizeof text);
    REQUIRE(MPI_T_pvar_read(w->session, w->file, text) == MPI_SUCCESS && text[0] == '*');
    REQUIRE(MPI_T_pvar_handle_free(w->session, &handle) == MPI_SUCCESS && handle == MPI_T_PVAR_HANDLE_NULL);
    handle = bind_flush(other->session, &length);
    REQUIRE(length == 0);
    REQUIRE(MPI_T_pvar_handle_free(other->session, &handle) == MPI_SUCCESS);
    REQUIRE(MPI_T_pvar_write(w->session, w->file, NULL) == MPI_SUCCESS);
    handle = bind_flush(w->session, &length);
    REQUIRE(length == 0);
}

/* beside_others checks that calls that are not recorded are in no file, and that
 * phases which the program begins by other calls do not change. One of them is
 * called "phase 1", like a flushed phase that has no name yet. */
static int beside_others(watch *w)
{
    mpitrace_phase("phase 1");
    send_to_rank_1(20);
    mpitrace_phase("run");
    start(w, w->file);
    send_to_rank_1(21);
    MPI_Pcontrol(0);
    send_to_rank_1(23);
    MPI_Pcontrol(1);
    send_to_rank_1(25);
    mpitrace_phase("within");
    send_to_rank_1(27);
    flush(w, "prof/around");
    send_to_rank_1(29);
    mpitrace_phase("phase 1");
    send_to_rank_1(22);
    close_watch(w);
    MPI_T_finalize();
    return end();
}

int main(int argc, char **argv)
{
    int provided;
    begin(argc, argv, 2);
    mkdir("prof", 0777);
    REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    watch a = open_watch(), b = open_watch();
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "others") == 0)
        return beside_others(&a);
    overlap(&a, &b);
    nested(&a, &b);
    again(&a);
    is_stopped(&a);
    refused(&a);
    isolated(&a, &b);
    names(&a, &b);
    start(&a, a.file);
    send_to_rank_1(31);
    end();
    if (strcmp(how, "unfinished") != 0) {
        flush(&a, "prof/after");
        start(&a, a.file);
        flush(&a, "prof/nothing");
    }
    close_watch(&a);
    close_watch(&b);
    return 0; /* Open MPI 4.1.4 crashes in MPI_T_finalize after MPI_Finalize */
}
