/* Makes calls that fail, or that must leave their arguments unchanged (1 rank).
 * Prints all that a program can see of each: return code, error class, errno,
 * and the status and outputs, which are set to known values before the call. */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static MPI_Status status, statuses[2];
static int flag, number, indices[2];
static char data[16], *out = data + 8;

static void before(void)
{
    memset(&status, 0, sizeof status);
    status.MPI_SOURCE = -91;
    status.MPI_TAG = -92;
    status.MPI_ERROR = -93;
    statuses[0] = statuses[1] = status;
    flag = -94;
    number = -95;
    indices[0] = indices[1] = -96;
    errno = 77;
}

/* code_of returns the error code without its upper part. In MPICH's codes
 * this is a hash of the error text, which contains addresses and so differs
 * between runs. */
static int code_of(int rc)
{
#ifdef MPICH_NAME
    return rc > 0 ? rc & 0x3ffffff : rc;
#else
    return rc;
#endif
}

static void after(const char *call, int rc)
{
    int saved = errno, class = -1;
    MPI_Error_class(rc, &class);
    printf("%s: %d (class %d), errno %d, flag %d, number %d, indices %d %d\n", call, code_of(rc), class, saved, flag,
           number, indices[0], indices[1]);
    for (int i = 0; i < 3; i++) {
        const MPI_Status *s = i ? &statuses[i - 1] : &status;
        printf("  source %d tag %d error %d\n", s->MPI_SOURCE, s->MPI_TAG, code_of(s->MPI_ERROR));
    }
}

#define TRY(call)              \
    do {                       \
        before();              \
        int code = MPI_##call; \
        after(#call, code);    \
    } while (0)

static void arguments(MPI_Comm c)
{
    MPI_Request q = MPI_REQUEST_NULL;
    TRY(Send(out, 1, MPI_BYTE, 99, 0, c));
    TRY(Send(out, 1, MPI_BYTE, 0, -5, c));
    TRY(Send(out, 1, MPI_BYTE, 0, 0, MPI_COMM_NULL));
    TRY(Send(out, 1, MPI_DATATYPE_NULL, 0, 0, c));
    TRY(Send(out, -1, MPI_BYTE, 0, 0, c));
    TRY(Ssend(out, 1, MPI_BYTE, -17, 0, c));
    TRY(Isend(out, 1, MPI_BYTE, 99, 0, c, &q));
    TRY(Irecv(data, 1, MPI_BYTE, 99, 0, c, &q));
    TRY(Irecv(data, -1, MPI_BYTE, 0, 0, c, &q));
    TRY(Recv(data, 1, MPI_BYTE, 99, 0, c, &status));
    TRY(Recv(data, 1, MPI_BYTE, 0, -5, c, &status));
    TRY(Recv(data, 1, MPI_BYTE, 0, 0, MPI_COMM_NULL, &status));
    TRY(Sendrecv(out, 1, MPI_BYTE, 99, 0, data, 1, MPI_BYTE, 0, 0, c, &status));
    TRY(Send_init(out, 1, MPI_BYTE, 99, 0, c, &q));
    TRY(Recv_init(data, 1, MPI_DATATYPE_NULL, 0, 0, c, &q));
    TRY(Probe(99, 0, c, &status));
    TRY(Iprobe(0, -5, c, &flag, &status));
    TRY(Bcast(data, 1, MPI_BYTE, 99, c));
    TRY(Bcast(data, 1, MPI_BYTE, 0, MPI_COMM_NULL));
    TRY(Reduce(data, out, 1, MPI_BYTE, MPI_SUM, -3, c));
    TRY(Bcast(data, -1, MPI_BYTE, 0, c));
    TRY(Allreduce(data, out, 1, MPI_INT, MPI_OP_NULL, c));
    TRY(Gather(data, 1, MPI_BYTE, out, 1, MPI_BYTE, 99, c));
    TRY(Ibcast(data, 1, MPI_BYTE, 99, c, &q));
    TRY(Barrier(MPI_COMM_NULL));
}

static void handles(MPI_Comm c)
{
    MPI_Request none = MPI_REQUEST_NULL, nones[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Comm null = MPI_COMM_NULL, world = MPI_COMM_WORLD, made = MPI_COMM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL, byte = MPI_BYTE;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Win win = MPI_WIN_NULL;
    TRY(Wait(&none, &status));
    TRY(Test(&none, &flag, &status));
    TRY(Waitany(2, nones, &number, &status));
    TRY(Testany(2, nones, &number, &flag, &status));
    TRY(Waitall(2, nones, statuses));
    TRY(Waitsome(2, nones, &number, indices, statuses));
    TRY(Testsome(2, nones, &number, indices, statuses));
    TRY(Request_get_status(none, &flag, &status));
    TRY(Request_free(&none));
    TRY(Cancel(&none));
    TRY(Start(&none));
    TRY(Startall(2, nones));
    TRY(Waitall(-1, nones, statuses));
    TRY(Comm_free(&null));
    TRY(Comm_free(&world));
    TRY(Comm_dup(null, &made));
    TRY(Comm_split(c, -7, 0, &made));
    TRY(Comm_create(c, group, &made));
    TRY(Comm_set_name(null, "x"));
    TRY(Type_free(&type));
    TRY(Type_free(&byte));
    TRY(Type_contiguous(-1, MPI_BYTE, &type));
    TRY(Win_free(&win));
    TRY(Put(data, 1, MPI_BYTE, 0, 0, 1, MPI_BYTE, win));
}

static void statuses_kept(MPI_Comm c)
{
    MPI_Request q[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    TRY(Iprobe(0, 1, c, &flag, &status)); /* no message has arrived */
    MPI_Irecv(data, 4, MPI_BYTE, 0, 1, c, &q[0]);
    MPI_Irecv(data + 4, 4, MPI_BYTE, 0, 2, c, &q[1]);
    TRY(Test(&q[0], &flag, &status));
    TRY(Testany(2, q, &number, &flag, &status));
    TRY(Testsome(2, q, &number, indices, statuses));
    TRY(Testall(2, q, &flag, MPI_STATUSES_IGNORE));
    TRY(Request_get_status(q[0], &flag, &status));
    TRY(Send(out, 3, MPI_BYTE, 0, 1, c));
    TRY(Wait(&q[0], &status));
    TRY(Send(out, 2, MPI_BYTE, 0, 2, c));
    TRY(Waitall(2, q, statuses));
    TRY(Sendrecv(out, 2, MPI_BYTE, 0, 3, data, 8, MPI_BYTE, 0, 3, c, &status));
    TRY(Recv(data, 8, MPI_BYTE, MPI_PROC_NULL, 3, c, &status));
}

static void truncated(MPI_Comm c)
{
    MPI_Request q[2], sent;
    MPI_Isend(out, 8, MPI_BYTE, 0, 4, c, &sent);
    TRY(Recv(data, 4, MPI_BYTE, 0, 4, c, &status));
    TRY(Wait(&sent, MPI_STATUS_IGNORE));
    MPI_Irecv(data, 4, MPI_BYTE, 0, 5, c, &q[0]);
    MPI_Irecv(data, 8, MPI_BYTE, 0, 6, c, &q[1]);
    MPI_Send(out, 1, MPI_BYTE, 0, 6, c);
    MPI_Send(out, 8, MPI_BYTE, 0, 5, c);
    TRY(Waitall(2, q, statuses));
}

int main(int argc, char **argv)
{
    MPI_Comm c;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &c);
    MPI_Comm_set_errhandler(c, MPI_ERRORS_RETURN);
    setvbuf(stdout, NULL, _IOLBF, 0); /* so that the output is not lost if the MPI crashes */
    puts("ok");
    arguments(c);
    handles(c);
    statuses_kept(c);
    truncated(c);
    return MPI_Finalize();
}
