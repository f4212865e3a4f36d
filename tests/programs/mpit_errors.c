/* Tests what MPI_T must refuse, and with which error code, for the performance
 * variables that the library offers and its control variables (2 ranks). */
#include "mpit.h"

static MPI_T_pvar_session session, other;

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session of, int variable)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle made = MPI_T_PVAR_HANDLE_NULL;
    int count;
    WORKS(MPI_T_pvar_handle_alloc(of, offered_index[variable], &world, &made, &count));
    return made;
}

/* refused checks that each function returns the error code for this handle. */
static void refused(int code, MPI_T_pvar_session of, MPI_T_pvar_handle handle)
{
    unsigned long value[4] = {1, 2, 3, 4};
    IS(code, MPI_T_pvar_start(of, handle));
    IS(code, MPI_T_pvar_stop(of, handle));
    IS(code, MPI_T_pvar_reset(of, handle));
    IS(code, MPI_T_pvar_read(of, handle, value));
    IS(code, MPI_T_pvar_write(of, handle, value));
    IS(code, MPI_T_pvar_readreset(of, handle, value));
    MPI_T_pvar_handle copy = handle;
    IS(code, MPI_T_pvar_handle_free(of, &copy));
    CHECK(copy == handle);
    CHECK(value[0] == 1 && value[1] == 2 && value[2] == 3 && value[3] == 4);
}

static void check_indices(void)
{
    int n = 0, i = -1, count = -1;
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_handle made;
    WORKS(MPI_T_pvar_get_num(&n));
    const int wrong[] = {-1, n, n + 1, 1 << 30, -(1 << 30)};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char name[256];
        IS(MPI_T_ERR_INVALID_INDEX, pvar_name(wrong[k], name));
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_pvar_handle_alloc(session, wrong[k], &world, &made, &count));
    }
    for (int v = 0; v < OFFERED; v++) {
        about = all_offered[v].name;
        const int class = all_offered[v].class;
        const int not = class == MPI_T_PVAR_CLASS_STATE ? MPI_T_PVAR_CLASS_LEVEL : MPI_T_PVAR_CLASS_STATE;
        IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index(about, not, &i));
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(about, class, NULL));
    }
    about = "";
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("mpitrace_", MPI_T_PVAR_CLASS_COUNTER, &i));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("mpitrace_calls_", MPI_T_PVAR_CLASS_COUNTER, &i));
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_pvar_get_index("", MPI_T_PVAR_CLASS_COUNTER, &i));
    CHECK(i == -1);
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_num(NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_get_index(NULL, MPI_T_PVAR_CLASS_COUNTER, &i));
}

static void check_sessions(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_T_pvar_session gone, kept, none = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle made = MPI_T_PVAR_HANDLE_NULL;
    int count = -1;
    unsigned long value[2];
    IS(MPI_T_ERR_INVALID, MPI_T_pvar_session_create(NULL));
    IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&none));
    WORKS(MPI_T_pvar_session_create(&gone));
    kept = gone;
    made = handle_of(gone, ARRAYS);
    handle_of(gone, FLUSH); /* freed with its session */
    handle_of(gone, CALL_AGE);
    WORKS(MPI_T_pvar_start(gone, made));
    WORKS(MPI_T_pvar_session_free(&gone));
    CHECK(gone == MPI_T_PVAR_SESSION_NULL);
    const MPI_T_pvar_session wrong[] = {none, kept};
    for (int k = 0; k < 2; k++) {
        MPI_T_pvar_session copy = wrong[k];
        MPI_T_pvar_handle mine = handle_of(session, CALLS);
        about = k ? "freed session" : "no session";
        IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_session_free(&copy));
        for (int v = 0; v < OFFERED; v++) {
            MPI_T_pvar_handle h;
            IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_handle_alloc(copy, offered_index[v], &world, &h, &count));
        }
        refused(MPI_T_ERR_INVALID_SESSION, wrong[k], mine);
        IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_start(wrong[k], MPI_T_PVAR_ALL_HANDLES));
        IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_stop(wrong[k], MPI_T_PVAR_ALL_HANDLES));
        IS(MPI_T_ERR_INVALID_SESSION, MPI_T_pvar_reset(wrong[k], MPI_T_PVAR_ALL_HANDLES));
        about = "";
        WORKS(MPI_T_pvar_read(session, mine, value));
        WORKS(MPI_T_pvar_handle_free(session, &mine));
    }
    about = "handle of a session that was freed";
    refused(MPI_T_ERR_INVALID_HANDLE, session, made);
    about = "";
}

static void check_handles(void)
{
    for (int v = 0; v < OFFERED; v++) {
        MPI_T_pvar_handle a = handle_of(session, v), b = handle_of(other, v), freed = a;
        about = all_offered[v].name;
        refused(MPI_T_ERR_INVALID_HANDLE, session, b);
        refused(MPI_T_ERR_INVALID_HANDLE, other, a);
        WORKS(MPI_T_pvar_handle_free(session, &a));
        refused(MPI_T_ERR_INVALID_HANDLE, session, freed);
        refused(MPI_T_ERR_INVALID_HANDLE, session, MPI_T_PVAR_HANDLE_NULL);
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &a));
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_free(other, NULL));
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_read(other, b, NULL));
        if (all_offered[v].atomic == 1)
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_readreset(other, b, NULL));
        WORKS(MPI_T_pvar_handle_free(other, &b));
    }
    about = "all handles";
    unsigned long value[2];
    MPI_T_pvar_handle all = MPI_T_PVAR_ALL_HANDLES, one = handle_of(session, CALLS);
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_read(session, all, value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_readreset(session, all, value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_write(session, all, value));
    IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_pvar_handle_free(session, &all));
    CHECK(all == MPI_T_PVAR_ALL_HANDLES);
    WORKS(MPI_T_pvar_handle_free(session, &one));
    for (int i = 0; i < 2; i++) { /* first without handles, then with one of a continuous variable */
        WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        WORKS(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
        WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
        if (i == 0)
            one = handle_of(session, CALL_AGE);
    }
    WORKS(MPI_T_pvar_handle_free(session, &one));
    about = "";
}

/* check_allocation checks which arguments of MPI_T_pvar_handle_alloc are required. */
static void check_allocation(void)
{
    MPI_Comm world = MPI_COMM_WORLD, none = MPI_COMM_NULL;
    MPI_T_pvar_handle made;
    int count;
    for (int v = 0; v < OFFERED; v++) {
        const int i = offered_index[v];
        about = all_offered[v].name;
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, i, &world, NULL, &count));
        IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, i, &world, &made, NULL));
        if (all_offered[v].bound == MPI_T_BIND_MPI_COMM) {
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, i, NULL, &made, &count));
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, i, &none, &made, &count));
            IS(MPI_T_ERR_INVALID, MPI_T_pvar_handle_alloc(session, i, (void *)(intptr_t)none, &made, &count));
        } else {
            WORKS(MPI_T_pvar_handle_alloc(session, i, NULL, &made, &count)); /* the object is ignored */
            WORKS(MPI_T_pvar_handle_free(session, &made));
        }
    }
    about = "";
}

/* check_flags checks that a handle refuses what the flags of its variable exclude. */
static void check_flags(void)
{
    for (int v = 0; v < OFFERED; v++) {
        const offered *o = &all_offered[v];
        unsigned long value[4] = {0, 0, 0, 0};
        int atomic = -1;
        MPI_T_pvar_handle h = handle_of(session, v);
        about = o->name;
        WORKS(MPI_T_pvar_get_info(offered_index[v], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  &atomic));
        if (o->continuous) {
            IS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_start(session, h));
            IS(MPI_T_ERR_PVAR_NO_STARTSTOP, MPI_T_pvar_stop(session, h));
        } else if (v != FLUSH) { /* starting it would begin a phase */
            WORKS(MPI_T_pvar_stop(session, h));
            WORKS(MPI_T_pvar_start(session, h));
            WORKS(MPI_T_pvar_start(session, h));
            WORKS(MPI_T_pvar_stop(session, h));
            WORKS(MPI_T_pvar_stop(session, h));
        }
        if (o->read_only)
            IS(MPI_T_ERR_PVAR_NO_WRITE, MPI_T_pvar_write(session, h, value));
        IS(atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC, MPI_T_pvar_readreset(session, h, value));
        WORKS(MPI_T_pvar_reset(session, h));
        WORKS(MPI_T_pvar_read(session, h, value));
        WORKS(MPI_T_pvar_handle_free(session, &h));
    }
    about = "";
}

static void check_categories(void)
{
    int n = 0, i = -1, members[4];
    WORKS(MPI_T_category_get_num(&n));
    const int wrong[] = {-1, n, n + 7};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        int length = 4;
        char name[4];
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_info(wrong[k], name, &length, NULL, NULL, NULL, NULL, NULL));
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_pvars(wrong[k], 4, members));
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_cvars(wrong[k], 4, members));
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_category_get_categories(wrong[k], 4, members));
    }
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_category_get_index("mpitraces", &i));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_index("mpitrace", NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_get_num(NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_category_changed(NULL));
}

/* The library's own control variables, and their values if no setting is made. */
static const struct setting {
    const char *name, *variable, *value;
    int scope;
} settings[] = {
    {"mpitrace_timing", "MPITRACE_TIMING", "exact", MPI_T_SCOPE_READONLY},
    {"mpitrace_receives", "MPITRACE_RECEIVES", "on", MPI_T_SCOPE_CONSTANT},
    {"mpitrace_interval", "MPITRACE_INTERVAL", NULL, MPI_T_SCOPE_READONLY},
    {"mpitrace_stack", "MPITRACE_STACK", "0", MPI_T_SCOPE_CONSTANT},
    {"mpitrace_cvar", "MPITRACE_CVAR", NULL, MPI_T_SCOPE_CONSTANT},
    {"mpitrace_pvar", "MPITRACE_PVAR", NULL, MPI_T_SCOPE_CONSTANT},
    {"mpitrace_pvar_interval", "MPITRACE_PVAR_INTERVAL", "0", MPI_T_SCOPE_CONSTANT},
    {"mpitrace_watch_unexpected", "MPITRACE_WATCH_UNEXPECTED", NULL, MPI_T_SCOPE_CONSTANT},
    {"mpitrace_physical", "MPITRACE_PHYSICAL", "off", MPI_T_SCOPE_CONSTANT},
    {"mpitrace_max_mb", "MPITRACE_MAX_MB", "64", MPI_T_SCOPE_CONSTANT},
    {"mpitrace_prof", "MPITRACE_PROF", NULL, MPI_T_SCOPE_CONSTANT},
    {"mpitrace_quiet", "MPITRACE_QUIET", "off", MPI_T_SCOPE_CONSTANT},
};

static MPI_T_cvar_handle cvar_handle(const char *name, int *count)
{
    int i = -1;
    MPI_T_cvar_handle h = MPI_T_CVAR_HANDLE_NULL;
    WORKS(MPI_T_cvar_get_index(name, &i));
    WORKS(MPI_T_cvar_handle_alloc(i, NULL, &h, count));
    CHECK(h != MPI_T_CVAR_HANDLE_NULL);
    return h;
}

static void informed(const char *name, MPI_Datatype want, int scope)
{
    int i = -1, length = 256, verbosity = -1, described = 2048, bound = -1, found = -1;
    char seen[256] = "", text[2048] = "";
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum items = MPI_T_ENUM_NULL;
    about = name;
    WORKS(MPI_T_cvar_get_index(name, &i));
    WORKS(MPI_T_cvar_get_info(i, seen, &length, &verbosity, &type, &items, text, &described, &bound, &found));
    CHECK(strcmp(seen, name) == 0 && length == (int)strlen(name) + 1);
    CHECK(strlen(text) > 10 && described == (int)strlen(text) + 1);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(type == want && items == MPI_T_ENUM_NULL && bound == MPI_T_BIND_NO_OBJECT && found == scope);
    length = 5, described = 0;
    WORKS(MPI_T_cvar_get_info(i, seen, &length, NULL, NULL, NULL, text, &described, NULL, NULL));
    CHECK(strcmp(seen, "mpit") == 0 && length == (int)strlen(name) + 1 && described == (int)strlen(text) + 1);
    WORKS(MPI_T_cvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
}

/* value_of reads a text variable, and checks that it takes at most as many bytes
 * as its handle's count. */
static void value_of(const char *name, char *text, int room)
{
    int count = -1;
    MPI_T_cvar_handle h = cvar_handle(name, &count);
    memset(text, '#', (size_t)room);
    if (!CHECK(count > 0 && count < room))
        return;
    WORKS(MPI_T_cvar_read(h, text));
    CHECK(memchr(text, 0, (size_t)count) != NULL && text[count] == '#');
    WORKS(MPI_T_cvar_handle_free(&h));
    CHECK(h == MPI_T_CVAR_HANDLE_NULL);
}

static void check_settings(int open)
{
    char text[8192], again[8192];
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++) {
        const struct setting *s = &settings[k];
        const char *want = getenv(s->variable);
        int count;
        informed(s->name, MPI_CHAR, s->scope);
        value_of(s->name, text, sizeof text);
        want = want && *want ? want : s->value;
        if (want)
            CHECK(strcmp(text, want) == 0);
        MPI_T_cvar_handle h = cvar_handle(s->name, &count);
        if (s->scope == MPI_T_SCOPE_CONSTANT)
            IS(MPI_T_ERR_CVAR_SET_NEVER, MPI_T_cvar_write(h, text));
        else if (strcmp(s->name, "mpitrace_timing") == 0)
            IS(open ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS, MPI_T_cvar_write(h, "exact"));
        if (s->scope != MPI_T_SCOPE_CONSTANT && !open)
            IS(MPI_T_ERR_INVALID, MPI_T_cvar_write(h, "nonsense"));
        value_of(s->name, again, sizeof again);
        CHECK(strcmp(text, again) == 0);
        WORKS(MPI_T_cvar_handle_free(&h));
    }
    about = "";
}

static void check_cvars(void)
{
    int n = 0, i = -1, count = -1, on = -7;
    MPI_T_cvar_handle h, kept, none = MPI_T_CVAR_HANDLE_NULL;
    WORKS(MPI_T_cvar_get_num(&n));
    const int wrong[] = {-1, n, 1 << 30};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        char name[8];
        int length = 8;
        IS(MPI_T_ERR_INVALID_INDEX,
           MPI_T_cvar_get_info(wrong[k], name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        IS(MPI_T_ERR_INVALID_INDEX, MPI_T_cvar_handle_alloc(wrong[k], NULL, &h, &count));
    }
    IS(MPI_T_ERR_INVALID_NAME, MPI_T_cvar_get_index("mpitrace_nothing", &i));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_get_index("mpitrace_enabled", NULL));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_get_num(NULL));
    WORKS(MPI_T_cvar_get_index("mpitrace_enabled", &i));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(i, NULL, NULL, &count));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_alloc(i, NULL, &h, NULL));
    h = kept = cvar_handle("mpitrace_enabled", &count);
    CHECK(count == 1);
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_read(h, NULL));
    WORKS(MPI_T_cvar_handle_free(&h));
    const MPI_T_cvar_handle bad[] = {none, kept};
    for (int k = 0; k < 2; k++) {
        MPI_T_cvar_handle copy = bad[k];
        about = k ? "freed handle" : "no handle";
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_read(copy, &on));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_write(copy, &on));
        IS(MPI_T_ERR_INVALID_HANDLE, MPI_T_cvar_handle_free(&copy));
    }
    about = "";
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_handle_free(NULL));
    CHECK(on == -7);
}

/* check_enabled checks that mpitrace_enabled has the same effect as MPI_Pcontrol. */
static void check_enabled(int open)
{
    int count, value = -1;
    MPI_T_cvar_handle h = cvar_handle("mpitrace_enabled", &count);
    informed("mpitrace_enabled", MPI_INT, MPI_T_SCOPE_READONLY);
    WORKS(MPI_T_cvar_read(h, &value));
    if (!open) {
        IS(MPI_T_ERR_CVAR_SET_NOT_NOW, MPI_T_cvar_write(h, &(int){1}));
        WORKS(MPI_T_cvar_handle_free(&h));
        about = "";
        return;
    }
    CHECK(value == 1);
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_write(h, &(int){2}));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_write(h, &(int){-1}));
    MPI_T_pvar_handle calls = handle_of(session, CALLS);
    unsigned long n = 0;
    WORKS(MPI_T_pvar_start(session, calls));
    for (int round = 0; round < 4; round++) {
        const int on = round % 2;
        if (round < 2)
            WORKS(MPI_T_cvar_write(h, &on));
        else
            MPI_Pcontrol(on);
        WORKS(MPI_T_cvar_read(h, &value));
        CHECK(value == on);
        MPI_Barrier(MPI_COMM_SELF); /* counted only in rounds 1 and 3 */
    }
    WORKS(MPI_T_pvar_read(session, calls, &n));
    CHECK(n >= 2 && n <= 4); /* MPI_Pcontrol may itself be counted */
    WORKS(MPI_T_pvar_handle_free(session, &calls));
    WORKS(MPI_T_cvar_handle_free(&h));
    about = "";
}

/* check_interval sets an interval, which begins slices, and sets it to off, which
 * ends that. */
static void check_interval(void)
{
    char text[8192];
    int count;
    MPI_T_cvar_handle h = cvar_handle("mpitrace_interval", &count);
    about = "mpitrace_interval";
    WORKS(MPI_T_cvar_write(h, "600s"));
    value_of("mpitrace_interval", text, sizeof text);
    CHECK(strcmp(text, "600s") == 0);
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_write(h, "1us"));
    IS(MPI_T_ERR_INVALID, MPI_T_cvar_write(h, "-3s"));
    value_of("mpitrace_interval", text, sizeof text);
    CHECK(strcmp(text, "600s") == 0);
    WORKS(MPI_T_cvar_write(h, "off"));
    value_of("mpitrace_interval", text, sizeof text);
    CHECK(strcmp(text, "off") == 0);
    WORKS(MPI_T_cvar_handle_free(&h));
    about = "";
}

int main(int argc, char **argv)
{
    int provided;
    WORKS(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    find_offered();
    WORKS(MPI_T_pvar_session_create(&session));
    check_settings(0);
    check_enabled(0);
    begin(argc, argv, 2);
    WORKS(MPI_T_pvar_session_create(&other));
    check_indices();
    check_sessions();
    check_handles();
    check_allocation();
    check_flags();
    check_categories();
    check_settings(1);
    check_cvars();
    check_enabled(1);
    check_interval();
    MPI_Finalize();
    check_enabled(0);
    check_indices();
    WORKS(MPI_T_pvar_session_free(&other));
    WORKS(MPI_T_pvar_session_free(&session));
    WORKS(MPI_T_finalize());
    return report();
}
