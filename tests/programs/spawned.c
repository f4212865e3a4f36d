/* Two parents spawn two children and exchange messages: each parent sends 100
 * bytes to both children, each child 7 bytes to parent 0. The children have
 * another world. Arguments are passed to env(1), before the children's command. */
#include "check.h"

int main(int argc, char **argv)
{
    MPI_Comm parent, children;
    begin(argc, argv, 2);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        char data[100];
        for (int from = 0; from < 2; from++)
            MPI_Recv(data, 100, MPI_BYTE, from, 0, parent, MPI_STATUS_IGNORE);
        send_bytes(7, 0, parent);
        MPI_Comm_disconnect(&parent);
        return MPI_Finalize();
    }
    char *program = argv[0], **arguments = MPI_ARGV_NULL;
    if (argc > 1) { /* env(1), its arguments, and the program itself */
        for (int i = 1; i < argc; i++)
            argv[i - 1] = argv[i];
        argv[argc - 1] = program;
        program = "env";
        arguments = argv;
    }
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    for (int to = 0; to < 2; to++)
        send_bytes(100, to, children);
    char data[7];
    for (int from = 0; world_rank == 0 && from < 2; from++)
        MPI_Recv(data, 7, MPI_BYTE, from, 0, children, MPI_STATUS_IGNORE);
    MPI_Comm_disconnect(&children);
    return end();
}
