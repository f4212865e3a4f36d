/* A model of a coupled job: each model has its own executable, made from this file with
 * another MODEL (0 or 1), and its own communicator. At coupling steps, rank 0 of model 1
 * sends a field to rank 0 of model 0. FIELD is the number of its values,
 * of which the receiver has room for MOST. */
#include "check.h"

#ifndef FIELD
#define FIELD 128
#endif
enum { STEPS = 10, COUPLED = 5, MOST = 1024 };

static void step(MPI_Comm model)
{
    double x = 1, sum;
    MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, model);
}

static void couple(MPI_Comm models)
{
    double field[MOST] = {0};
    if (MODEL)
        MPI_Send(field, FIELD, MPI_DOUBLE, 0, 7, models);
    else
        MPI_Recv(field, MOST, MPI_DOUBLE, 0, 7, models, MPI_STATUS_IGNORE);
}

/* leader_of_other returns the lowest world rank of the other model. */
static int leader_of_other(void)
{
    int mine = MODEL, models[4];
    MPI_Allgather(&mine, 1, MPI_INT, models, 1, MPI_INT, MPI_COMM_WORLD);
    for (int rank = 0; rank < world_size; rank++)
        if (models[rank] != MODEL)
            return rank;
    return MPI_PROC_NULL;
}

int main(int argc, char **argv)
{
    begin(argc, argv, 4);
    MPI_Comm model, models;
    MPI_Comm_split(MPI_COMM_WORLD, MODEL, world_rank, &model);
    MPI_Intercomm_create(model, 0, MPI_COMM_WORLD, leader_of_other(), 5, &models);
    int rank;
    MPI_Comm_rank(model, &rank);
    for (int i = 0; i < STEPS; i++) {
        step(model);
        if (i % COUPLED == 0 && rank == 0)
            couple(models);
    }
    return end();
}
