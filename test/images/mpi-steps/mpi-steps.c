/*
 * mpi-steps: steps of work and of an MPI_Allreduce of 64 KiB, as ranks that learn together make them, and how long they took.
 *
 *     mpirun -n N mpi-steps STEPS WORK
 *
 * WORK is how many million multiplications with additions a rank does in a step. After ten steps that do not count, rank 0 prints
 *
 *     steps=STEPS size=N seconds=S
 *
 * Exit code: 0, or 2 for arguments that make no sense.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { GRADIENT = 8192, UNCOUNTED = 10 };

static double work(double millions)
{
    static volatile double seed = 1.0; /* so that a compiler does not work once for all steps */
    double x = seed;
    for (long i = 0, n = (long)(millions * 1e6); i < n; i++)
        x = x * 0.999999 + 1e-6; /* each waits for the one before, so that compilers cannot shorten it */
    return x;
}

static void step(double millions, double *gradient)
{
    gradient[0] = work(millions);
    MPI_Allreduce(MPI_IN_PLACE, gradient, GRADIENT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static double gradient[GRADIENT];
    long steps = argc == 3 ? strtol(argv[1], NULL, 10) : 0;
    double millions = argc == 3 ? strtod(argv[2], NULL) : -1;
    if (steps <= 0 || millions < 0) {
        fputs("usage: mpirun -n N mpi-steps STEPS WORK\nSTEPS is a whole number from 1, WORK millions of multiplications from 0\n", stderr);
        return 2;
    }
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long i = 0; i < UNCOUNTED; i++)
        step(millions, gradient);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (long i = 0; i < steps; i++)
        step(millions, gradient);
    if (rank == 0)
        printf("steps=%ld size=%d seconds=%.6f\n", steps, size, MPI_Wtime() - start);
    MPI_Finalize();
    return 0;
}
