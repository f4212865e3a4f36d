// Writes an ordinary value to each control variable that is writable according
// to its scope, as MPICH's test mpi_t/cvarwrite does. The value must be
// accepted and read back. The MPI's own variables are not tested (1 rank).
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { TEXT = 8192 };

// Reports whether the variable accepts the value. Restores the old value.
static int takes(MPI_T_cvar_handle handle, MPI_Datatype type)
{
    static char before[TEXT], after[TEXT];
    const char text[TEXT] = "an ordinary text";
    int old = 0, number = 123, now = 0, rc;
    if (type == MPI_CHAR) {
        MPI_T_cvar_read(handle, before);
        rc = MPI_T_cvar_write(handle, text);
        MPI_T_cvar_read(handle, after);
        MPI_T_cvar_write(handle, before);
        return rc == MPI_SUCCESS && strcmp(text, after) == 0;
    }
    MPI_T_cvar_read(handle, &old);
    rc = MPI_T_cvar_write(handle, &number);
    MPI_T_cvar_read(handle, &now);
    MPI_T_cvar_write(handle, &old);
    return rc == MPI_SUCCESS && now == number;
}

int main(int argc, char **argv)
{
    int provided, n, ours = 0, refused = 0;
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; i++) {
        char name[256] = "";
        int length = sizeof name, none = 0, verbosity, bind, scope, count;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_cvar_handle handle;
        if (MPI_T_cvar_get_info(i, name, &length, &verbosity, &type, &values, NULL, &none, &bind, &scope) !=
                MPI_SUCCESS ||
            strncmp(name, "mpitrace_", 9) != 0)
            continue;
        ours++;
        if (scope == MPI_T_SCOPE_READONLY || scope == MPI_T_SCOPE_CONSTANT)
            continue;
        MPI_T_cvar_handle_alloc(i, NULL, &handle, &count);
        if (!takes(handle, type)) {
            printf("%s refuses an ordinary value, and its scope is %d\n", name, scope);
            refused++;
        }
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    MPI_Finalize();
    if (ours > 0 && refused == 0)
        puts("ok");
    return ours > 0 && refused == 0 ? 0 : 1;
}
