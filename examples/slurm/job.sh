#!/bin/bash
# A batch job that records an MPI program:
#
#   sbatch --nodes=2 --ntasks-per-node=4 job.sh PROGRAM [ARGUMENTS]
#
# KIND is what srun sets up for the MPI: pmix for Open MPI, pmi2 for MPICH. `srun --mpi=list`
# shows what this Slurm has.
#SBATCH --job-name=recorded
#SBATCH --time=00:30:00
# One minute before the time is over, the job gets SIGTERM: enough to write the summary.
#SBATCH --signal=B:TERM@60

# exec: the signal reaches mpitrace, which passes it on and then reports what was recorded.
exec mpitrace run -o %x-%j -- srun --mpi="${KIND:-pmix}" "$@"
