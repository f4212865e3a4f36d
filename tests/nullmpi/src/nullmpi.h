/* The null MPI: a libmpi_abi.so.1 in which each message comes back. One process is the whole
 * job. It has the rank $NULLMPI_RANK in a world of $NULLMPI_SIZE processes (0 of 1), and gets
 * what it sends to a rank as if that rank had sent it. Collectives move no data. A call that
 * would wait forever ends the program.
 *
 * A program chooses what the calls of the MPI return with the functions below. `function` is
 * a name without prefix, such as "Send". They hold for calls of PMPI_Send too, which are
 * those of mpitrace's library. */
#ifndef NULLMPI_H
#define NULLMPI_H

#include <mpi.h>
#include <stdbool.h>

/* The next call of the function does nothing and returns an error. */
void null_fail(const char *function, int error);

/* The next call of the function does what it always does, and returns an error. */
void null_fail_after(const char *function, int error);

/* The next `count` sends that MPI_Cancel is called for are cancelled; else they are not. */
void null_cancel_sends(int count);

/* The next call that completes a receive returns a status with this message. */
void null_receive(int source, int tag, MPI_Count bytes);

/* How often the function was called, by the program or by the library. */
long null_calls(const char *function);

/* How often all functions were called. */
long null_all_calls(void);

/* For functions.c and nullmpi.c: what happens before and after each call, and what a
 * function returns through a pointer if nullmpi.c does not define it. */
typedef enum null_kind {
    NULL_NOTHING, NULL_INT, NULL_COMM, NULL_GROUP, NULL_REQUEST, NULL_STATUS, NULL_OBJECT
} null_kind;
bool null_refused(const char *function, int *error);
int null_returned(const char *function, int rc);
void null_return(const char *function, null_kind kind, void *into);

#endif
