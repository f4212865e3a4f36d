// Sums of the rows of all threads so far: by world rank, by communicator, and in
// total. They are used for .prof and for programs that read our variables through
// MPI_T. All other users read the recording.
#ifndef MT_SUMS_H
#define MT_SUMS_H

#include "objects/comm.h"

// Which sums to compute. Rows that none of them needs are skipped.
enum {
    MT_SUM_SENT = 1,        // point to point, by world rank
    MT_SUM_SIZES = 2,       // the number of these messages by size
    MT_SUM_COLLECTIVE = 4,  // what collectives asked to be sent, by world rank
    MT_SUM_WRITTEN = 8,     // one-sided, by world rank
    MT_SUM_READ = 16,
    MT_SUM_BLOCKS = 32,     // collectives, by communicator
    MT_SUM_TOTALS = 64,     // totals of all calls of the process
    MT_SUM_ALL = 127,
};

// The number of columns is that of Open MPI; 64-bit sizes need one column less.
enum { MT_COLUMNS = 66, MT_CLASSES = 8 };

typedef struct mt_volume_sum {
    uint64_t bytes, count;
} mt_volume_sum;

// Collectives of one communicator.
typedef struct mt_block {
    mt_volume_sum o2a, a2o, a2a;
} mt_block;

// Arrays are NULL if their sums were not asked for.
typedef struct mt_sums {
    int world;
    mt_volume_sum *sent, *collective, *written, *read; // [world]
    uint64_t **sizes;                                   // [world], NULL or [MT_COLUMNS]
    mt_comm **comms;                                    // [comm_count]
    mt_block *blocks;                                   // [comm_count]
    int comm_count;
    uint64_t calls, ticks;      // totals
    uint64_t bytes[MT_CLASSES]; // by class: sent by this process; one-sided calls and files: read and written
} mt_sums;

// Computes the sums that `wanted` names. Returns false if there is no memory. Any
// thread may call it at any time. Calls that other threads book meanwhile may be
// included or not; all earlier calls of this thread are included.
bool mt_sums_compute(mt_sums *sums, unsigned wanted);
void mt_sums_free(mt_sums *sums);

// Subtracts earlier sums, which were taken with the same `wanted`.
void mt_sums_subtract(mt_sums *sums, const mt_sums *before);

#endif
