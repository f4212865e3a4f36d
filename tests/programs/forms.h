/* The forms of a collective, chosen when a program is compiled: blocking by
 * default, NONBLOCKING, PERSISTENT (each started twice) or LARGE (the
 * large-count twins). CALL(Allreduce, allreduce, arguments...) makes the call
 * in that form and completes it. */
#ifndef FORMS_H
#define FORMS_H

#include "check.h"

#ifdef LARGE
typedef MPI_Count count_type;
typedef MPI_Aint displ_type;
#else
typedef int count_type;
typedef int displ_type;
#endif

/* MPICH 4.0 cannot start the request of Scatter_init. */
#if defined PERSISTENT && defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
#define NO_SCATTER_INIT
#endif

#if defined NONBLOCKING
#define CALL(name, lower, ...)                                                \
    do {                                                                      \
        MPI_Request request_;                                                 \
        MPI_I##lower(__VA_ARGS__, &request_);                                 \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                               \
    } while (0)
#elif defined PERSISTENT
#define CALL(name, lower, ...)                                                \
    do {                                                                      \
        MPI_Request request_;                                                 \
        MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_);             \
        for (int round_ = 0; round_ < 2; round_++) {                          \
            MPI_Start(&request_);                                             \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                           \
        }                                                                     \
        MPI_Request_free(&request_);                                          \
    } while (0)
#elif defined LARGE
#define CALL(name, lower, ...) MPI_##name##_c(__VA_ARGS__)
#else
#define CALL(name, lower, ...) MPI_##name(__VA_ARGS__)
#endif

#endif
