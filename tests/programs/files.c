/* MPI-IO: reads and writes the file that the argument names. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    REQUIRE(argc == 2);
    char data[1000] = {0};
    MPI_File file;
    MPI_Status status;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, 1000 * world_rank, data, 1000, MPI_BYTE, &status);
    MPI_File_write_at_all(file, 1000 * world_rank, data, 100, MPI_INT, &status);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 3; i++)
        MPI_File_read_at(file, 0, data, 10 + world_rank, MPI_BYTE, &status);
    MPI_File_close(&file);
    return end();
}
