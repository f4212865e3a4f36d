// Prints the numbers of variables and categories of MPI_T, before and after
// MPI_Init: two lines with the numbers of cvars, pvars and categories.
#include <mpi.h>
#include <stdio.h>

static void print_counts(void)
{
    int cvars = -1, pvars = -1, categories = -1;
    MPI_T_cvar_get_num(&cvars);
    MPI_T_pvar_get_num(&pvars);
    MPI_T_category_get_num(&categories);
    printf("%d %d %d\n", cvars, pvars, categories);
}

int main(void)
{
    int provided;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    print_counts();
    MPI_Init(NULL, NULL);
    print_counts();
    return MPI_Finalize();
}
