/* The performance variables of an imaginary MPI: one of each class, type and
 * binding, and some that fail. It is linked before the MPI, and hides the
 * MPI's own tool interface. All values follow from imaginary_step, which the
 * program sets. */
#include "imaginary.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int imaginary_step, imaginary_queued, imaginary_sessions, imaginary_handles, imaginary_misused;

enum { BROKEN = 1 << 20, UNBINDABLE };

typedef struct variable {
    const char *name;
    int class, type, bound, count, continuous;
} variable;

enum { INT, UNSIGNED, LONG, LONG_LONG, COUNT, CHAR, DOUBLE };

static const variable variables[] = {
    {"odd_state", MPI_T_PVAR_CLASS_STATE, INT, MPI_T_BIND_NO_OBJECT, 1, 1},
    {"odd_level", MPI_T_PVAR_CLASS_LEVEL, UNSIGNED, MPI_T_BIND_NO_OBJECT, 3, 1},
    {"odd_size", MPI_T_PVAR_CLASS_SIZE, LONG, MPI_T_BIND_NO_OBJECT, 1, 1},
    {"odd_percentage", MPI_T_PVAR_CLASS_PERCENTAGE, DOUBLE, MPI_T_BIND_NO_OBJECT, 1, 0},
    {"odd_high", MPI_T_PVAR_CLASS_HIGHWATERMARK, LONG_LONG, MPI_T_BIND_NO_OBJECT, 1, 0},
    {"odd_low", MPI_T_PVAR_CLASS_LOWWATERMARK, COUNT, MPI_T_BIND_NO_OBJECT, 2, 0},
    {"odd_counter", MPI_T_PVAR_CLASS_COUNTER, LONG, MPI_T_BIND_NO_OBJECT, 1, 0},
    {"odd_aggregate", MPI_T_PVAR_CLASS_AGGREGATE, DOUBLE, MPI_T_BIND_NO_OBJECT, 1, 0},
    {"odd_timer", MPI_T_PVAR_CLASS_TIMER, DOUBLE, MPI_T_BIND_NO_OBJECT, 1, 0},
    {"odd_generic", MPI_T_PVAR_CLASS_GENERIC, CHAR, MPI_T_BIND_NO_OBJECT, 4, 1},
    {NULL, 0, 0, 0, 0, 0},
    {"odd_of_comm", MPI_T_PVAR_CLASS_LEVEL, INT, MPI_T_BIND_MPI_COMM, 2, 0},
    {"odd_growing", MPI_T_PVAR_CLASS_LEVEL, INT, MPI_T_BIND_MPI_COMM, 0, 1}, /* one element more with each handle */
    {"odd_of_win", MPI_T_PVAR_CLASS_COUNTER, UNSIGNED, MPI_T_BIND_MPI_WIN, 1, 0},
    {"odd_of_file", MPI_T_PVAR_CLASS_COUNTER, UNSIGNED, MPI_T_BIND_MPI_FILE, 1, 0},
    {"odd_broken", MPI_T_PVAR_CLASS_LEVEL, INT, MPI_T_BIND_NO_OBJECT, BROKEN, 1}, /* reading it fails from step 2 on */
    {"odd_unbindable", MPI_T_PVAR_CLASS_LEVEL, INT, MPI_T_BIND_NO_OBJECT, UNBINDABLE, 1},
    {"unexpected_recvq_length", MPI_T_PVAR_CLASS_LEVEL, UNSIGNED, MPI_T_BIND_NO_OBJECT, 1, 1},
};

enum { VARIABLES = sizeof variables / sizeof *variables, OPEN = 0x600d };

typedef struct handle {
    int open, count, started;
    const variable *is;
    const void *object; /* address of the object's handle, as in the Standard */
} handle;

static int only_session;

int PMPI_T_init_thread(int required, int *provided)
{
    *provided = required;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_get_num(int *n)
{
    *n = VARIABLES;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_get_info(int i, char *name, int *length, int *verbosity, int *class, MPI_Datatype *type,
                         MPI_T_enum *items, char *text, int *texts, int *bound, int *read_only, int *continuous,
                         int *atomic)
{
    const MPI_Datatype types[] = {MPI_INT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG,
                                  MPI_COUNT, MPI_CHAR, MPI_DOUBLE};
    const variable *v = &variables[i];
    (void)items;
    if (!v->name)
        return MPI_T_ERR_INVALID_INDEX;
    strncpy(name, v->name, (size_t)*length);
    *length = (int)strlen(v->name) + 1;
    strncpy(text, "of no MPI", (size_t)*texts);
    *verbosity = MPI_T_VERBOSITY_USER_BASIC;
    *class = v->class;
    *type = types[v->type];
    *bound = v->bound;
    *continuous = v->continuous;
    *read_only = 1;
    *atomic = 0;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    imaginary_sessions++;
    memset(session, 0, sizeof *session);
    *(int **)session = &only_session;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    imaginary_sessions--;
    memset(session, 0, sizeof *session);
    return MPI_SUCCESS;
}

int PMPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int i, void *object, MPI_T_pvar_handle *made, int *count)
{
    static int growing;
    const variable *v = &variables[i];
    (void)session;
    if (v->count == UNBINDABLE || (object == NULL) != (v->bound == MPI_T_BIND_NO_OBJECT))
        return MPI_T_ERR_INVALID_HANDLE;
    handle *h = calloc(1, sizeof *h);
    h->open = OPEN;
    h->is = v;
    h->object = object;
    *count = h->count = v->count == BROKEN ? 1 : v->count ? v->count : ++growing;
    *(handle **)made = h;
    imaginary_handles++;
    return MPI_SUCCESS;
}

static handle *checked(MPI_T_pvar_session session, MPI_T_pvar_handle made)
{
    static handle none;
    handle *h = *(handle **)&made;
    if (*(int **)&session == &only_session && imaginary_sessions == 1 && h->open == OPEN)
        return h;
    imaginary_misused++;
    return &none;
}

int PMPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *made)
{
    handle *h = checked(session, *made);
    h->open = 0; /* not freed, so that a later use is detected */
    imaginary_handles--;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle made)
{
    handle *h = checked(session, made);
    imaginary_misused += h->started || h->is->continuous;
    h->started = 1;
    return MPI_SUCCESS;
}

int PMPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle made, void *buffer)
{
    handle *h = checked(session, made);
    int size = 0;
    imaginary_misused += !h->started && !h->is->continuous;
    if (h->is->count == BROKEN && imaginary_step >= 2)
        return MPI_T_ERR_INVALID_HANDLE;
    if (h->is->bound == MPI_T_BIND_MPI_COMM) /* the communicator must still be at its address */
        PMPI_Comm_size(*(const MPI_Comm *)h->object, &size);
    imaginary_misused += h->is->bound == MPI_T_BIND_MPI_COMM && size < 1;
    for (int i = 0; i < h->count; i++) {
        int value = h->is == &variables[VARIABLES - 1] ? imaginary_queued : 10 * imaginary_step + i;
        switch (h->is->type) {
        case INT: ((int *)buffer)[i] = -value; break;
        case UNSIGNED: ((unsigned *)buffer)[i] = (unsigned)value; break;
        case LONG: ((unsigned long *)buffer)[i] = (unsigned long)value + (1ul << 40); break;
        case LONG_LONG: ((unsigned long long *)buffer)[i] = ~0ull - (unsigned long long)value; break;
        case COUNT: ((MPI_Count *)buffer)[i] = -value - ((MPI_Count)1 << 40); break;
        case CHAR: ((char *)buffer)[i] = "step"[i]; break;
        case DOUBLE: ((double *)buffer)[i] = value + 0.25; break;
        }
    }
    return MPI_SUCCESS;
}
