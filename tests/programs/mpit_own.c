/* Tests the MPI's own variables against the Standard's chapter on the tool interface
 * (2 ranks), alone and after the library's: attributes, strings, indices, categories, the
 * life of sessions and handles, and the flags. One table lists the deviations of MPIs. */
#include "mpit.h"

static char mpi[16]; /* name and version */

/* Known deviations from the Standard: the MPI, the check, and a prefix of the names
 * of the variables concerned. */
static const struct deviation {
    const char *mpi, *check, *names;
} deviations[] = {
    /* They return the length of the whole string if they return no text, but not
     * if they truncate it. */
    {"openmpi", "length of the whole", ""}, {"mpich", "length of the whole", ""},
    /* It returns other error codes: MPI_T_ERR_INVALID, MPI_T_ERR_INVALID_HANDLE. */
    {"openmpi", "write", ""}, {"openmpi", "readreset", ""},
    /* Allocating a handle crashes while another component is in use. */
    {"openmpi 4.1", "crashes", "mtl_psm2_"},
};

static int is_known_deviation(const char *check, const char *name)
{
    for (size_t i = 0; i < sizeof deviations / sizeof *deviations; i++) {
        const struct deviation *d = &deviations[i];
        if (*d->mpi && strncmp(mpi, d->mpi, strlen(d->mpi)) == 0 && strcmp(check, d->check) == 0 &&
            strncmp(name, d->names, strlen(d->names)) == 0)
            return 1;
    }
    return 0;
}

/* report_difference reports a failed check, once for each variable. */
static void report_difference(int line, const char *check)
{
    static char last[600];
    char now[600];
    snprintf(now, sizeof now, "%s %s", check, about);
    if (strcmp(last, now) != 0)
        fprintf(stderr, "%s:%d: rank %d: %s: otherwise: %s\n", __FILE__, line, world_rank, about, check);
    strcpy(last, now);
    failed++;
}

/* OWN is a check with a name, which the table of deviations refers to. */
#define OWN(check, condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition) && !is_known_deviation(check, about))                                                         \
            report_difference(__LINE__, check);                                                                        \
        checks++;                                                                                                      \
    } while (0)

static int ours[64], our_count, our_category = -1;

static int is_ours(int i)
{
    for (int k = 0; k < our_count; k++)
        if (ours[k] == i)
            return 1;
    return 0;
}

static void find_ours(void)
{
    if (MPI_T_category_get_index("mpitrace", &our_category) != MPI_SUCCESS)
        return;
    MPI_T_category_get_info(our_category, NULL, NULL, NULL, NULL, NULL, &our_count, NULL);
    MPI_T_category_get_pvars(our_category, 64, ours);
}

/* strings checks the Standard's convention for strings, for the name at an index. */
static void strings(int i, int (*name_of)(int, char *, int *), const char *whole)
{
    const int n = (int)strlen(whole);
    for (int room = 0; room <= n + 1; room++) {
        char text[512];
        int length = room;
        memset(text, '#', sizeof text);
        OWN("returns", name_of(i, text, &length) == MPI_SUCCESS);
        const int kept = room - 1 < n ? room - 1 : n;
        OWN(room > 0 && room <= n ? "length of the whole" : "length", length == n + 1);
        OWN("truncated", room == 0 || (memcmp(text, whole, (size_t)kept) == 0 && text[kept] == 0));
        OWN("beyond", text[kept + 1] == '#');
    }
    int length = 7;
    OWN("returns", name_of(i, NULL, &length) == MPI_SUCCESS);
    OWN("length", length == n + 1);
}

static int name_of_pvar(int i, char *text, int *length)
{
    return MPI_T_pvar_get_info(i, text, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int name_of_cvar(int i, char *text, int *length)
{
    return MPI_T_cvar_get_info(i, text, length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int name_of_category(int i, char *text, int *length)
{
    return MPI_T_category_get_info(i, text, length, NULL, NULL, NULL, NULL, NULL);
}

/* described checks that each index has a name and that the name is found. With a
 * stride it checks only some of thousands of variables. */
static int described(int n, int stride, int (*name_of)(int, char *, int *), int (*find)(const char *, int *))
{
    int seen = 0;
    for (int i = 0; i < n; i += stride) {
        static char name[512], other[512];
        int length = sizeof name, found = -1;
        about = "";
        if (name_of(i, name, &length) != MPI_SUCCESS)
            continue; /* Open MPI has unloaded it */
        about = name;
        seen++;
        strings(i, name_of, name);
        if (find) {
            OWN("found", find(name, &found) == MPI_SUCCESS);
            length = sizeof other;
            OWN("found", name_of(found, other, &length) == MPI_SUCCESS && strcmp(name, other) == 0);
        }
    }
    about = "";
    return seen;
}

static void members(int n, int cvars, int pvars)
{
    for (int c = 0; c < n; c++) {
        int counts[3] = {0, 0, 0}, most[3] = {cvars, pvars, n}, length = 0;
        int (*const ask[])(int, int, int *) = {MPI_T_category_get_cvars, MPI_T_category_get_pvars,
                                               MPI_T_category_get_categories};
        if (MPI_T_category_get_info(c, NULL, &length, NULL, NULL, &counts[0], &counts[1], &counts[2]) != MPI_SUCCESS)
            continue;
        for (int k = 0; k < 3; k++) {
            int *list = malloc(((size_t)counts[k] + 1) * sizeof *list);
            list[counts[k]] = -77;
            OWN("members", ask[k](c, counts[k], list) == MPI_SUCCESS);
            for (int i = 0; i < counts[k]; i++)
                OWN("members", list[i] >= 0 && list[i] < most[k]);
            OWN("members", list[counts[k]] == -77);
            free(list);
        }
    }
}

/* flags checks what the flags of a variable promise, with two handles in two
 * sessions. */
static void flags(int i, int bound, int type_size, int read_only, int continuous, int atomic)
{
    MPI_T_pvar_session sessions[2];
    MPI_T_pvar_handle h[2];
    MPI_Comm world = MPI_COMM_WORLD;
    int count = -1;
    for (int k = 0; k < 2; k++) {
        WORKS(MPI_T_pvar_session_create(&sessions[k]));
        int rc = MPI_T_pvar_handle_alloc(sessions[k], i, bound == MPI_T_BIND_MPI_COMM ? &world : NULL, &h[k], &count);
        OWN("bound", rc == MPI_SUCCESS && count >= 0);
        if (rc != MPI_SUCCESS) {
            MPI_T_pvar_session_free(&sessions[k]);
            if (k == 1)
                MPI_T_pvar_session_free(&sessions[0]);
            return;
        }
    }
    const size_t size = (size_t)count * (size_t)type_size;
    char *value = malloc(size + 64), *again = malloc(size + 64);
    const int no = MPI_T_ERR_PVAR_NO_STARTSTOP;
    OWN("start", MPI_T_pvar_start(sessions[0], h[0]) == (continuous ? no : MPI_SUCCESS));
    OWN("read", MPI_T_pvar_read(sessions[0], h[0], value) == MPI_SUCCESS);
    OWN("stop", MPI_T_pvar_stop(sessions[0], h[0]) == (continuous ? no : MPI_SUCCESS));
    if (!continuous) { /* after the stop, its value stays the same */
        OWN("read", MPI_T_pvar_read(sessions[0], h[0], value) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        OWN("read", MPI_T_pvar_read(sessions[0], h[0], again) == MPI_SUCCESS);
        OWN("frozen", memcmp(value, again, size) == 0);
    }
    if (read_only)
        OWN("write", MPI_T_pvar_write(sessions[1], h[1], value) == MPI_T_ERR_PVAR_NO_WRITE);
    if (!atomic)
        OWN("readreset", MPI_T_pvar_readreset(sessions[1], h[1], value) == MPI_T_ERR_PVAR_NO_ATOMIC);
    OWN("other session", MPI_T_pvar_read(sessions[1], h[0], value) == MPI_T_ERR_INVALID_HANDLE);
    for (int k = 0; k < 2; k++) {
        OWN("free", MPI_T_pvar_handle_free(sessions[k], &h[k]) == MPI_SUCCESS && h[k] == MPI_T_PVAR_HANDLE_NULL);
        WORKS(MPI_T_pvar_session_free(&sessions[k]));
        CHECK(sessions[k] == MPI_T_PVAR_SESSION_NULL);
    }
    free(value);
    free(again);
}

static int variables(int n)
{
    int seen = 0;
    for (int i = 0; i < n; i++) {
        static char name[512];
        int length = sizeof name, class, bound, read_only, continuous, atomic, size, found = -1;
        MPI_Datatype type;
        about = "";
        if (is_ours(i) || MPI_T_pvar_get_info(i, name, &length, NULL, &class, &type, NULL, NULL, NULL, &bound,
                                              &read_only, &continuous, &atomic) != MPI_SUCCESS)
            continue;
        about = name;
        seen++;
        OWN("found", MPI_T_pvar_get_index(name, class, &found) == MPI_SUCCESS && found == i);
        OWN("wrong class", MPI_T_pvar_get_index(name, class == MPI_T_PVAR_CLASS_STATE ? MPI_T_PVAR_CLASS_GENERIC
                                                                                      : MPI_T_PVAR_CLASS_STATE,
                                                &found) == MPI_T_ERR_INVALID_NAME);
        PMPI_Type_size(type, &size);
        if ((bound == MPI_T_BIND_NO_OBJECT || bound == MPI_T_BIND_MPI_COMM) && !is_known_deviation("crashes", name))
            flags(i, bound, size, read_only, continuous, atomic);
    }
    about = "";
    return seen;
}

static void check_invalid_indices(int cvars, int pvars, int categories)
{
    int length = 0, i = -1;
    MPI_T_pvar_session session;
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("no such variable", &i));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("no such variable", MPI_T_PVAR_CLASS_COUNTER, &i));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("no such category", &i));
    /* Without our library, most MPIs crash here or return MPI_T_ERR_INVALID. */
    if (our_count > 0) {
        IS(MPI_T_ERR_INVALID_INDEX, name_of_cvar(cvars, NULL, &length));
        IS(MPI_T_ERR_INVALID_INDEX, name_of_pvar(pvars, NULL, &length));
        IS(MPI_T_ERR_INVALID_INDEX, name_of_category(categories, NULL, &length));
    }
    about = "all handles of none";
    WORKS(MPI_T_pvar_session_create(&session));
    WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_session_free(&session));
    about = "";
}

int main(int argc, char **argv)
{
    int provided, cvars = 0, pvars = 0, categories = 0;
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    begin(argc, argv, 2);
#ifdef OPEN_MPI
    snprintf(mpi, sizeof mpi, "openmpi %d.%d", OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION);
#else
    snprintf(mpi, sizeof mpi, "mpich %s", MPICH_VERSION);
#endif
    find_ours();
    WORKS(MPI_T_cvar_get_num(&cvars));
    WORKS(MPI_T_pvar_get_num(&pvars));
    WORKS(MPI_T_category_get_num(&categories));
    described(cvars, 7, name_of_cvar, MPI_T_cvar_get_index);
    described(categories, 3, name_of_category, MPI_T_category_get_index);
    described(pvars, 1, name_of_pvar, NULL);
    members(categories, cvars, pvars);
    const int own = variables(pvars);
    check_invalid_indices(cvars, pvars, categories);
    WORKS(MPI_T_finalize());
    MPI_Finalize();
    const int status = report();
    if (world_rank == 0)
        printf("%d of the MPI's own variables, %d of ours\n", own, our_count);
    return status;
}
