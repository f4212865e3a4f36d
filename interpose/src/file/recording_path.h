// Where a recording goes, in order: the private directory that `mpitrace run`
// made on this node (MPITRACE_SPOOL), the run directory (MPITRACE_DIR), the
// node's $TMPDIR.
#ifndef MT_RECORDING_PATH_H
#define MT_RECORDING_PATH_H

#include "base/base.h"

#include <sys/types.h>

typedef struct mt_recording_path {
    int tried;             // how many of the places
    char path[4096];       // of the file
    char directory[4096];  // run directory, absolute
    char name[512];        // of the file
    const char *why;       // the latest of them failed, if one did
    ino_t inode;
    dev_t device;
    bool shared;    // in the run directory: results follow the user's umask
    bool elsewhere; // to be delivered into the run directory at the end
} mt_recording_path;

// Makes the file in the next place; a descriptor, or -1 when there is none left.
int mt_recording_path_next(mt_recording_path *p);

// Makes the file of a place, or opens it again: a descriptor that was kept would be
// closed by programs that close all of theirs, and then be somebody else's. -1 if it
// is there already, or is another than it was.
int mt_recording_path_create(mt_recording_path *p);
int mt_recording_path_reopen(const mt_recording_path *p);

// Whether a file may have so many bytes: past its limit the kernel sends SIGXFSZ.
bool mt_recording_path_allows(uint64_t size);

// The same name in the run directory, which is made if it is not there.
bool mt_recording_path_in_run_directory(mt_recording_path *p);

// Notes in the run directory that the recording is in $TMPDIR, if it is: a
// symbolic link NAME.at to "host:path", which takes no room on a full disk.
// Whoever collects finds it there if the process ends without delivering.
void mt_recording_path_note(const mt_recording_path *p);

// Copies the file of `size` bytes into the run directory and removes it here;
// on an error it stays where it is, and that is said.
void mt_recording_path_deliver(mt_recording_path *p, int fd, uint64_t size);

#endif
