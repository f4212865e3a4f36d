// What the rows of all threads add up to so far: by world rank, by communicator,
// and in all. For .prof, and for programs that ask through MPI_T; everybody else
// reads the recording.
#ifndef MT_SUMS_H
#define MT_SUMS_H

#include "objects/comm.h"

// What is wanted of it: rows of other calls are passed over.
enum {
    MT_SUM_SENT = 1,        // point to point, by world rank
    MT_SUM_SIZES = 2,       // how many of these messages had which size
    MT_SUM_COLLECTIVE = 4,  // what collectives asked to be sent, by world rank
    MT_SUM_WRITTEN = 8,     // one-sided, by world rank
    MT_SUM_READ = 16,
    MT_SUM_BLOCKS = 32,     // collectives by communicator
    MT_SUM_TOTALS = 64,     // of all calls of the process
    MT_SUM_ALL = 127,
};

// As many columns as Open MPI prints; 64-bit sizes fill one less.
enum { MT_COLUMNS = 66, MT_CLASSES = 8 };

typedef struct mt_volume_sum {
    uint64_t bytes, count;
} mt_volume_sum;

// Collectives of one communicator.
typedef struct mt_block {
    mt_volume_sum o2a, a2o, a2a;
} mt_block;

// Arrays are NULL where they were not wanted.
typedef struct mt_sums {
    int world;
    mt_volume_sum *sent, *collective, *written, *read; // [world]
    uint64_t **sizes;                                   // [world], NULL or [MT_COLUMNS]
    mt_comm **comms;                                    // [comm_count]
    mt_block *blocks;                                   // [comm_count]
    int comm_count;
    uint64_t calls, ticks;      // totals
    uint64_t bytes[MT_CLASSES]; // likewise, that this process sent; read and wrote
} mt_sums;

// Adds up; false for want of memory. At any time, from any thread: what other
// threads book meanwhile may be in it or not, but a call that this thread made is.
bool mt_sums_take(mt_sums *sums, unsigned wanted);
void mt_sums_free(mt_sums *sums);

// Takes away what there was before, with as much wanted.
void mt_sums_subtract(mt_sums *sums, const mt_sums *before);

#endif
