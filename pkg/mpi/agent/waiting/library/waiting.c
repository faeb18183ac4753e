/*
 * waiting: how long a rank is inside of MPI, and in what kind of call, without a change of its program.
 *
 * Preloaded, it defines the calls of MPI in which a rank can wait, and forwards them to the library of the process with all arguments as they
 * came: it knows no type of MPI, so that one file serves every implementation. It names no libc either, and uses the one that it finds.
 *
 * What it counts is in a page of a file that it shares with the agent, one for each rank: the agent reads it while the rank runs and
 * after it was killed. Everything that can fail leaves a process that is not counted, and nothing else: the program is the user's.
 *
 * The agent builds on the layout of struct page and on kinds (Go package waiting).
 */

typedef long word;
typedef unsigned long long number; /* nanoseconds, or a count */

enum kind { START, COLLECTIVE, MESSAGE, ONE_SIDED, FILES, END, KINDS };

struct page {
    number magic;
    number pid;
    number began; /* when MPI_Init was called */
    number ended; /* when MPI_Finalize returned, 0 before */
    number last;  /* when the last call returned */
    number since; /* since when the rank is inside of a call, 0 outside */
    number inside; /* the kind of that call */
    struct {
        number calls, time;
    } kinds[KINDS];
};

static const number MAGIC = 0x31474e4954494157; /* "WAITING1", as the memory has it */
enum { PAGE_SIZE = 4096, MAX_PATH = 4096, MAX_DIGITS = 7, MAX_OBJECTS = 1024 };

/* What is used of libc, where there is one. The types and numbers are those of Linux on 64 bits. */
struct timespec {
    long seconds, nanoseconds;
};
struct dl_phdr_info {
    void *address;
    const char *name;
};
#define LIBC extern __attribute__((weak))
LIBC char *getenv(const char *);
LIBC int getpid(void);
LIBC int open(const char *, int, ...);
LIBC long write(int, const void *, unsigned long);
LIBC int close(int);
LIBC int rename(const char *, const char *);
LIBC int unlink(const char *);
LIBC void *mmap(void *, unsigned long, int, int, int, long);
LIBC int clock_gettime(int, struct timespec *);
LIBC int dl_iterate_phdr(int (*)(struct dl_phdr_info *, unsigned long, void *), void *);
LIBC void *dlopen(const char *, int);
LIBC void *dlsym(void *, const char *);
LIBC int dlclose(void *);
LIBC char *dlerror(void);
enum {
    O_RDWR = 2, O_CREAT = 0100, O_EXCL = 0200, O_CLOEXEC = 02000000,
    PROT_READ = 1, PROT_WRITE = 2, MAP_SHARED = 1,
    CLOCK_MONOTONIC = 1, RTLD_LAZY = 1, RTLD_NOLOAD = 4,
};
#define RTLD_NEXT ((void *)-1L)
#define MAP_FAILED ((void *)-1L)

/* --- the call that is forwarded ---------------------------------------------------------------------------------------------- */

/* MPI has no call with more arguments, nor with one that is not passed as a word. Who takes less does not look at the rest. */
#define ARGUMENTS word a, word b, word c, word d, word e, word f, word g, word h, word i, word j, word k, word l, word m, word n, word o, word p
#define THEM a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p
typedef word call(ARGUMENTS);

struct objects {
    const char *names[MAX_OBJECTS];
    int count;
};

static int note_object(struct dl_phdr_info *info, unsigned long size, void *data)
{
    struct objects *all = data;
    (void)size;
    if (info->name && info->name[0] && all->count < MAX_OBJECTS)
        all->names[all->count++] = info->name;
    return 0;
}

/* find_in_objects looks into each object with those that it needs. A library that was loaded for one extension of Python only
 * (RTLD_LOCAL), and brings MPI along, is found in no other way. */
static call *find_in_objects(const char *name, call *ours)
{
    struct objects all;
    all.count = 0;
    dl_iterate_phdr(note_object, &all);
    for (int n = 0; n < all.count; n++) {
        void *object = dlopen(all.names[n], RTLD_LAZY | RTLD_NOLOAD);
        call *found = object ? (call *)dlsym(object, name) : 0;
        if (found && found != ours)
            return found; /* and the object stays */
        if (object)
            dlclose(object);
    }
    return 0;
}

static word fail(ARGUMENTS)
{
    (void)a, (void)b, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h, (void)i, (void)j, (void)k, (void)l, (void)m, (void)n, (void)o, (void)p;
    return 1; /* an error, in all implementations: the process has no MPI */
}

/* find returns what a call of MPI is forwarded to, by the name that tools use, or else the next definition, or otherwise. */
__attribute__((noinline, cold)) static call *find(const char *pmpi, call *ours, call *otherwise)
{
    const char *mpi = pmpi + 1;
    call *found;
    if (!dlsym || !dlopen || !dlclose || !dlerror || !dl_iterate_phdr)
        return otherwise;
    found = (call *)dlsym(RTLD_NEXT, pmpi);
    if (!found)
        found = (call *)dlsym(RTLD_NEXT, mpi);
    if (!found)
        found = find_in_objects(pmpi, ours);
    if (!found)
        found = find_in_objects(mpi, ours);
    dlerror(); /* what was not found here is no error of the program's */
    return found ? found : otherwise;
}

/* --- the page ---------------------------------------------------------------------------------------------------------------- */

static struct page *volatile the_page;

static number now(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t))
        return 0;
    return (number)t.seconds * 1000000000 + (number)t.nanoseconds;
}

/* rank returns the digits by which a launcher numbers this process, 0 for none. */
static const char *rank(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};
    for (unsigned n = 0; n < sizeof variables / sizeof *variables; n++) {
        const char *text = getenv(variables[n]);
        int digits = 0;
        while (text && text[digits] >= '0' && text[digits] <= '9')
            digits++;
        if (digits > 0 && digits <= MAX_DIGITS && !text[digits])
            return text;
    }
    return 0;
}

/* append adds to a text that ends at *at, and returns 0 where there is no room. */
static int append(char *to, int *at, const char *text)
{
    for (; *text; text++) {
        if (*at >= MAX_PATH - 1)
            return 0;
        to[(*at)++] = *text;
    }
    to[*at] = 0;
    return 1;
}

static const char *digits_of(unsigned value, char *end)
{
    *end = 0;
    do
        *--end = (char)('0' + value % 10);
    while (value /= 10);
    return end;
}

/* map_new_file returns a page of a new file, 0 where it cannot be made. It is written before it is mapped: a full disk is an error then, and a
 * signal later. */
static struct page *map_new_file(const char *path)
{
    static const char zeros[PAGE_SIZE];
    void *mapped = MAP_FAILED;
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return 0;
    if (write(file, zeros, PAGE_SIZE) == PAGE_SIZE)
        mapped = mmap(0, PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (mapped != MAP_FAILED)
        return mapped;
    unlink(path);
    return 0;
}

/* open_page makes `<prefix>.<rank>`. An earlier one of that name stays with who has it mapped. */
__attribute__((noinline, cold)) static void open_page(void)
{
    char path[MAX_PATH], temporary[MAX_PATH], number_text[16];
    const char *prefix, *own;
    struct page *page;
    int at = 0, also = 0;
    if (!getenv || !getpid || !open || !write || !close || !rename || !unlink || !mmap || !clock_gettime || !now())
        return;
    prefix = getenv("LOCKSTEP_WAITING");
    own = rank();
    if (!prefix || !prefix[0] || !own)
        return;
    if (!append(path, &at, prefix) || !append(path, &at, ".") || !append(path, &at, own))
        return;
    if (!append(temporary, &also, path) || !append(temporary, &also, ".") ||
        !append(temporary, &also, digits_of((unsigned)getpid(), number_text + sizeof number_text - 1)))
        return;
    page = map_new_file(temporary);
    if (!page)
        return;
    page->pid = (number)getpid();
    page->began = page->last = now();
    __atomic_store_n(&page->magic, MAGIC, __ATOMIC_RELEASE);
    if (rename(temporary, path)) {
        unlink(temporary);
        return;
    }
    __atomic_store_n(&the_page, page, __ATOMIC_RELEASE);
}

/* enter begins to count a call. It returns 0 for a call that is not counted: inside of another, because libraries call MPI themselves, or
 * beside one of another thread. So the times add up to no more than the process has lived. */
__attribute__((noinline)) static number enter(enum kind kind)
{
    static int opened;
    struct page *page;
    number outside = 0, t;
    if (!__atomic_load_n(&opened, __ATOMIC_RELAXED) && !__atomic_exchange_n(&opened, 1, __ATOMIC_ACQ_REL))
        open_page();
    page = __atomic_load_n(&the_page, __ATOMIC_ACQUIRE);
    if (!page || __atomic_load_n(&page->since, __ATOMIC_RELAXED))
        return 0;
    t = now();
    if (!__atomic_compare_exchange_n(&page->since, &outside, t, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
        return 0;
    page->inside = kind;
    return t;
}

__attribute__((noinline)) static void leave(enum kind kind, number entered)
{
    struct page *page = the_page;
    number t = now();
    page->kinds[kind].calls++;
    page->kinds[kind].time += t - entered;
    page->last = t;
    if (kind == END)
        page->ended = t;
    __atomic_store_n(&page->since, 0, __ATOMIC_RELEASE);
}

/* Of most programs MPI is there when they start, and the loader has found it. */
#define FORWARD(mpi, pmpi, otherwise, kind)                                    \
    extern __attribute__((weak)) call pmpi;                                    \
    __attribute__((visibility("default"))) word mpi(ARGUMENTS)                 \
    {                                                                          \
        static call *cached;                                                   \
        call *real = __atomic_load_n(&cached, __ATOMIC_RELAXED);               \
        if (!real) {                                                           \
            real = pmpi ? pmpi : find(#pmpi, mpi, otherwise);                  \
            __atomic_store_n(&cached, real, __ATOMIC_RELAXED);                 \
        }                                                                      \
        number entered = enter(kind);                                          \
        word result = real(THEM);                                              \
        if (entered)                                                           \
            leave(kind, entered);                                              \
        return result;                                                         \
    }

/* C, Fortran by name, and the module mpi_f08 as Open MPI and as MPICH name its calls. Where one is made of another, the outer counts. */
#define CALL(name, lower, kind)                                       \
    FORWARD(MPI_##name, PMPI_##name, fail, kind)                      \
    FORWARD(mpi_##lower##_, pmpi_##lower##_, fail, kind)              \
    FORWARD(mpi_##lower##_f08_, pmpi_##lower##_f08_, fail, kind)      \
    FORWARD(mpi_##lower##_f08ts_, pmpi_##lower##_f08ts_, fail, kind)

/* Also with large counts, which not every library has (Open MPI 5.0). Programs look whether there is such a call, mpi4py for one, and with us
 * there always is: without a real one it is the call with small counts, for counts that are small. Counts are the arguments that have some;
 * calls with arrays of them are left out, for they could not be forwarded so. */
#define LARGE(name, lower, kind, counts)                                                                    \
    CALL(name, lower, kind)                                                                                 \
    static word small_##name(ARGUMENTS)                                                                     \
    {                                                                                                       \
        return are_small((counts), b, c, d, e, g) ? MPI_##name(THEM) : fail(THEM);                          \
    }                                                                                                       \
    FORWARD(MPI_##name##_c, PMPI_##name##_c, small_##name, kind)

enum { SECOND = 1, THIRD = 2, FOURTH = 4, FIFTH = 8, SEVENTH = 16 };

static int are_small(int counts, word second, word third, word fourth, word fifth, word seventh)
{
    const word arguments[] = {second, third, fourth, fifth, seventh};
    for (int n = 0; n < 5; n++)
        if (counts >> n & 1 && arguments[n] != (int)arguments[n])
            return 0;
    return 1;
}

CALL(Init, init, START)
CALL(Init_thread, init_thread, START)
CALL(Finalize, finalize, END)

CALL(Barrier, barrier, COLLECTIVE)
LARGE(Bcast, bcast, COLLECTIVE, SECOND)
LARGE(Gather, gather, COLLECTIVE, SECOND | FIFTH)
CALL(Gatherv, gatherv, COLLECTIVE)
LARGE(Scatter, scatter, COLLECTIVE, SECOND | FIFTH)
CALL(Scatterv, scatterv, COLLECTIVE)
LARGE(Allgather, allgather, COLLECTIVE, SECOND | FIFTH)
CALL(Allgatherv, allgatherv, COLLECTIVE)
LARGE(Alltoall, alltoall, COLLECTIVE, SECOND | FIFTH)
CALL(Alltoallv, alltoallv, COLLECTIVE)
CALL(Alltoallw, alltoallw, COLLECTIVE)
LARGE(Reduce, reduce, COLLECTIVE, THIRD)
LARGE(Allreduce, allreduce, COLLECTIVE, THIRD)
CALL(Reduce_scatter, reduce_scatter, COLLECTIVE)
LARGE(Reduce_scatter_block, reduce_scatter_block, COLLECTIVE, THIRD)
LARGE(Scan, scan, COLLECTIVE, THIRD)
LARGE(Exscan, exscan, COLLECTIVE, THIRD)
LARGE(Neighbor_allgather, neighbor_allgather, COLLECTIVE, SECOND | FIFTH)
CALL(Neighbor_allgatherv, neighbor_allgatherv, COLLECTIVE)
LARGE(Neighbor_alltoall, neighbor_alltoall, COLLECTIVE, SECOND | FIFTH)
CALL(Neighbor_alltoallv, neighbor_alltoallv, COLLECTIVE)
CALL(Neighbor_alltoallw, neighbor_alltoallw, COLLECTIVE)
CALL(Comm_dup, comm_dup, COLLECTIVE)
CALL(Comm_dup_with_info, comm_dup_with_info, COLLECTIVE)
CALL(Comm_create, comm_create, COLLECTIVE)
CALL(Comm_create_group, comm_create_group, COLLECTIVE)
CALL(Comm_split, comm_split, COLLECTIVE)
CALL(Comm_split_type, comm_split_type, COLLECTIVE)
CALL(Comm_free, comm_free, COLLECTIVE)
CALL(Comm_spawn, comm_spawn, COLLECTIVE)
CALL(Comm_spawn_multiple, comm_spawn_multiple, COLLECTIVE)
CALL(Comm_accept, comm_accept, COLLECTIVE)
CALL(Comm_connect, comm_connect, COLLECTIVE)
CALL(Comm_disconnect, comm_disconnect, COLLECTIVE)
CALL(Intercomm_create, intercomm_create, COLLECTIVE)
CALL(Intercomm_merge, intercomm_merge, COLLECTIVE)
CALL(Cart_create, cart_create, COLLECTIVE)
CALL(Cart_sub, cart_sub, COLLECTIVE)
CALL(Graph_create, graph_create, COLLECTIVE)
CALL(Dist_graph_create, dist_graph_create, COLLECTIVE)
CALL(Dist_graph_create_adjacent, dist_graph_create_adjacent, COLLECTIVE)

LARGE(Send, send, MESSAGE, SECOND)
LARGE(Bsend, bsend, MESSAGE, SECOND)
LARGE(Ssend, ssend, MESSAGE, SECOND)
LARGE(Rsend, rsend, MESSAGE, SECOND)
LARGE(Recv, recv, MESSAGE, SECOND)
LARGE(Sendrecv, sendrecv, MESSAGE, SECOND | SEVENTH)
LARGE(Sendrecv_replace, sendrecv_replace, MESSAGE, SECOND)
CALL(Probe, probe, MESSAGE)
CALL(Iprobe, iprobe, MESSAGE)
CALL(Mprobe, mprobe, MESSAGE)
CALL(Improbe, improbe, MESSAGE)
LARGE(Mrecv, mrecv, MESSAGE, SECOND)
CALL(Wait, wait, MESSAGE)
CALL(Waitall, waitall, MESSAGE)
CALL(Waitany, waitany, MESSAGE)
CALL(Waitsome, waitsome, MESSAGE)
CALL(Test, test, MESSAGE)
CALL(Testall, testall, MESSAGE)
CALL(Testany, testany, MESSAGE)
CALL(Testsome, testsome, MESSAGE)
CALL(Buffer_detach, buffer_detach, MESSAGE)

CALL(Win_create, win_create, ONE_SIDED)
CALL(Win_allocate, win_allocate, ONE_SIDED)
CALL(Win_allocate_shared, win_allocate_shared, ONE_SIDED)
CALL(Win_create_dynamic, win_create_dynamic, ONE_SIDED)
CALL(Win_free, win_free, ONE_SIDED)
CALL(Win_fence, win_fence, ONE_SIDED)
CALL(Win_start, win_start, ONE_SIDED)
CALL(Win_complete, win_complete, ONE_SIDED)
CALL(Win_post, win_post, ONE_SIDED)
CALL(Win_wait, win_wait, ONE_SIDED)
CALL(Win_test, win_test, ONE_SIDED)
CALL(Win_lock, win_lock, ONE_SIDED)
CALL(Win_lock_all, win_lock_all, ONE_SIDED)
CALL(Win_unlock, win_unlock, ONE_SIDED)
CALL(Win_unlock_all, win_unlock_all, ONE_SIDED)
CALL(Win_flush, win_flush, ONE_SIDED)
CALL(Win_flush_all, win_flush_all, ONE_SIDED)
CALL(Win_flush_local, win_flush_local, ONE_SIDED)
CALL(Win_flush_local_all, win_flush_local_all, ONE_SIDED)

CALL(File_open, file_open, FILES)
CALL(File_close, file_close, FILES)
CALL(File_sync, file_sync, FILES)
CALL(File_set_size, file_set_size, FILES)
CALL(File_set_view, file_set_view, FILES)
CALL(File_preallocate, file_preallocate, FILES)
LARGE(File_read, file_read, FILES, THIRD)
LARGE(File_read_all, file_read_all, FILES, THIRD)
LARGE(File_read_at, file_read_at, FILES, FOURTH)
LARGE(File_read_at_all, file_read_at_all, FILES, FOURTH)
LARGE(File_read_shared, file_read_shared, FILES, THIRD)
LARGE(File_read_ordered, file_read_ordered, FILES, THIRD)
LARGE(File_write, file_write, FILES, THIRD)
LARGE(File_write_all, file_write_all, FILES, THIRD)
LARGE(File_write_at, file_write_at, FILES, FOURTH)
LARGE(File_write_at_all, file_write_at_all, FILES, FOURTH)
LARGE(File_write_shared, file_write_shared, FILES, THIRD)
LARGE(File_write_ordered, file_write_ordered, FILES, THIRD)
CALL(File_read_all_end, file_read_all_end, FILES)
CALL(File_read_at_all_end, file_read_at_all_end, FILES)
CALL(File_read_ordered_end, file_read_ordered_end, FILES)
CALL(File_write_all_end, file_write_all_end, FILES)
CALL(File_write_at_all_end, file_write_at_all_end, FILES)
CALL(File_write_ordered_end, file_write_ordered_end, FILES)
