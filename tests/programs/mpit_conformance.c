/* Tests the variables that the library offers against the Standard's tool interface
 * (2 ranks): attributes, sessions, handles, strings, constant indices, when the interface
 * is open. mpit_errors tests errors, mpit_values counts, mpit_now current values. */
#include "mpit.h"

enum { NAMES = 4096 };

static MPI_T_pvar_session session;

/* closed checks that no function works before the program has initialized the
 * interface, or after it has finalized it. */
static void closed(void)
{
    int n = 0, i = 0, number[4];
    char text[64];
    MPI_Datatype type;
    MPI_T_enum items;
    MPI_T_cvar_handle cvar = MPI_T_CVAR_HANDLE_NULL;
    MPI_T_pvar_session none = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle pvar = MPI_T_PVAR_HANDLE_NULL;
    const int code = MPI_T_ERR_NOT_INITIALIZED;
    IS(code, MPI_T_cvar_get_num(&n));
    IS(code, MPI_T_cvar_get_info(0, NULL, NULL, &i, &type, &items, NULL, NULL, &i, &i));
    IS(code, MPI_T_cvar_get_index("mpitrace_enabled", &i));
    IS(code, MPI_T_cvar_handle_alloc(0, NULL, &cvar, &n));
    IS(code, MPI_T_cvar_handle_free(&cvar));
    IS(code, MPI_T_cvar_read(cvar, text));
    IS(code, MPI_T_cvar_write(cvar, text));
    IS(code, MPI_T_pvar_get_num(&n));
    IS(code, MPI_T_pvar_get_info(0, NULL, NULL, &i, &i, &type, &items, NULL, NULL, &i, &i, &i, &i));
    IS(code, MPI_T_pvar_get_index("mpitrace_calls", MPI_T_PVAR_CLASS_COUNTER, &i));
    IS(code, MPI_T_pvar_session_create(&none));
    IS(code, MPI_T_pvar_session_free(&none));
    IS(code, MPI_T_pvar_handle_alloc(none, 0, NULL, &pvar, &n));
    IS(code, MPI_T_pvar_handle_free(none, &pvar));
    IS(code, MPI_T_pvar_start(none, pvar));
    IS(code, MPI_T_pvar_stop(none, pvar));
    IS(code, MPI_T_pvar_read(none, pvar, text));
    IS(code, MPI_T_pvar_write(none, pvar, text));
    IS(code, MPI_T_pvar_reset(none, pvar));
    IS(code, MPI_T_pvar_readreset(none, pvar, text));
    IS(code, MPI_T_category_get_num(&n));
    IS(code, MPI_T_category_get_info(0, NULL, NULL, NULL, NULL, &i, &i, &i));
    IS(code, MPI_T_category_get_index("mpitrace", &i));
    IS(code, MPI_T_category_get_cvars(0, 4, number));
    IS(code, MPI_T_category_get_pvars(0, 4, number));
    IS(code, MPI_T_category_get_categories(0, 4, number));
    IS(code, MPI_T_category_changed(&i));
    IS(code, MPI_T_finalize());
}

/* names holds the name at each index as it was first seen. The name at an index
 * never changes. */
typedef struct names {
    const char *kind;
    int (*count)(int *);
    int (*name)(int, char *);
    int (*find)(const char *, int);
    int n;
    char *seen[NAMES];
} names;

static int cvar_name(int i, char *name)
{
    int length = 256;
    return MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
}

static int any_pvar_name(int i, char *name)
{
    return pvar_name(i, name);
}

static int category_name(int i, char *name)
{
    int length = 256;
    return MPI_T_category_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL);
}

/* find_cvar returns the index at which a name is found. That may differ from
 * the index at which it was seen, if several variables have the name. */
static int find_cvar(const char *name, int seen)
{
    int i = seen;
    return MPI_T_cvar_get_index(name, &i) == MPI_SUCCESS ? i : -1;
}

static int find_pvar(const char *name, int seen)
{
    int i = seen, class = 0;
    MPI_T_pvar_get_info(seen, NULL, NULL, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    return MPI_T_pvar_get_index(name, class, &i) == MPI_SUCCESS ? i : -1;
}

static int find_category(const char *name, int seen)
{
    int i = seen;
    return MPI_T_category_get_index(name, &i) == MPI_SUCCESS ? i : -1;
}

static names tables[] = {
    {"control variables", MPI_T_cvar_get_num, cvar_name, find_cvar, 0, {0}},
    {"performance variables", MPI_T_pvar_get_num, any_pvar_name, find_pvar, 0, {0}},
    {"categories", MPI_T_category_get_num, category_name, find_category, 0, {0}},
};

/* Variables that the MPI has unloaded since have no name any more; ours always
 * have one. */
static void same_indices(void)
{
    for (size_t k = 0; k < sizeof tables / sizeof *tables; k++) {
        names *t = &tables[k];
        int n = -1;
        about = t->kind;
        WORKS(t->count(&n));
        CHECK(n >= t->n && n <= NAMES);
        for (int i = 0; i < n && i < NAMES; i++) {
            char name[256] = "";
            if (t->name(i, name) != MPI_SUCCESS)
                continue;
            if (!t->seen[i])
                t->seen[i] = strdup(name);
            about = t->seen[i];
            CHECK(strcmp(t->seen[i], name) == 0);
            if (strncmp(name, "mpitrace", 8) == 0)
                CHECK(t->find(name, i) == i);
        }
        t->n = n;
    }
    about = "";
}

/* informed checks that each of our variables exists, behind all those that the MPI
 * had, with the right attributes. */
static void informed(void)
{
    char text[2048];
    int first = 1 << 30;
    for (int v = 0; v < OFFERED; v++) {
        const offered *o = &all_offered[v];
        int i = offered_index[v], length = 256, described = sizeof text, verbosity = -1, class = -1, bound = -1,
            read_only = -1, continuous = -1, atomic = -1;
        char name[256] = "";
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum items = MPI_T_ENUM_NULL;
        about = o->name;
        first = i < first ? i : first;
        WORKS(MPI_T_pvar_get_info(i, name, &length, &verbosity, &class, &type, &items, text, &described, &bound,
                                  &read_only, &continuous, &atomic));
        CHECK(strcmp(name, o->name) == 0 && length == (int)strlen(o->name) + 1);
        CHECK(strlen(text) > 5 && described == (int)strlen(text) + 1);
        CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
        CHECK(class == o->class && bound == o->bound && items == MPI_T_ENUM_NULL);
        CHECK(type == (o->type == 'u' ? MPI_UNSIGNED_LONG : o->type == 'd' ? MPI_DOUBLE : MPI_CHAR));
        CHECK(read_only == o->read_only && continuous == o->continuous);
        CHECK(o->atomic < 0 ? atomic == 0 || atomic == 1 : atomic == o->atomic);
        /* Each output argument may be NULL. */
        WORKS(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        WORKS(MPI_T_pvar_get_info(i, name, &length, NULL, &class, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        int found = -1;
        WORKS(MPI_T_pvar_get_index(o->name, o->class, &found));
        WORKS(pvar_name(found, name)); /* may be the MPI's own, which comes first */
        CHECK(found <= i && strcmp(name, o->name) == 0);
    }
    about = "";
    for (int v = 0; v < OFFERED; v++) /* their indices are consecutive */
        CHECK(offered_index[v] >= first && offered_index[v] < first + OFFERED);
}

/* strings_of checks the Standard's convention for strings, for a name and for a
 * description. */
static void strings_of(int i, const char *whole, int described)
{
    char text[2048];
    const int n = (int)strlen(whole);
    for (int room = 0; room <= n + 2; room++) {
        int length = room, other = 0;
        memset(text, '#', sizeof text);
        if (described)
            WORKS(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, text, &length, NULL, NULL, NULL, NULL));
        else
            WORKS(MPI_T_pvar_get_info(i, text, &length, NULL, NULL, NULL, NULL, NULL, &other, NULL, NULL, NULL, NULL));
        const int kept = room == 0 ? -1 : room - 1 < n ? room - 1 : n;
        CHECK(length == n + 1);
        CHECK(kept < 0 || (memcmp(text, whole, (size_t)kept) == 0 && text[kept] == 0));
        CHECK(text[kept + 1] == '#');
    }
    int length = 100;
    if (described)
        WORKS(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &length, NULL, NULL, NULL, NULL));
    else
        WORKS(MPI_T_pvar_get_info(i, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == n + 1);
    memset(text, '#', sizeof text);
    if (described)
        WORKS(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, text, NULL, NULL, NULL, NULL, NULL));
    else
        WORKS(MPI_T_pvar_get_info(i, text, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(text[0] == '#');
}

static void strings(void)
{
    for (int v = 0; v < OFFERED; v++) {
        char text[2048] = "";
        int length = sizeof text, i = offered_index[v];
        about = all_offered[v].name;
        strings_of(i, all_offered[v].name, 0);
        WORKS(MPI_T_pvar_get_info(i, NULL, NULL, NULL, NULL, NULL, NULL, text, &length, NULL, NULL, NULL, NULL));
        strings_of(i, text, 1);
    }
    about = "";
}

/* categories checks that each of our variables is once in our category, and that
 * our category is in no other. */
static void categories(void)
{
    int ours = -1, n = 0, cvars = -1, pvars = -1, inner = -1, length = 256, described = 1024, stamp = -1, later = -2;
    char name[256] = "", text[1024] = "";
    enum { MOST = 200, UNTOUCHED = -77, SETTINGS = 20 };
    int members[MOST];
    WORKS(MPI_T_category_changed(&stamp));
    WORKS(MPI_T_category_get_num(&n));
    WORKS(MPI_T_category_get_index("mpitrace", &ours));
    WORKS(MPI_T_category_get_info(ours, name, &length, text, &described, &cvars, &pvars, &inner));
    CHECK(strcmp(name, "mpitrace") == 0 && length == 9 && strlen(text) > 5 && described == (int)strlen(text) + 1);
    CHECK(cvars == SETTINGS && pvars == OFFERED && inner == 0);
    for (int room = 0; room <= pvars + 1; room++) {
        int seen[OFFERED] = {0};
        for (int i = 0; i < MOST; i++)
            members[i] = UNTOUCHED;
        WORKS(MPI_T_category_get_pvars(ours, room, members));
        for (int i = 0; i < MOST; i++) {
            if (i >= room || i >= pvars) {
                CHECK(members[i] == UNTOUCHED);
                continue;
            }
            for (int v = 0; v < OFFERED; v++)
                seen[v] += offered_index[v] == members[i];
        }
        int all = 0;
        for (int v = 0; v < OFFERED; v++)
            all += seen[v], CHECK(seen[v] <= 1);
        CHECK(all == (room < pvars ? room : pvars));
    }
    memset(members, -1, sizeof members);
    WORKS(MPI_T_category_get_cvars(ours, MOST, members));
    for (int i = 0; i < SETTINGS; i++)
        CHECK(cvar_name(members[i], name) == MPI_SUCCESS && strncmp(name, "mpitrace_", 9) == 0);
    CHECK(members[SETTINGS] == -1);
    WORKS(MPI_T_category_get_categories(ours, MOST, members));
    for (int c = 0; c < n; c++) {
        int within = 0;
        if (MPI_T_category_get_info(c, NULL, NULL, NULL, NULL, NULL, NULL, &within) != MPI_SUCCESS || within > MOST)
            continue;
        WORKS(MPI_T_category_get_categories(c, within, members));
        for (int i = 0; i < within; i++)
            CHECK(members[i] != ours);
    }
    WORKS(MPI_T_category_changed(&later));
    CHECK(later == stamp);
}

/* handles binds each variable to each kind of object, and checks the number of
 * elements. */
static void handles(void)
{
    MPI_Comm comms[4] = {MPI_COMM_WORLD, MPI_COMM_SELF, reversed(), MPI_COMM_NULL};
    const int members[4] = {2, 1, 2, 1};
    MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 1 - world_rank, 5, &comms[3]);
    for (int v = 0; v < OFFERED; v++) {
        about = all_offered[v].name;
        for (int c = 0; c < 4; c++) {
            MPI_T_pvar_handle a = MPI_T_PVAR_HANDLE_NULL, b = MPI_T_PVAR_HANDLE_NULL;
            int count = -1, again = -1, want = v == FLUSH ? 0 : v < OPERATIONS ? members[c] : 1;
            unsigned long value[3] = {1, 1, 7};
            MPI_Comm where = comms[c]; /* read when the handle is allocated, not later */
            WORKS(MPI_T_pvar_handle_alloc(session, offered_index[v], &where, &a, &count));
            memset(&where, 0x5a, sizeof where);
            WORKS(MPI_T_pvar_handle_alloc(session, offered_index[v], (void *)(intptr_t)comms[c], &b, &again));
            CHECK(a != MPI_T_PVAR_HANDLE_NULL && b != MPI_T_PVAR_HANDLE_NULL && a != b && a != MPI_T_PVAR_ALL_HANDLES);
            CHECK(count == want && again == want);
            WORKS(MPI_T_pvar_read(session, a, value));
            if (all_offered[v].type != 'c')
                CHECK(value[0] == 0 && value[want] == (want == 1 ? 1 : 7));
            WORKS(MPI_T_pvar_handle_free(session, &b));
            WORKS(MPI_T_pvar_read(session, a, value));
            WORKS(MPI_T_pvar_handle_free(session, &a));
            CHECK(a == MPI_T_PVAR_HANDLE_NULL && b == MPI_T_PVAR_HANDLE_NULL);
        }
    }
    about = "";
    MPI_Comm_free(&comms[2]);
    MPI_Comm_free(&comms[3]);
}

/* Before MPI_Init, variables of the process can be bound, and those of
 * communicators cannot. */
static void before_init(MPI_T_pvar_handle *calls)
{
    for (int v = 0; v < OFFERED; v++) {
        MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
        int count = -1;
        union {
            unsigned long n;
            double d;
        } value = {.n = 7};
        about = all_offered[v].name;
        if (all_offered[v].bound != MPI_T_BIND_NO_OBJECT) {
            CHECK(MPI_T_pvar_handle_alloc(session, offered_index[v], NULL, &h, &count) != MPI_SUCCESS);
            continue;
        }
        WORKS(MPI_T_pvar_handle_alloc(session, offered_index[v], NULL, &h, &count));
        CHECK(count == 1);
        if (!all_offered[v].continuous)
            WORKS(MPI_T_pvar_start(session, h));
        WORKS(MPI_T_pvar_read(session, h, &value));
        CHECK(all_offered[v].type == 'd' ? value.d == 0 : value.n == 0);
        WORKS(MPI_T_pvar_reset(session, h));
        WORKS(MPI_T_pvar_handle_free(session, &h));
    }
    about = "";
    int count = -1;
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[CALLS], NULL, calls, &count));
    WORKS(MPI_T_pvar_start(session, *calls));
}

/* After MPI_Finalize, counts stay as they were. All functions still work,
 * except binding to a communicator. */
static void after_finalize(MPI_T_pvar_handle calls, MPI_T_pvar_handle sent, unsigned long before)
{
    unsigned long n = 0, two[2] = {0, 0};
    int count = -1;
    MPI_T_pvar_handle h = MPI_T_PVAR_HANDLE_NULL;
    WORKS(MPI_T_pvar_read(session, calls, &n));
    CHECK(n == before || n == before + 1); /* MPI_Finalize itself may be counted */
    WORKS(MPI_T_pvar_read(session, sent, two));
    CHECK(two[world_rank] == 0 && two[1 - world_rank] == 3);
    WORKS(MPI_T_pvar_stop(session, sent));
    WORKS(MPI_T_pvar_start(session, sent));
    WORKS(MPI_T_pvar_readreset(session, sent, two));
    CHECK(two[1 - world_rank] == 3);
    WORKS(MPI_T_pvar_read(session, sent, two));
    CHECK(two[1 - world_rank] == 0);
    WORKS(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[CALLS], NULL, &h, &count));
    WORKS(MPI_T_pvar_read(session, h, &n));
    CHECK(n == 0);
    WORKS(MPI_T_pvar_handle_free(session, &h));
    MPI_Comm world = MPI_COMM_WORLD;
    CHECK(MPI_T_pvar_handle_alloc(session, offered_index[ARRAYS], &world, &h, &count) != MPI_SUCCESS);
    same_indices();
    informed();
}

/* counted checks that only the last MPI_T_finalize closes the interface, and that
 * sessions and handles remain valid until then. */
static void counted(MPI_T_pvar_handle calls)
{
    int provided = -1, n = 0;
    unsigned long value = 0;
    for (int i = 0; i < 3; i++)
        WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE);
    for (int i = 0; i < 3; i++)
        WORKS(MPI_T_finalize());
    WORKS(MPI_T_pvar_get_num(&n));
    WORKS(MPI_T_pvar_read(session, calls, &value));
    CHECK(n >= OFFERED && value > 0);
}

static void close_and_open(void)
{
    int provided;
    WORKS(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    WORKS(MPI_T_finalize());
    closed();
    WORKS(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided));
    same_indices();
    find_offered();
    WORKS(MPI_T_pvar_session_create(&session));
}

/* count_calls checks that calls are counted from the end of MPI_Init. */
static void count_calls(MPI_T_pvar_handle calls)
{
    unsigned long from = 0, to = 0;
    WORKS(MPI_T_pvar_read(session, calls, &from));
    CHECK(from <= 1); /* MPI_Init itself may be counted */
    for (int i = 0; i < 5; i++)
        MPI_Barrier(MPI_COMM_WORLD);
    WORKS(MPI_T_pvar_read(session, calls, &to));
    CHECK(to == from + 5);
}

int main(int argc, char **argv)
{
    int provided = -1, count = -1;
    unsigned long before = 0;
    MPI_T_pvar_handle calls, sent;
    closed();
    if (!WORKS(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided)))
        return report();
    same_indices();
    find_offered();
    WORKS(MPI_T_pvar_session_create(&session));
    CHECK(session != MPI_T_PVAR_SESSION_NULL);
    informed();
    before_init(&calls);
    begin(argc, argv, 2);
    same_indices();
    find_offered();
    count_calls(calls);
    counted(calls);
    informed();
    strings();
    categories();
    handles();
    close_and_open();
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[CALLS], NULL, &calls, &count));
    WORKS(MPI_T_pvar_start(session, calls));
    MPI_Comm world = MPI_COMM_WORLD;
    WORKS(MPI_T_pvar_handle_alloc(session, offered_index[ARRAYS], &world, &sent, &count));
    WORKS(MPI_T_pvar_start(session, sent));
    for (int i = 0; i < 3; i++) {
        char out = 0, in;
        const int other = 1 - world_rank;
        MPI_Sendrecv(&out, 1, MPI_CHAR, other, 0, &in, 1, MPI_CHAR, other, 0, world, MPI_STATUS_IGNORE);
    }
    WORKS(MPI_T_pvar_read(session, calls, &before));
    CHECK(before == 3);
    MPI_Finalize();
    after_finalize(calls, sent, before);
    WORKS(MPI_T_pvar_handle_free(session, &sent));
    WORKS(MPI_T_pvar_session_free(&session));
    WORKS(MPI_T_finalize());
    closed();
    return report();
}
