/* Ranks 1 to 7 send messages of random sizes and tags to rank 0, which
 * receives them from any source by each call (8 ranks). The argument is the
 * number of messages of each sender. */
#include "check.h"

#define MOST 20000  /* bytes */
#define PENDING 16  /* receives in progress */

static char in[PENDING][MOST], out[MOST];

static unsigned next_random(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* send_all sends mostly short messages. One in 64 is synchronous, which
 * limits the number of messages that have arrived and are not received yet. */
static void send_all(int n)
{
    unsigned state = (unsigned)world_rank;
    for (int i = 0; i < n; i++) {
        int bytes = (int)(next_random(&state) % (i % 100 == 0 ? MOST : 200)), tag = (int)(next_random(&state) % 8);
        if (i % 64 == 63)
            MPI_Ssend(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        else
            MPI_Send(out, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
    }
}

/* The receives of rank 0 that are in progress. */
static MPI_Request pending[PENDING];
static int left; /* messages that no receive is posted for yet */

static void take_any(void)
{
    MPI_Recv(out, MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void take_probed(void)
{
    MPI_Status status;
    for (int flag = 0; !flag;)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(out, MOST, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void take_matched(void)
{
    MPI_Message message;
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(out, MOST, MPI_BYTE, &message, MPI_STATUS_IGNORE);
}

/* post posts receive i. Every fourth one is a matched receive, if a message has
 * arrived. */
static void post(int i)
{
    MPI_Message message;
    int flag = 0;
    left--;
    if (left % 4 == 0)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    if (flag)
        MPI_Imrecv(in[i], MOST, MPI_BYTE, &message, &pending[i]);
    else
        MPI_Irecv(in[i], MOST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &pending[i]);
}

/* take_posted waits for any posted receive, and posts another. */
static void take_posted(void)
{
    int i;
    MPI_Waitany(PENDING, pending, &i, MPI_STATUS_IGNORE);
    post(i);
}

static void (*const ways[])(void) = {take_any, take_probed, take_matched};

/* take_all alternates between receiving directly and posting receives. It does
 * not mix the two, because a probe finds no message while receives for any
 * message are posted. */
static void take_all(int n)
{
    for (left = n; left > 0;) {
        for (int k = 0; k < 300 && left > 0; k++, left--)
            ways[k % 3]();
        for (int i = 0; i < PENDING; i++)
            if (left > 0)
                post(i);
            else
                pending[i] = MPI_REQUEST_NULL;
        for (int k = 0; k < 300 && left > 0; k++)
            take_posted();
        MPI_Waitall(PENDING, pending, MPI_STATUSES_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int each = argc > 1 ? atoi(argv[1]) : 1000;
    begin(argc, argv, 8);
    if (world_rank == 0)
        take_all(7 * each);
    else
        send_all(each);
    return end();
}
