/* Sets settings itself (1 rank): set [NAME=VALUE...] sets these before MPI_Init.
 * Then it sends itself 1 byte, 2 bytes in intervals of 1000 s, and 4 bytes
 * without intervals. With -alone it is not recorded, and setting must fail. */
#include "check.h"
#include <mpitrace.h>
#include <string.h>

static void exchange(int bytes)
{
    char in[8], out[8] = "";
    MPI_Sendrecv(out, bytes, MPI_BYTE, 0, 0, in, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static int before_init(const char *assignment)
{
    char name[64];
    const char *value = strchr(assignment, '=');
    if (!value || value - assignment >= (int)sizeof name)
        return 0; /* not NAME=VALUE */
    memcpy(name, assignment, (size_t)(value - assignment));
    name[value - assignment] = 0;
    return mpitrace_set(name, value + 1);
}

int main(int argc, char **argv)
{
    int alone = argc == 2 && strcmp(argv[1], "-alone") == 0, done = alone ? -1 : 0, set = 0;
    for (int i = 1; i < argc && !alone; i++)
        set |= before_init(argv[i]);
    /* Invalid names and values are refused. */
    set |= mpitrace_set("timing", "never") != -1 || mpitrace_set("interval", "5") != -1 ||
           mpitrace_set("interval", "") != -1 || mpitrace_set("stack", "3") != -1 || mpitrace_set("", "off") != -1 ||
           mpitrace_set(NULL, "off") != -1 || mpitrace_set("timing", NULL) != -1;
    begin(argc, argv, 1);
    REQUIRE(set == 0);
    REQUIRE(mpitrace_set("timing", "off") == -1);
    exchange(1);
    REQUIRE(mpitrace_set("interval", "1000s") == done);
    exchange(2);
    REQUIRE(mpitrace_set("interval", "soon") == -1);
    REQUIRE(mpitrace_set("interval", "off") == done);
    exchange(4);
    end();
    return mpitrace_set("interval", "1s") == -1 ? 0 : 4;
}
