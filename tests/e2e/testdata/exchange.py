"""mpi4py on two ranks: objects, which it pickles, and buffers.

Rank 0 prints how many bytes the objects are when pickled.
"""
import numpy
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()
assert size == 2

thing = {"name": "thing", "values": list(range(100))}
buffer = numpy.zeros(250, dtype="f8")
if rank == 0:
    world.send(thing, dest=1, tag=1)
    world.isend(thing, dest=1, tag=2).wait()
    world.Send(buffer, dest=1, tag=3)
    world.Isend([buffer, 10, MPI.DOUBLE], dest=1, tag=4).Wait()
else:
    assert world.recv(source=0, tag=1) == thing
    assert world.recv(source=MPI.ANY_SOURCE, tag=2) == thing
    world.Recv(buffer, source=0, tag=3)
    world.Irecv(buffer, source=0, tag=4).Wait()

total = numpy.zeros(250, dtype="f8")
world.Allreduce(buffer, total)
half = world.Split(rank, 0)
half.Barrier()
half.Free()
if rank == 0:
    print("ok")
    print(len(MPI.pickle.dumps(thing)))
