// The measured calls, for wrappers in C: empty.c, limit.c.
//
//   CALL(name, parameters, arguments, book)       a function in C
//   FORTRAN(name, parameters, arguments, book)    the Fortran name, if Fortran does not call the C function
//
// `book` is the expression with which limit.c records the call; `ticks` is the time that the call took.
//
// Open MPI's Fortran layer calls PMPI_Send in C, so a tool has to wrap mpi_send_ and mpi_send_f08_ to see
// calls from Fortran. MPICH's layer calls MPI_Send, except for some calls of mpi_f08 that need no conversion.

CALL(Send, (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm),
     (buf, count, type, dest, tag, comm), add(dest, bytes_of(count, type), ticks))

CALL(Recv, (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status *status),
     (buf, count, type, source, tag, comm, status), add(source, bytes_of(count, type), ticks))

CALL(Isend, (const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, dest, tag, comm, request), add(dest, bytes_of(count, type), ticks))

// The receive is counted when it is posted, with the size of the buffer. To count the bytes received, the
// request would have to be stored until it completes, which is more than the least work.
CALL(Irecv, (void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request),
     (buf, count, type, source, tag, comm, request), add(source, bytes_of(count, type), ticks))

CALL(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]), (count, requests, statuses),
     add(NO_PEER, 0, ticks))

CALL(Test, (MPI_Request *request, int *flag, MPI_Status *status), (request, flag, status), add(NO_PEER, 0, ticks))

CALL(Iprobe, (int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status), (source, tag, comm, flag, status),
     add(source, 0, ticks))

CALL(Sendrecv,
     (const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf, int recvcount,
      MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status),
     (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status),
     (add(dest, bytes_of(sendcount, sendtype), ticks), add(source, bytes_of(recvcount, recvtype), 0)))

CALL(Allreduce, (const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
     (sendbuf, recvbuf, count, type, op, comm), add(NO_PEER, bytes_of(count, type), ticks))

CALL(Bcast, (void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm), (buf, count, type, root, comm),
     add(root, bytes_of(count, type), ticks))

CALL(Barrier, (MPI_Comm comm), (comm), add(NO_PEER, 0, ticks))

CALL(Alltoallv,
     (const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf,
      const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm),
     (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm),
     add(NO_PEER, bytes_of(sum(sendcounts, comm), sendtype), ticks))

CALL(Put,
     (const void *buf, int count, MPI_Datatype type, int target, MPI_Aint displacement, int target_count,
      MPI_Datatype target_type, MPI_Win win),
     (buf, count, type, target, displacement, target_count, target_type, win),
     add(target, bytes_of(count, type), ticks))

CALL(Win_flush, (int rank, MPI_Win win), (rank, win), add(rank, 0, ticks))

#ifdef OPEN_MPI

FORTRAN(send,
        (const void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
         MPI_Fint *err),
        (buf, count, type, dest, tag, comm, err), add(*dest, bytes_of_f(*count, *type), ticks))

FORTRAN(recv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm,
         MPI_Fint *status, MPI_Fint *err),
        (buf, count, type, source, tag, comm, status, err), add(*source, bytes_of_f(*count, *type), ticks))

FORTRAN(isend,
        (const void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *dest, MPI_Fint *tag, MPI_Fint *comm,
         MPI_Fint *request, MPI_Fint *err),
        (buf, count, type, dest, tag, comm, request, err), add(*dest, bytes_of_f(*count, *type), ticks))

FORTRAN(irecv,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm,
         MPI_Fint *request, MPI_Fint *err),
        (buf, count, type, source, tag, comm, request, err), add(*source, bytes_of_f(*count, *type), ticks))

FORTRAN(sendrecv,
        (const void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, MPI_Fint *dest, MPI_Fint *sendtag, void *recvbuf,
         MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *source, MPI_Fint *recvtag, MPI_Fint *comm,
         MPI_Fint *status, MPI_Fint *err),
        (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status, err),
        (add(*dest, bytes_of_f(*sendcount, *sendtype), ticks), add(*source, bytes_of_f(*recvcount, *recvtype), 0)))

FORTRAN(allreduce,
        (const void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *op, MPI_Fint *comm,
         MPI_Fint *err),
        (sendbuf, recvbuf, count, type, op, comm, err), add(NO_PEER, bytes_of_f(*count, *type), ticks))

FORTRAN(bcast,
        (void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *err),
        (buf, count, type, root, comm, err), add(*root, bytes_of_f(*count, *type), ticks))

FORTRAN(alltoallv,
        (const void *sendbuf, MPI_Fint sendcounts[], MPI_Fint sdispls[], MPI_Fint *sendtype, void *recvbuf,
         MPI_Fint recvcounts[], MPI_Fint rdispls[], MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *err),
        (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm, err),
        add(NO_PEER, bytes_of_f(sum_f(sendcounts, *comm), *sendtype), ticks))

FORTRAN(put,
        (const void *buf, MPI_Fint *count, MPI_Fint *type, MPI_Fint *target, MPI_Aint *displacement,
         MPI_Fint *target_count, MPI_Fint *target_type, MPI_Fint *win, MPI_Fint *err),
        (buf, count, type, target, displacement, target_count, target_type, win, err),
        add(*target, bytes_of_f(*count, *type), ticks))

#endif

FORTRAN(waitall, (MPI_Fint *count, MPI_Fint requests[], MPI_Fint statuses[], MPI_Fint *err),
        (count, requests, statuses, err), add(NO_PEER, 0, ticks))

FORTRAN(test, (MPI_Fint *request, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *err), (request, flag, status, err),
        add(NO_PEER, 0, ticks))

FORTRAN(iprobe,
        (MPI_Fint *source, MPI_Fint *tag, MPI_Fint *comm, MPI_Fint *flag, MPI_Fint *status, MPI_Fint *err),
        (source, tag, comm, flag, status, err), add(*source, 0, ticks))

FORTRAN(barrier, (MPI_Fint *comm, MPI_Fint *err), (comm, err), add(NO_PEER, 0, ticks))

FORTRAN(win_flush, (MPI_Fint *rank, MPI_Fint *win, MPI_Fint *err), (rank, win, err), add(*rank, 0, ticks))
