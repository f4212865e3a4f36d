/* A part of phase_parts that names its phase and sends itself some bytes. */
#include <mpi.h>
#include <mpitrace.h>

#ifndef PART
#define PART plugin_part
#endif
#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

void PART(int bytes);

void PART(int bytes)
{
    static char in[1 << 10], out[1 << 10];
    mpitrace_phase(TEXT(PART));
    MPI_Sendrecv(out, bytes, MPI_BYTE, 0, 0, in, bytes, MPI_BYTE, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}
