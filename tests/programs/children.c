/* Children of MPI processes by fork, exec and system (2 ranks). Their calls must
 * not count as the parents'. Each parent sends itself 1, 2, 4 and 8 bytes. */
#include "exchange.h"
#include <mpitrace.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(pid_t child)
{
    int status;
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}


int main(int argc, char **argv)
{
    begin(argc, argv, 2);
    to_self(1);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        MPI_Info info; /* a call that involves no other process */
        mpitrace_phase("child");
        MPI_Info_create(&info);
        exit(0); /* runs the exit handlers */
    }
    reap(child);
    to_self(2);
    child = fork();
    if (child == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(1);
    }
    reap(child);
    to_self(4);
    REQUIRE(system("exit 0") == 0);
    to_self(8);
    return end();
}
