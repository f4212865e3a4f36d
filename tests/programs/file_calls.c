/* Reads and writes a file, named by the argument, in each way (2 ranks): the
 * k-th way moves k + rank ints. With LARGE, uses the large-count functions. */
#include "forms.h"

static int data[64];

#define DONE(name, lower, ...)                                                \
    do {                                                                      \
        MPI_Request request_;                                                 \
        CALL(name, lower, __VA_ARGS__, &request_);                            \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                               \
    } while (0)

static void writes(MPI_File f, int n)
{
    MPI_Offset at = 256 * world_rank;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    CALL(File_write, file_write, f, data, n, MPI_INT, ignore);
    CALL(File_write_all, file_write_all, f, data, n + 1, MPI_INT, ignore);
    CALL(File_write_at, file_write_at, f, at, data, n + 2, MPI_INT, ignore);
    CALL(File_write_at_all, file_write_at_all, f, at, data, n + 3, MPI_INT, ignore);
    CALL(File_write_shared, file_write_shared, f, data, n + 4, MPI_INT, ignore);
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(File_write_ordered, file_write_ordered, f, data, n + 5, MPI_INT, ignore);
    DONE(File_iwrite, file_iwrite, f, data, n + 6, MPI_INT);
    DONE(File_iwrite_all, file_iwrite_all, f, data, n + 7, MPI_INT);
    DONE(File_iwrite_at, file_iwrite_at, f, at, data, n + 8, MPI_INT);
    DONE(File_iwrite_at_all, file_iwrite_at_all, f, at, data, n + 9, MPI_INT);
    DONE(File_iwrite_shared, file_iwrite_shared, f, data, n + 10, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(File_write_all_begin, file_write_all_begin, f, data, n + 11, MPI_INT);
    MPI_File_write_all_end(f, data, ignore);
    CALL(File_write_at_all_begin, file_write_at_all_begin, f, at, data, n + 12, MPI_INT);
    MPI_File_write_at_all_end(f, data, ignore);
    CALL(File_write_ordered_begin, file_write_ordered_begin, f, data, n + 13, MPI_INT);
    MPI_File_write_ordered_end(f, data, ignore);
}

static void reads(MPI_File f, int n)
{
    MPI_Offset at = 256 * world_rank;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    CALL(File_read, file_read, f, data, n, MPI_INT, ignore);
    CALL(File_read_all, file_read_all, f, data, n + 1, MPI_INT, ignore);
    CALL(File_read_at, file_read_at, f, at, data, n + 2, MPI_INT, ignore);
    CALL(File_read_at_all, file_read_at_all, f, at, data, n + 3, MPI_INT, ignore);
    CALL(File_read_shared, file_read_shared, f, data, n + 4, MPI_INT, ignore);
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(File_read_ordered, file_read_ordered, f, data, n + 5, MPI_INT, ignore);
    DONE(File_iread, file_iread, f, data, n + 6, MPI_INT);
    DONE(File_iread_all, file_iread_all, f, data, n + 7, MPI_INT);
    DONE(File_iread_at, file_iread_at, f, at, data, n + 8, MPI_INT);
    DONE(File_iread_at_all, file_iread_at_all, f, at, data, n + 9, MPI_INT);
    DONE(File_iread_shared, file_iread_shared, f, data, n + 10, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    CALL(File_read_all_begin, file_read_all_begin, f, data, n + 11, MPI_INT);
    MPI_File_read_all_end(f, data, ignore);
    CALL(File_read_at_all_begin, file_read_at_all_begin, f, at, data, n + 12, MPI_INT);
    MPI_File_read_at_all_end(f, data, ignore);
    CALL(File_read_ordered_begin, file_read_ordered_begin, f, data, n + 13, MPI_INT);
    MPI_File_read_ordered_end(f, data, ignore);
}

static void failed(MPI_File *file, int *code, ...)
{
    (void)file, (void)code;
}

/* manage makes each call that moves no data once. */
static void manage(MPI_File f)
{
    MPI_Offset offset;
    MPI_Aint extent;
    MPI_Datatype etype, filetype;
    MPI_Group group;
    MPI_Info info;
    MPI_Errhandler handler, before;
    char representation[MPI_MAX_DATAREP_STRING];
    int value;
    MPI_File_set_size(f, 1 << 16);
    MPI_File_preallocate(f, 1 << 16);
    MPI_File_get_size(f, &offset);
    MPI_File_get_amode(f, &value);
    MPI_File_get_group(f, &group);
    MPI_Group_free(&group);
    MPI_File_get_info(f, &info);
    MPI_File_set_info(f, info);
    MPI_Info_free(&info);
    MPI_File_set_view(f, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_File_get_view(f, &offset, &etype, &filetype, representation);
    MPI_File_seek(f, 0, MPI_SEEK_SET);
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
    MPI_File_get_position(f, &offset);
    MPI_File_get_position_shared(f, &offset);
    MPI_File_get_byte_offset(f, 8, &offset);
    REQUIRE(offset == 8);
    MPI_File_get_type_extent(f, MPI_INT, &extent);
    MPI_File_set_atomicity(f, 0);
    MPI_File_get_atomicity(f, &value);
    MPI_File_create_errhandler(failed, &handler);
    MPI_File_get_errhandler(f, &before);
    MPI_File_set_errhandler(f, handler);
    MPI_File_call_errhandler(f, MPI_ERR_OTHER);
    /* This call fails: it counts as a call without bytes. It uses
     * MPI_ERRORS_RETURN, because MPICH 5.0 returns MPI_SUCCESS after an error
     * handler of the program. */
    PMPI_File_set_errhandler(f, MPI_ERRORS_RETURN);
    REQUIRE(MPI_File_write_at(f, 0, data, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Errhandler_free(&handler);
    MPI_File_sync(f);
}

int main(int argc, char **argv)
{
    MPI_File f;
    begin(argc, argv, 2);
    REQUIRE(argc == 2);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    writes(f, 1 + world_rank);
    manage(f);
    reads(f, 1 + world_rank);
    MPI_File_close(&f);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        MPI_File_delete(argv[1], MPI_INFO_NULL);
    return end();
}
