/* Calls that move no data (2 ranks). Rank r makes each of them r + 1 times. */
#include "check.h"

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}

static int drop(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_SUCCESS;
}

static void failed(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

static void sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static void groups(void)
{
    MPI_Group all, one, other;
    int result;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, (int[]){0}, &one);
    MPI_Group_excl(all, 1, (int[]){0}, &other);
    MPI_Group_compare(one, other, &result);
    REQUIRE(result == MPI_UNEQUAL);
    MPI_Group_free(&all);
    PMPI_Group_free(&one);
    PMPI_Group_free(&other);
}

static void attributes(void)
{
    int key, value;
    MPI_Comm_create_keyval(copy, drop, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_WORLD, key, &value);
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
}

static void errors(void)
{
    MPI_Errhandler own, before;
    int class, code;
    MPI_Comm_create_errhandler(failed, &own);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER);
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&own);
    PMPI_Errhandler_free(&before);
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "an error of the program's own");
}

static void others(void)
{
    char text[MPI_MAX_OBJECT_NAME + MPI_MAX_PROCESSOR_NAME];
    int n;
    MPI_Op op;
    MPI_Info info;
    MPI_Comm_get_name(MPI_COMM_WORLD, text, &n);
    MPI_Type_get_name(MPI_INT, text, &n);
    MPI_Get_processor_name(text, &n);
    MPI_Op_create(sum, 1, &op);
    MPI_Op_commutative(op, &n);
    REQUIRE(n == 1);
    MPI_Op_free(&op);
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    MPI_Info_get_nkeys(info, &n);
    PMPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    for (int i = 0; i <= world_rank; i++) {
        groups();
        attributes();
        errors();
        others();
    }
    return end();
}
