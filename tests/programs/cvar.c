// Prints the values of control variables as the program itself reads them
// through MPI_T after MPI_Init: those named on the command line, and with $
// environment variables. Rank 0 prints "ok", whether MPI_T was open before,
// and one line for each variable.
#include "check.h"

#include <string.h>

static void read_variable(int index, MPI_Datatype type)
{
    MPI_T_cvar_handle handle;
    int count;
    union {
        int i;
        unsigned long n;
        char text[8192];
    } value = {.text = ""};
    REQUIRE(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS);
    REQUIRE(MPI_T_cvar_read(handle, &value) == MPI_SUCCESS);
    if (type == MPI_CHAR)
        printf("%s\n", value.text);
    else if (type == MPI_INT)
        printf("%d\n", value.i);
    else
        printf("%lu\n", value.n);
    MPI_T_cvar_handle_free(&handle);
}

static void print_variable(const char *name)
{
    int n, index = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    if (*name == '$') {
        const char *value = getenv(name + 1);
        printf("%s=%s\n", name, value ? value : "?");
        return;
    }
    REQUIRE(MPI_T_cvar_get_num(&n) == MPI_SUCCESS);
    for (int i = 0; i < n && index < 0; i++) {
        char found[512] = "";
        int length = sizeof found, none = 0, verbosity, bind, scope;
        MPI_T_enum items;
        if (MPI_T_cvar_get_info(i, found, &length, &verbosity, &type, &items, NULL, &none, &bind, &scope) ==
                MPI_SUCCESS &&
            strcmp(found, name) == 0)
            index = i;
    }
    printf("%s=", name);
    if (index < 0)
        printf("?\n");
    else
        read_variable(index, type);
}

int main(int argc, char **argv)
{
    int n, provided;
    begin(argc, argv, 2);
    /* The MPI's own function: the program must open MPI_T before it may call
     * mpitrace's. */
    int before = PMPI_T_cvar_get_num(&n);
    REQUIRE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    if (world_rank == 0) {
        printf("ok\nMPI_T was %s\n", before == MPI_T_ERR_NOT_INITIALIZED ? "closed" : "open");
        for (int i = 1; i < argc; i++)
            print_variable(argv[i]);
        fflush(stdout);
    }
    char message[64] = "";
    if (world_rank == 1)
        MPI_Send(message, sizeof message, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    else
        MPI_Recv(message, sizeof message, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_T_finalize();
    MPI_Finalize();
    return 0;
}
