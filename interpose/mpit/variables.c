#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "library.h"
#include "list.h"
#include "names.h"

// More elements than any variable has. A larger count was not set by the library.
enum { MAX_COUNT = 1 << 20 };

// Bytes allocated in addition to the count of a variable, because some libraries write
// the terminating zero of a string after its count.
enum { EXTRA_BYTES = 4096 };

// Writes the values in a buffer, one value=... for each element.
static void line_values(struct line *l, const struct type *type, const char *buffer, int count)
{
    if (type->form == FORM_TEXT) {
        line_text(l, "value", buffer);
        return;
    }
    for (int i = 0; i < count; i++) {
        const char *at = buffer + (size_t)i * type->size;
        char text[64];
        unsigned long long bits = 0;
        float single;
        double number;
        memcpy(&bits, at, type->size); // correct on little-endian machines, and for types of 8 bytes
        switch (type->form) {
        case FORM_SIGNED: {
            unsigned unused = 64 - 8 * (unsigned)type->size;
            snprintf(text, sizeof text, "%lld", (long long)(bits << unused) >> unused);
            break;
        }
        case FORM_FLOATING:
            memcpy(&single, at, sizeof single);
            memcpy(&number, at, type->size < sizeof number ? 0 : sizeof number);
            snprintf(text, sizeof text, "%.17g", type->size == sizeof single ? (double)single : number);
            break;
        default:
            snprintf(text, sizeof text, "%llu", bits);
        }
        line_text(l, "value", text);
    }
}

// Returns the object to bind a variable to in `object`. Returns false if there is none.
static bool find_object(int bind, void **object)
{
    static MPI_Comm world;
    world = MPI_COMM_WORLD;
    *object = bind == MPI_T_BIND_MPI_COMM ? &world : NULL;
    return bind == MPI_T_BIND_NO_OBJECT || bind == UNSET || (bind == MPI_T_BIND_MPI_COMM && after_init);
}

// Returns a buffer for the values, or NULL if their type or number is not known.
static char *buffer_for(const struct type *type, int count)
{
    if (type->form == FORM_UNKNOWN || count < 0 || count > MAX_COUNT)
        return NULL;
    return calloc(1, (size_t)count * type->size + EXTRA_BYTES);
}

static void read_cvar(struct line *l, int index, const struct type *type, int bind)
{
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    int count = UNSET;
    void *object;
    if (!find_object(bind, &object) || !begin_step(STEP_HANDLE))
        return;
    if (failed(mpi.T_cvar_handle_alloc(index, object, &handle, &count), "MPI_T_cvar_handle_alloc"))
        return;
    line_number_if_set(l, "count", count);
    char *buffer = buffer_for(type, count);
    if (buffer && begin_step(STEP_READ) && !failed(mpi.T_cvar_read(handle, buffer), "MPI_T_cvar_read"))
        line_values(l, type, buffer, count);
    free(buffer);
    mpi.T_cvar_handle_free(&handle);
}

void list_cvar(int index)
{
    struct info info = {0};
    struct line l = {0};
    int verbosity, bind, scope;
    MPI_Datatype datatype;
    MPI_T_enum items;
    do {
        verbosity = bind = scope = UNSET;
        datatype = MPI_DATATYPE_NULL;
        items = MPI_T_ENUM_NULL;
        if (failed(mpi.T_cvar_get_info(index, info.name, &info.name_size, &verbosity, &datatype, &items,
                                       info.description, &info.description_size, &bind, &scope),
                   "MPI_T_cvar_get_info"))
            return;
    } while (info_ask_again(&info));
    list_enum(items);
    info_start(&l, "cvar", index, &info);
    line_verbosity(&l, verbosity);
    line_type(&l, "type", datatype);
    line_bind(&l, bind);
    line_scope(&l, scope);
    line_enum(&l, items);
    read_cvar(&l, index, type_of(datatype), bind);
    list_line(&l);
    free(l.text);
}

// Allocates handles only after MPI_Init. Before it nothing has been counted, and Open
// MPI 4.1 crashes.
static void read_pvar(struct line *l, int index, const struct type *type, int bind, bool continuous)
{
    static MPI_T_pvar_session session;
    static bool have_session;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int count = UNSET;
    void *object;
    if (!after_init || !find_object(bind, &object) || !begin_step(STEP_HANDLE))
        return;
    if (!have_session && failed(mpi.T_pvar_session_create(&session), "MPI_T_pvar_session_create"))
        return;
    have_session = true;
    if (failed(mpi.T_pvar_handle_alloc(session, index, object, &handle, &count), "MPI_T_pvar_handle_alloc"))
        return;
    line_number_if_set(l, "count", count);
    char *buffer = buffer_for(type, count);
    if (buffer && begin_step(STEP_READ) &&
        (continuous || !failed(mpi.T_pvar_start(session, handle), "MPI_T_pvar_start")) &&
        !failed(mpi.T_pvar_read(session, handle, buffer), "MPI_T_pvar_read"))
        line_values(l, type, buffer, count);
    free(buffer);
    mpi.T_pvar_handle_free(session, &handle);
}

// Writes a flag of a pvar as 0 or 1. In MPICH and Intel MPI, a flag that is set may have another
// value than 1.
static void line_flag(struct line *l, const char *key, int flag)
{
    line_number_if_set(l, key, flag == UNSET ? UNSET : flag != 0);
}

void list_pvar(int index)
{
    struct info info = {0};
    struct line l = {0};
    int verbosity, class, bind, readonly, continuous, atomic;
    MPI_Datatype datatype;
    MPI_T_enum items;
    do {
        verbosity = class = bind = readonly = continuous = atomic = UNSET;
        datatype = MPI_DATATYPE_NULL;
        items = MPI_T_ENUM_NULL;
        if (failed(mpi.T_pvar_get_info(index, info.name, &info.name_size, &verbosity, &class, &datatype, &items,
                                       info.description, &info.description_size, &bind, &readonly, &continuous,
                                       &atomic),
                   "MPI_T_pvar_get_info"))
            return;
    } while (info_ask_again(&info));
    list_enum(items);
    info_start(&l, "pvar", index, &info);
    line_verbosity(&l, verbosity);
    line_class(&l, class);
    line_type(&l, "type", datatype);
    line_bind(&l, bind);
    line_flag(&l, "readonly", readonly);
    line_flag(&l, "continuous", continuous);
    line_flag(&l, "atomic", atomic);
    line_enum(&l, items);
    read_pvar(&l, index, type_of(datatype), bind, continuous != UNSET && continuous != 0);
    list_line(&l);
    free(l.text);
}
