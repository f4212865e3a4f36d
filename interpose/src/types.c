#include "types.h"

#include "resolve.h"

_Atomic uint64_t mt_type_epoch = 1;

uint64_t mt_type_ask(mt_thread *t, MPI_Datatype type)
{
    uint64_t epoch = atomic_load_explicit(&mt_type_epoch, memory_order_relaxed), key = MT_KEY(type);
    MPI_Count size = 0;
    int integers, addresses, datatypes, combiner = MPI_UNDEFINED;
    // Type_size_x: Type_size answers nonsense beyond 2 GiB.
    if (type == mt_const.datatype_null || mt_pmpi.Type_size_x(type, &size) != MPI_SUCCESS || size < 0)
        return 0;
    if (mt_pmpi.Type_get_envelope(type, &integers, &addresses, &datatypes, &combiner) == MPI_SUCCESS &&
        combiner == MPI_COMBINER_NAMED)
        epoch = 0;
    t->types[(key ^ key >> 8) % MT_TYPE_CACHE] = (mt_type_size){key, (uint64_t)size, epoch};
    return (uint64_t)size;
}
