// Where a recording goes, in order: the private directory that `mpitrace run`
// made on this node (MPITRACE_SPOOL), the run directory (MPITRACE_DIR), the
// node's $TMPDIR.
#ifndef MT_PLACE_H
#define MT_PLACE_H

#include "mt.h"

#include <sys/types.h>

typedef struct mt_place {
    int tried;             // how many of the places
    char path[4096];       // of the file
    char directory[4096];  // run directory, absolute
    char name[512];        // of the file
    const char *why;       // it failed, if it did
    ino_t inode;
    dev_t device;
    bool elsewhere; // to be delivered into the run directory at the end
} mt_place;

// Makes the file in the next place; a descriptor, or -1 when there is none left.
int mt_place_next(mt_place *p);

// Copies the file of `size` bytes into the run directory and removes it here;
// on an error it stays where it is, and that is said.
void mt_place_deliver(mt_place *p, int fd, uint64_t size);

#endif
