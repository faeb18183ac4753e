/*
 * A library as MPI has them: weak names of MPI_ for those of PMPI_. A handle is a number, as in MPICH, or an address, as in Open MPI: calls check
 * that their arguments came as they were. It has no large counts.
 */
#include <stdlib.h>
#include <time.h>

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&t, 0);
}

int MPI_Barrier(void *);

int PMPI_Init(int *argc, char ***argv) { return argc && argv ? 0 : 1; }
int PMPI_Finalize(void) { return 0; }
int PMPI_Barrier(void *comm)
{
    sleep_ms((long)comm);
    return 7;
}
/* A collective that is made of another, by the name that tools take over. */
int PMPI_Allreduce(const void *in, void *out, int count, int type, int op, void *comm)
{
    *(int *)out = *(const int *)in + count + type + op;
    MPI_Barrier(comm);
    return 0;
}
int PMPI_Recv(void *buffer, int count, int type, int source, int tag, void *comm, int *status)
{
    sleep_ms((long)comm);
    *(int *)buffer = *status = count + type + source + tag;
    return 0;
}
/* Some are on the stack. */
int PMPI_Alltoallw(const void *a, const int *b, const int *c, const int *d, void *e, const int *f, const int *g, const int *h, long i)
{
    return a == (void *)1 && b == (void *)2 && c == (void *)3 && d == (void *)4 && e == (void *)5 && f == (void *)6 && g == (void *)7 && h == (void *)8 && i == 9 ? 0 : 1;
}
void pmpi_barrier_(int *comm, int *error)
{
    sleep_ms(*comm);
    *error = 0;
}

#define WEAK(name) __attribute__((weak, alias("P" name)))
int MPI_Init(int *, char ***) WEAK("MPI_Init");
int MPI_Finalize(void) WEAK("MPI_Finalize");
int MPI_Barrier(void *) WEAK("MPI_Barrier");
int MPI_Allreduce(const void *, void *, int, int, int, void *) WEAK("MPI_Allreduce");
int MPI_Recv(void *, int, int, int, int, void *, int *) WEAK("MPI_Recv");
int MPI_Alltoallw(const void *, const int *, const int *, const int *, void *, const int *, const int *, const int *, long) WEAK("MPI_Alltoallw");
void mpi_barrier_(int *, int *) __attribute__((weak, alias("pmpi_barrier_")));
