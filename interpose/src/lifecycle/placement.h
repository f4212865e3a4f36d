// Where the process may run: the processors of its affinity mask, the CPU time that
// its control group allows, and the processors, cores and sockets of the node.
#ifndef MT_PLACEMENT_H
#define MT_PLACEMENT_H

#include "base/base.h"

// Writes the placement to the recording. Called at the end of MPI_Init, because some
// MPIs bind processes there. (Cost: 50 to 100 µs, for about a dozen small files of
// /proc and /sys.)
void mt_placement_log(void);

#endif
