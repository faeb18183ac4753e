/*
 * mpi-hello: the smallest MPI program whose output proves that a job worked.
 *
 * Rank 0 first prints `library=<first line of MPI_Get_library_version>`. Then every rank prints exactly one line,
 *
 *     rank=R size=N host=HOST sum=S expected=E ok
 *
 * where S is what MPI_Allreduce gave for the sum of (rank+1) over all ranks, E = N(N+1)/2 is what it must be, and
 * the last word is `mismatch` where they differ. A world that fell apart into single processes shows as N lines
 * with size=1. Every line is one write(2), so lines of different ranks never mix.
 *
 * Exit code: 0 if the sum was right, 1 if not, 2 for arguments that make no sense; see usage() for the ways to fail
 * on purpose.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HOST_LENGTH = 256, LINE_LENGTH = 1024 };

struct options {
    double sleep_seconds;
    long exit_rank; /* -1: none */
    long exit_code;
    long segv_rank; /* -1: none */
    long deadlock_rank; /* -1: none */
};

static void usage(FILE *out)
{
    fputs("mpi-hello prints one line per MPI rank and checks an MPI_Allreduce over all of them.\n"
          "\n"
          "usage: mpirun [-n N] mpi-hello [options]\n"
          "\n"
          "  --sleep SECONDS   stay in the job for so long after the line, before MPI_Finalize\n"
          "  --exit-rank R     rank R exits after its line without MPI_Finalize\n"
          "  --exit-code C     exit code of that rank, 0 to 255 (default 1)\n"
          "  --segv-rank R     rank R dies of a segmentation fault after its line\n"
          "  --deadlock-rank R rank R never joins a second MPI_Allreduce, in which all others wait\n"
          "  --help            show this text\n"
          "\n"
          "examples:\n"
          "  mpirun -n 4 mpi-hello\n"
          "  mpirun -n 4 mpi-hello --exit-rank 2 --exit-code 7\n",
          out);
}

static _Noreturn void refuse(const char *option, const char *value, const char *allowed)
{
    fprintf(stderr, "mpi-hello: --%s is \"%s\": want %s; see --help\n", option, value, allowed);
    exit(2);
}

static long parse_integer(const char *option, const char *text, long max)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 0 || value > max)
        refuse(option, text, max == 255 ? "a whole number from 0 to 255" : "a rank, a whole number from 0");
    return value;
}

static double parse_seconds(const char *option, const char *text)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (errno != 0 || end == text || *end != '\0' || !isfinite(value) || value < 0)
        refuse(option, text, "seconds, a number from 0");
    return value;
}

static struct options parse_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"sleep", required_argument, NULL, 's'},     {"exit-rank", required_argument, NULL, 'r'},
        {"exit-code", required_argument, NULL, 'c'}, {"segv-rank", required_argument, NULL, 'v'},
        {"deadlock-rank", required_argument, NULL, 'd'}, {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    const long max_rank = 1L << 30;
    struct options o = {.exit_rank = -1, .exit_code = 1, .segv_rank = -1, .deadlock_rank = -1};
    int c;
    while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
        switch (c) {
        case 's': o.sleep_seconds = parse_seconds("sleep", optarg); break;
        case 'r': o.exit_rank = parse_integer("exit-rank", optarg, max_rank); break;
        case 'c': o.exit_code = parse_integer("exit-code", optarg, 255); break;
        case 'v': o.segv_rank = parse_integer("segv-rank", optarg, max_rank); break;
        case 'd': o.deadlock_rank = parse_integer("deadlock-rank", optarg, max_rank); break;
        case 'h': usage(stdout); exit(0);
        default: fputs("mpi-hello: see --help\n", stderr); exit(2); /* getopt has named the option */
        }
    }
    if (optind < argc) {
        fprintf(stderr, "mpi-hello: unexpected argument \"%s\": only options are allowed; see --help\n", argv[optind]);
        exit(2);
    }
    return o;
}

/* print writes the whole line at once, past stdio, which might split or hold it. */
static void print(const char *line)
{
    size_t left = strlen(line);
    while (left > 0) {
        ssize_t n = write(STDOUT_FILENO, line, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return; /* nobody reads: the exit code still tells */
        line += n;
        left -= (size_t)n;
    }
}

static void print_library(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    char line[LINE_LENGTH];
    int length;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\r\n")] = '\0';
    snprintf(line, sizeof line, "library=%.900s\n", version);
    print(line);
}

static int print_rank(int rank, int size)
{
    char host[HOST_LENGTH] = "unknown";
    char line[LINE_LENGTH];
    long long mine = rank + 1, sum = 0, expected = (long long)size * (size + 1) / 2;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "rank=%d size=%d host=%s sum=%lld expected=%lld %s\n", rank, size, host, sum, expected,
             sum == expected ? "ok" : "mismatch");
    print(line);
    return sum == expected;
}

static void fail_on_purpose(int rank, struct options o)
{
    if (rank == o.segv_rank)
        *(volatile int *)NULL = 0;
    if (rank == o.exit_rank)
        _exit((int)o.exit_code); /* past the library's exit handlers, as a crash would be */
}

/* deadlock is the mistake of a collective operation that one rank does not take part in. The others wait in it as their
 * library does: most spin. */
static void deadlock(int rank, struct options o)
{
    long long mine = rank, sum;
    if (o.deadlock_rank < 0)
        return;
    while (rank == o.deadlock_rank)
        pause();
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* linger sleeps, but looks at MPI ten times a second, so that the library notices what its peers do. */
static void linger(double seconds)
{
    const struct timespec tick = {.tv_nsec = 100 * 1000 * 1000};
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
        int found;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        nanosleep(&tick, NULL);
    }
}

int main(int argc, char **argv)
{
    struct options o = parse_options(argc, argv);
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0)
        print_library();
    int ok = print_rank(rank, size);
    fail_on_purpose(rank, o);
    deadlock(rank, o);
    linger(o.sleep_seconds);
    MPI_Finalize();
    return ok ? 0 : 1;
}
