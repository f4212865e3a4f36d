// The data that the loops work on. Each thread has its own, so that threads share nothing outside MPI.
#ifndef PLACE_H
#define PLACE_H

#include "mpi_fint.h"

enum {
    MAX_THREADS = 64,
    MAX_RANKS = 1024,
    WINDOW = 64,     // messages each way in a window
    TAG = 1,         // of messages
    SILENT_TAG = 99, // of messages that are never sent
};

struct place {
    // Fortran handles of the objects below; loops.F90 declares this part, too.
    struct {
        MPI_Fint comm, dup, group, request, win;
        int self, peer;
    } fortran;
    MPI_Comm comm;       // MPI_COMM_WORLD; with threads, a duplicate
    MPI_Comm dup;        // a duplicate
    MPI_Comm group;      // for collectives: MPI_COMM_SELF; with threads or several ranks, comm
    MPI_Request request; // a receive whose message is never sent: it stays active
    MPI_Win win;         // of this process alone, locked; MPI_WIN_NULL with threads
    int self, peer;      // ranks in comm: this rank, and the one to send to
    int counts[MAX_RANKS], displacements[MAX_RANKS];
    double out[MAX_RANKS], in[MAX_RANKS];
};

// The loops: in C or in Fortran, whichever the driver is linked with.
#define EACH_LOOP(LOOP)     \
    LOOP(Send)              \
    LOOP(IsendIrecvWaitall) \
    LOOP(Sendrecv)          \
    LOOP(RecvNull)          \
    LOOP(SendrecvNull)      \
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
