/* Passes invalid pointers and handles the errors. The MPI refuses them, and
 * the library must not dereference them. */
#include "check.h"

int main(int argc, char **argv)
{
    begin(argc, argv, 1);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    REQUIRE(MPI_Comm_free(NULL) != MPI_SUCCESS);
    REQUIRE(MPI_Comm_disconnect(NULL) != MPI_SUCCESS);
    REQUIRE(MPI_Wait(NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    REQUIRE(MPI_Start(NULL) != MPI_SUCCESS);
    REQUIRE(MPI_Request_free(NULL) != MPI_SUCCESS);
    REQUIRE(MPI_Cancel(NULL) != MPI_SUCCESS);
    MPI_Message message;
    REQUIRE(MPI_Improbe(0, 0, MPI_COMM_WORLD, NULL, &message, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    int data;
    REQUIRE(MPI_Mrecv(&data, 1, MPI_INT, NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    return end();
}
