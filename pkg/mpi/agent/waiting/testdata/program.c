/* A program of MPI, or an extension of one that loads it: what it sees must be the same with and without the library. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Barrier(void *);
int MPI_Allreduce(const void *, void *, int, int, int, void *);
int MPI_Recv(void *, int, int, int, int, void *, int *);
int MPI_Recv_c(void *, long, int, int, int, void *, int *) __attribute__((weak));
int MPI_Alltoallw(const void *, const int *, const int *, const int *, void *, const int *, const int *, const int *, long);
void mpi_barrier_(int *, int *);

static void *barrier(void *ms)
{
    MPI_Barrier(ms);
    return 0;
}

int run(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "all";
    int in = 1, out = 0, got = 0, status = 0, ms = 20, error = 1;
    printf("init %d\n", MPI_Init(&argc, &argv));
    if (!strcmp(what, "hang")) {
        fflush(stdout);
        MPI_Barrier((void *)60000);
    }
    if (!strcmp(what, "threads")) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], 0, barrier, (void *)200);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], 0);
    }
    if (!strcmp(what, "all")) {
        printf("barrier %d\n", MPI_Barrier((void *)100));
        MPI_Allreduce(&in, &out, 10, 100, 1000, (void *)100);
        MPI_Recv(&got, 1, 2, 3, 4, (void *)50, &status);
        mpi_barrier_(&ms, &error);
        printf("allreduce %d recv %d %d fortran %d alltoallw %d\n", out, got, status, error,
               MPI_Alltoallw((void *)1, (void *)2, (void *)3, (void *)4, (void *)5, (void *)6, (void *)7, (void *)8, 9));
    }
    if (!strcmp(what, "large") && MPI_Recv_c) {
        int code = MPI_Recv_c(&got, 1, 2, 3, 4, (void *)0, &status);
        printf("large %d %d %d\n", code, got, MPI_Recv_c(&got, 1L << 32, 2, 3, 4, (void *)0, &status));
    }
    if (!strcmp(what, "loop")) {
        enum { CALLS = 10000 };
        double least = 1e9;
        for (int batch = 0; batch < 1000; batch++) {
            struct timespec from, to;
            clock_gettime(CLOCK_MONOTONIC, &from);
            for (int i = 0; i < CALLS; i++)
                MPI_Alltoallw((void *)1, (void *)2, (void *)3, (void *)4, (void *)5, (void *)6, (void *)7, (void *)8, 9);
            clock_gettime(CLOCK_MONOTONIC, &to);
            double each = ((to.tv_sec - from.tv_sec) * 1e9 + to.tv_nsec - from.tv_nsec) / CALLS;
            least = each < least ? each : least;
        }
        printf("%.1f ns\n", least);
    }
    if (!strcmp(what, "kill")) {
        fflush(stdout);
        kill(getpid(), SIGKILL);
    }
    printf("finalize %d\n", MPI_Finalize());
    return 0;
}
