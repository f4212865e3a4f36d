/* MPI_Comm_join over a socket (2 ranks): rank 0 sends 11 bytes to rank 1 on
 * the new communicator. */
#include "check.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct sockaddr_in at;
    socklen_t length = sizeof at;
    int fd, accepted;
    MPI_Comm other;
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    begin(argc, argv, 2);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (world_rank == 0) {
        REQUIRE(bind(fd, (struct sockaddr *)&at, sizeof at) == 0 && listen(fd, 1) == 0);
        REQUIRE(getsockname(fd, (struct sockaddr *)&at, &length) == 0);
        MPI_Send(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        REQUIRE((accepted = accept(fd, NULL, NULL)) >= 0);
        close(fd);
        fd = accepted;
    } else {
        MPI_Recv(&at.sin_port, sizeof at.sin_port, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        REQUIRE(connect(fd, (struct sockaddr *)&at, sizeof at) == 0);
    }
    MPI_Comm_join(fd, &other);
    if (world_rank == 0)
        send_bytes(11, 0, other);
    else
        recv_bytes(11, 0, other);
    MPI_Comm_disconnect(&other);
    close(fd);
    return end();
}
