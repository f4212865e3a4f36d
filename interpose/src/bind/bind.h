// Layer 0, bind: files in memory. It is part of the library and of the dispatcher, and calls
// nothing else of them.
//
// Calls that lead past symbol interposition reach our wrappers too: those of files that were
// opened with RTLD_DEEPBIND, and of functions that a program takes by dlsym from the MPI's own
// handle. The dynamic linker is left alone (no flag is changed, nothing is wrapped); what it
// reads is changed in memory:
//
//  - In a loaded MPI, the symbol MPI_x gets the address of our wrapper. Each later lookup in
//    that file finds the wrapper: of a file that is opened, of a function that is bound when it
//    is first called, and dlsym. Its alias PMPI_x stays.
//  - Slots of files that were bound to MPI_x before get the wrapper.
//  - Names that the MPI lacks become invisible in our own file, for programs that test for a
//    function by a weak symbol. References that are bound to them already become null.
//
// This happens before any code of the loaded files runs: the _init of a file that is linked with
// crti.o calls the weak function __gmon_start__, which we define (base/binding.c). When it does, all
// files of a dlopen are relocated, and no constructor of them has run. A call costs nothing.
//
// A name that another file defines too, which is no MPI, stays as it is: that file is a tool or
// a trampoline, and passes calls on to the MPI. The wrapper passes them on to that file
// (resolve.c), so they are counted once.
//
// dl_iterate_phdr's lock is held meanwhile. It keeps files from being unloaded, and makes
// threads take turns.
#ifndef MT_BIND_H
#define MT_BIND_H

#include "bind/image.h"

typedef struct mt_binder {
    // Reports whether the wrappers serve this MPI. The image is that of the file with C functions.
    bool (*serves)(const mt_image *mpi);

    // An address in each file with wrappers. The second may be NULL. It serves for names that the
    // first lacks.
    const void *wrappers[2];

    // Whether the first file may define names that the MPI lacks.
    bool hides;

    // Whether the MPI's names lead to the second file only. The first is that of the dispatcher,
    // whose entries would call the MPI that is in the global scope, which may be another one.
    bool second_only;

    // Whether symbols get the MPI's own addresses back.
    bool undoes;
} mt_binder;

// Reports whether an MPI is among the files that were loaded since the last call. If it
// is, mt_bind must follow.
bool mt_bind_is_due(void);

// Binds the MPIs that the wrappers serve. `loading`: no other thread is loading files, because
// this one does, or because the process is starting. Otherwise memory that is protected after
// relocation is not changed.
void mt_bind(const mt_binder *binder, bool loading);

// Stores, for each loaded MPI, the address of its PMPI_Get_library_version. Returns their number.
size_t mt_bind_loaded_mpis(void *functions[], size_t room);

// Reports whether any MPI was loaded, bound or not.
bool mt_bind_saw_mpi(void);

// Returns the file of the MPI that is bound, "" if none is.
const char *mt_bound_file(void);

#endif
