/* Point-to-point calls of rank 1 of 3 under the null MPI: each function is a phase of its
 * own. TestMessages has what each must have sent and received. */
#include "check.h"
#include "nullmpi.h"

#include <mpitrace.h>
#include <string.h>

static char out[1000], in[1000];
static const MPI_Comm world = MPI_COMM_WORLD;
#define NO MPI_STATUS_IGNORE

static void sends(void)
{
    MPI_Request q[4];
    MPI_Send(out, 1, MPI_BYTE, 0, 5, world);
    MPI_Bsend(out, 2, MPI_INT, 0, 5, world);
    MPI_Ssend(out, 3, MPI_DOUBLE, 0, 5, world);
    MPI_Rsend(out, 4, MPI_SHORT, 0, 5, world);
    MPI_Isend(out, 50, MPI_BYTE, 2, 5, world, &q[0]);
    MPI_Ibsend(out, 60, MPI_BYTE, 2, 5, world, &q[1]);
    MPI_Issend(out, 70, MPI_BYTE, 2, 5, world, &q[2]);
    MPI_Irsend(out, 80, MPI_BYTE, 2, 5, world, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
}

/* All that `sends` has sent came back. */
static void receives(void)
{
    MPI_Message message;
    MPI_Request q[4];
    MPI_Status status;
    int n, flag, index;
    MPI_Recv(in, 1, MPI_BYTE, 0, 5, world, NO);
    MPI_Recv(in, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    MPI_Get_count(&status, MPI_INT, &n);
    REQUIRE(status.MPI_SOURCE == 0 && status.MPI_TAG == 5 && n == 2);
    MPI_Probe(MPI_ANY_SOURCE, 5, world, &status);
    REQUIRE(status.MPI_SOURCE == 0);
    MPI_Mprobe(0, 5, world, &message, NO);
    MPI_Mrecv(in, 1000, MPI_BYTE, &message, NO);
    MPI_Improbe(MPI_ANY_SOURCE, 5, world, &flag, &message, NO);
    MPI_Imrecv(in, 1000, MPI_BYTE, &message, &q[0]);
    MPI_Wait(&q[0], NO);
    for (int i = 0; i < 4; i++)
        MPI_Irecv(in + 100 * i, 100, MPI_BYTE, i % 2 ? 2 : MPI_ANY_SOURCE, 5, world, &q[i]);
    MPI_Test(&q[1], &flag, NO);
    MPI_Waitany(4, q, &index, NO);
    REQUIRE(flag && index == 0);
    MPI_Waitsome(4, q, &n, (int[4]){0}, MPI_STATUSES_IGNORE);
    REQUIRE(n == 2);
}

static void nobody(void)
{
    MPI_Request q;
    MPI_Status status;
    MPI_Send(out, 10, MPI_BYTE, MPI_PROC_NULL, 1, world);
    MPI_Recv(in, 10, MPI_BYTE, MPI_PROC_NULL, 1, world, &status);
    REQUIRE(status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Irecv(in, 10, MPI_BYTE, MPI_PROC_NULL, 1, world, &q);
    MPI_Wait(&q, NO);
    MPI_Sendrecv(out, 10, MPI_BYTE, MPI_PROC_NULL, 1, in, 10, MPI_BYTE, MPI_PROC_NULL, 1, world, NO);
}

static void both(void)
{
    MPI_Request q;
    MPI_Sendrecv(out, 10, MPI_INT, 2, 1, in, 50, MPI_BYTE, MPI_ANY_SOURCE, 1, world, NO);
    MPI_Isendrecv(out, 11, MPI_INT, 0, 1, in, 50, MPI_BYTE, 0, 1, world, &q);
    MPI_Wait(&q, NO);
}

static void persistent(void)
{
    MPI_Request q[2];
    MPI_Send_init(out, 3, MPI_INT, 2, 1, world, &q[0]);
    MPI_Recv_init(in, 9, MPI_INT, MPI_ANY_SOURCE, 1, world, &q[1]);
    for (int i = 0; i < 5; i++) {
        MPI_Startall(2, q);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    MPI_Start(&q[0]);
    MPI_Wait(&q[0], NO);
    MPI_Recv(in, 100, MPI_BYTE, 2, 1, world, NO);
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void partitioned(void)
{
    MPI_Request q[2];
    int flag;
    MPI_Psend_init(out, 4, 5, MPI_INT, 0, 1, world, MPI_INFO_NULL, &q[0]);
    MPI_Precv_init(in, 2, 10, MPI_INT, 0, 1, world, MPI_INFO_NULL, &q[1]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, q);
        MPI_Pready(3, q[0]);
        MPI_Parrived(q[1], 0, &flag);
        REQUIRE(!flag);
        MPI_Pready_range(0, 1, q[0]);
        MPI_Pready_list(1, (int[]){2}, q[0]);
        MPI_Parrived(q[1], 1, &flag);
        REQUIRE(flag);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&q[0]);
    MPI_Request_free(&q[1]);
}

static void truncated(void)
{
    MPI_Request q[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 4; i++)
        MPI_Send(out, 20, MPI_BYTE, 2, 1, world);
    REQUIRE(MPI_Recv(in, 19, MPI_BYTE, 2, 1, world, NO) == MPI_ERR_TRUNCATE);
    MPI_Irecv(in, 0, MPI_BYTE, MPI_ANY_SOURCE, 1, world, &q[0]);
    REQUIRE(MPI_Wait(&q[0], NO) == MPI_ERR_TRUNCATE);
    MPI_Irecv(in, 5, MPI_BYTE, 2, 1, world, &q[0]);
    MPI_Irecv(in, 20, MPI_BYTE, 2, 1, world, &q[1]);
    REQUIRE(MPI_Waitall(2, q, statuses) == MPI_ERR_IN_STATUS);
    REQUIRE(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
}

/* What the library records of a received message is what the status says. */
static void chosen(void)
{
    MPI_Status status;
    MPI_Count n;
    for (int i = 0; i < 2; i++)
        MPI_Send(out, 7, MPI_BYTE, 0, 1, world);
    null_receive(2, 3, 5000000000);
    MPI_Recv(in, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
    MPI_Get_elements_x(&status, MPI_BYTE, &n);
    REQUIRE(n == 5000000000);
    null_receive(2, 3, 4);
    MPI_Recv(in, 1000, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, NO);
}

/* A call that fails although it has done its work. */
static void failed(void)
{
    MPI_Message message;
    MPI_Request q;
    for (int n = 50; n <= 90; n += 10)
        MPI_Send(out, n, MPI_BYTE, 0, 1, world);
    MPI_Irecv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 1, world, &q);
    null_fail_after("Wait", MPI_ERR_OTHER);
    REQUIRE(MPI_Wait(&q, NO) == MPI_ERR_OTHER);
    null_fail_after("Recv", MPI_ERR_OTHER);
    REQUIRE(MPI_Recv(in, 100, MPI_BYTE, 0, 1, world, NO) == MPI_ERR_OTHER);
    MPI_Mprobe(0, 1, world, &message, NO);
    null_fail_after("Mrecv", MPI_ERR_OTHER);
    REQUIRE(MPI_Mrecv(in, 100, MPI_BYTE, &message, NO) == MPI_ERR_OTHER);
    MPI_Recv_init(in, 100, MPI_BYTE, 0, 1, world, &q);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&q);
        null_fail_after("Wait", MPI_ERR_OTHER);
        REQUIRE(MPI_Wait(&q, NO) == MPI_ERR_OTHER);
    }
    MPI_Request_free(&q);
    null_fail_after("Sendrecv", MPI_ERR_OTHER);
    REQUIRE(MPI_Sendrecv(out, 95, MPI_BYTE, 0, 2, in, 100, MPI_BYTE, 0, 2, world, NO) == MPI_ERR_OTHER);
}

static void cancelled(void)
{
    MPI_Request q, all[2];
    int flag = 0;
    null_cancel_sends(2 + 1);
    for (int i = 0; i < 2; i++) {
        MPI_Isend(out, 30, MPI_BYTE, 0, 99, world, &all[i]);
        MPI_Cancel(&all[i]);
    }
    MPI_Waitall(2, all, MPI_STATUSES_IGNORE);
    MPI_Isend(out, 30, MPI_BYTE, 0, 99, world, &q);
    MPI_Cancel(&q);
    MPI_Test(&q, &flag, NO);
    REQUIRE(flag);
    MPI_Isend(out, 40, MPI_BYTE, 0, 99, world, &q);
    MPI_Cancel(&q); /* too late: the message is sent */
    MPI_Wait(&q, NO);
    MPI_Isend(out, 30, MPI_BYTE, 0, 99, world, &q);
    MPI_Cancel(&q);
    MPI_Request_free(&q); /* so nobody sees whether it was cancelled */
    MPI_Irecv(in, 10, MPI_BYTE, 0, 98, world, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, NO);
    MPI_Irecv(in, 10, MPI_BYTE, 0, 98, world, &q);
    MPI_Request_free(&q);
}

static void cancelled_persistent(void)
{
    MPI_Request q;
    MPI_Send_init(out, 20, MPI_BYTE, 0, 99, world, &q);
    null_cancel_sends(2);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&q);
        MPI_Cancel(&q);
        if (i < 2)
            MPI_Wait(&q, NO);
    }
    MPI_Request_free(&q); /* so nobody sees that the third was not cancelled */
}

static void unfinished(void)
{
    static MPI_Request q[2];
    MPI_Irecv(in, 10, MPI_BYTE, 0, 97, world, &q[0]);
    MPI_Irecv(in, 10, MPI_BYTE, MPI_ANY_SOURCE, 97, world, &q[1]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } phases[] = {
        {"sends", sends}, {"receives", receives}, {"nobody", nobody}, {"both", both},
        {"persistent", persistent}, {"partitioned", partitioned}, {"truncated", truncated},
        {"chosen", chosen}, {"failed", failed}, {"cancelled", cancelled},
        {"cancelled persistent", cancelled_persistent}, {"unfinished", unfinished},
    };
    begin(argc, argv, 3);
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        mpitrace_phase(phases[i].name);
        phases[i].run();
    }
    puts("ok");
    return MPI_Finalize();
}
