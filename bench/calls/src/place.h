// What the loops work on. Each thread has a place of its own, so that threads
// meet in MPI only.
#ifndef PLACE_H
#define PLACE_H

#include <mpi.h>

enum {
    MAX_THREADS = 64,
    MAX_RANKS = 1024,
    WINDOW = 64,     // messages each way in a window
    TAG = 1,         // of messages
    SILENT_TAG = 99, // of messages that nobody sends
};

struct place {
    // The same in Fortran's handles: loops.F90 declares this part.
    struct {
        MPI_Fint comm, dup, group, request, win;
        int self, peer;
    } fortran;
    MPI_Comm comm;       // MPI_COMM_WORLD; a duplicate where there are threads
    MPI_Comm dup;        // a duplicate
    MPI_Comm group;      // of collectives: MPI_COMM_SELF, or of several ranks the same as comm
    MPI_Request request; // a receive of what nobody sends: it stays active
    MPI_Win win;         // on this process alone, locked; none where there are threads
    int self, peer;      // ranks in comm: this one, and that which messages go to
    int counts[MAX_RANKS], displacements[MAX_RANKS];
    double out[MAX_RANKS], in[MAX_RANKS];
};

// The loops: in C or in Fortran, whichever the driver is linked with.
#define EACH_LOOP(LOOP)     \
    LOOP(Send)              \
    LOOP(IsendIrecvWaitall) \
    LOOP(Sendrecv)          \
    LOOP(Iprobe)            \
    LOOP(Test)              \
    LOOP(Allreduce)         \
    LOOP(Bcast)             \
    LOOP(Barrier)           \
    LOOP(PutFlush)          \
    LOOP(Window)            \
    LOOP(Alltoallv)

#define DECLARE_LOOP(name) void loop_##name(struct place *place, long calls);
EACH_LOOP(DECLARE_LOOP)

#endif
