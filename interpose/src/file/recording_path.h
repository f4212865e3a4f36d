// Where a recording is made. The places are tried in this order: the private directory
// that `mpitrace run` made on this node (MPITRACE_SPOOL_DIR), the run directory
// (MPITRACE_DIR), and the node's $TMPDIR.
#ifndef MT_RECORDING_PATH_H
#define MT_RECORDING_PATH_H

#include "base/base.h"

#include <sys/stat.h>
#include <sys/types.h>

typedef struct mt_recording_path {
    int tried;             // how many of the places were tried
    char path[4096];       // of the file
    char directory[4096];  // run directory, absolute
    char name[512];        // of the file
    const char *why;       // error of the latest place that failed, NULL if none did
    uint64_t start;        // Unix ns in the file's name
    ino_t inode;
    dev_t device;
    bool shared;    // in the run directory: the file's mode follows the user's umask
    bool in_tmpdir; // in $TMPDIR: to be moved into the run directory at the end
} mt_recording_path;

// Chooses the next place. Returns false if no place is left.
bool mt_recording_path_next(mt_recording_path *p);

// Writes the name of this node as it is in names of files.
void mt_recording_path_host(char *host, size_t size);

// Changes the file name extension. Returns false if the path would be too long.
bool mt_recording_path_set_ending(mt_recording_path *p, const char *ending);

// mt_recording_path_create makes the file of a place; it returns a descriptor, or -1 if
// the file exists already. mt_recording_path_reopen opens it again; it returns -1 if
// the file is not the one that was made. No descriptor is kept: programs that close all
// descriptors would close it, and its number would then be that of another file.
int mt_recording_path_create(mt_recording_path *p);
int mt_recording_path_reopen(const mt_recording_path *p);

// Lets the owner read and write a new file, whatever the program's umask is: this process
// opens the file again, and `mpitrace` reads it.
void mt_recording_path_own(int fd, const struct stat *st);

// Reports whether the file was removed or replaced.
bool mt_recording_path_removed(const mt_recording_path *p);

// Reports whether a file may have `size` bytes. The kernel sends SIGXFSZ to a process
// that exceeds its limit.
bool mt_recording_path_allows(uint64_t size);

// Changes the place to the same name in the run directory, which is made if it does not
// exist. Returns false on an error.
bool mt_recording_path_in_run_directory(mt_recording_path *p);

// If the recording is in $TMPDIR, leaves a note of that in the run directory: a
// symbolic link NAME.at to "host:path", which takes no room on a full disk. If the
// process ends without delivering the recording, it can be collected from there.
void mt_recording_path_note(const mt_recording_path *p);

// Copies the file of `size` bytes into the run directory and removes it here. Returns false
// if it cannot be copied.
bool mt_recording_path_deliver(mt_recording_path *p, int fd, uint64_t size);

#endif
