// Fuzzes what the library reads from its surroundings: the environment, text from
// /proc, names, and the notes of loaded files. For libFuzzer.
//
// The input consists of lines NAME=VALUE. Names that begin with a capital are
// environment variables; names that begin with a slash are files; the other names
// (host, cwd, exe, phase, module, notes, comm, rank, level, change) are values that
// the functions below read. In a value, \1 stands for a zero byte and \2 for a line
// end. Each digit of `world` is the outcome of the next call of the system or of the
// fake MPI; 0 is success.
#define _GNU_SOURCE
#include "world.h"

// The sources of the library, with the system calls of world.h. Static names that
// occur in two sources are renamed.
#define open world_open
#define mkdir world_mkdir
#define chmod world_chmod
#define stat(path, st) world_stat(path, st)
#define lstat(path, st) world_stat(path, st)
#define rename world_rename
#define symlink world_symlink
#define unlink world_unlink
#define readlink world_readlink
#define gethostname world_gethostname
#define getcwd world_getcwd
#define mmap(at, size, ...) world_mmap(size)

#include "../src/record/slice.c"
#define add stack_add
#define hash stack_hash
#include "../src/record/stack.c"
#undef add
#undef hash
#include "../src/record/modules.c"
#define depth lock_depth
#include "../src/base/lock.c"
#include "../src/base/thread_local.c"
#undef depth
#include "../src/base/clock.c"
#include "../src/mpit/cvalue.c"
#include "../src/mpit/cvars.c"
#include "../src/base/job.c"
#include "../src/file/recording_path.c"
#include "../src/lifecycle/placement.c"
#include "../src/base/procfs.c"
#include "../src/record/usage.c"
#include "../src/mpit/prof.c"
#define add sums_add
#include "../src/mpit/sums.c"
#undef add
#include "../src/record/sample.c"
#include "../src/record/state.c"
#include "../src/base/log.c"
#include "../src/base/state.c"
#include "../src/base/settings.c"
#include "../src/file/settings_log.c"
#define change settings_change
#define set settings_set
#include "../src/record/setting_change.c"
#undef change
#undef set
#define slots trace_slots
#include "../src/record/trace.c"
#undef slots

#undef open
#undef mkdir
#undef stat
#undef lstat
#undef rename
#undef symlink
#undef unlink
#undef readlink
#undef gethostname
#undef getcwd
#undef mmap

static int outcome(void);

// Replacements for the rest of the library.
_Thread_local mt_thread *mt_self;
static mt_comm comm;

// Each record has its own allocation, so that the sanitizer finds each write past its
// end.
void *mt_recording_begin(uint64_t size)
{
    mt_l_record *r = size > UINT32_MAX ? NULL : calloc(1, size);
    if (r)
        r->size = (uint32_t)size;
    return r;
}

void mt_recording_commit(void *record, uint32_t kind)
{
    ((mt_l_record *)record)->kind = kind;
    free(record);
}

const mt_call_info mt_call_infos[MT_CALL_END];
mt_l_eventsheader *mt_events_open(void)
{
    static mt_l_eventsheader events;
    return outcome() ? NULL : &events;
}
bool mt_events_in_memory(void) { return outcome(); }
const char *mt_events_path(mt_events where) { return where ? "far" : "near"; }
mt_l_chunk *mt_events_map(mt_events where, const char **why) { return *why = mt_events_path(where), NULL; }
bool mt_events_write(mt_events where, const mt_l_chunk *chunk, const char **why)
{
    *why = mt_events_path(where);
    return chunk;
}
void mt_events_remove(void) {}

static void no_site(const mt_move *move) { (void)move; }
MT_REGISTER(pending_sites_move, no_site);
void mt_row_longest(mt_row *row, uint64_t ticks) { (void)row, (void)ticks; }
static void no_variables(uint32_t slice) { (void)slice; }
MT_REGISTER(slice_ends, no_variables);
mt_comm **mt_comm_all(int *count)
{
    mt_comm **list = malloc(sizeof *list);
    if (list)
        *list = &comm;
    *count = list != NULL;
    return list;
}
int mt_comm_world_rank(const mt_comm *c, int peer) { return c->base + peer; }

mt_comm_name mt_comm_get_name(const mt_comm *c)
{
    mt_comm_name name;
    memcpy(name.text, c->name, sizeof name.text);
    return name;
}
bool mt_stderr_unchanged(void) { return true; }
void *mt_loader_next(const char *name) { return dlsym(RTLD_NEXT, name); }
void mt_thread_each(void (*visit)(void *, mt_thread *), void *argument) { (void)visit, (void)argument; }
bool mt_volume_is_own_group(const mt_comm *c, unsigned call) { return c && call; }
void mt_volume_each_vector(const mt_thread *t, void (*visit)(void *, const mt_l_vector *), void *argument)
{
    (void)t, (void)visit, (void)argument;
}

// The input, cut into names and values.
enum { LINES = 256 };
static struct {
    char *text, *names[LINES], *values[LINES];
    size_t lengths[LINES];
    int n;
    const char *outcomes;
    bool place; // while the place of the recording is looked for: all paths must be absolute
} world;

static void require(bool holds, const char *what, const char *path)
{
    if (holds)
        return;
    fprintf(stderr, "%s: %s\n", what, path);
    abort();
}

static const char *value_of(const char *name, size_t *length)
{
    for (int i = 0; i < world.n; i++)
        if (strcmp(world.names[i], name) == 0) {
            *length = world.lengths[i];
            return world.values[i];
        }
    *length = 0;
    return NULL;
}

static const char *text_of(const char *name, const char *otherwise)
{
    size_t length;
    const char *value = value_of(name, &length);
    return value ? value : otherwise;
}

// Returns the next outcome. 0 is success, also after the last digit.
static int outcome(void)
{
    int next = *world.outcomes ? *world.outcomes++ - '0' : 0;
    return next < 0 || next > 9 ? 0 : next;
}

static void check_path(const char *path)
{
    require(strlen(path) < 4200, "a path without end", path);
    require(!world.place || path[0] == '/', "not absolute", path);
}

int world_open(const char *path, int flags, ...)
{
    check_path(path);
    bool creates = flags & O_CREAT;
    require(!creates || ((flags & O_EXCL) && (flags & O_NOFOLLOW)), "a file that may be another's is written to", path);
    size_t length;
    const char *content = creates ? "" : value_of(path, &length);
    if (!content || outcome())
        return -1;
    int fd = memfd_create("world", MFD_CLOEXEC);
    if (fd >= 0 && !creates && (write(fd, content, length) < 0 || lseek(fd, 0, SEEK_SET) < 0))
        abort();
    return fd;
}

int world_mkdir(const char *path, mode_t mode)
{
    check_path(path);
    require(mode == 0777 || mode == 0700, "another mode", path);
    errno = EEXIST;
    return outcome() ? -1 : 0;
}

int world_chmod(const char *path, mode_t mode)
{
    check_path(path);
    require((mode & 0700) == 0700, "another mode", path);
    return outcome() ? -1 : 0;
}

// The outcome selects owner and mode: 0 our private directory, 1 our directory that
// all may write to, 2 another user's, 3 a file; more is an error.
int world_stat(const char *path, struct stat *st)
{
    int how = outcome();
    memset(st, 0, sizeof *st);
    errno = ENAMETOOLONG;
    if (strlen(path) >= 4096)
        return -1;
    st->st_mode = how == 3 ? S_IFREG | 0666 : S_IFDIR | (how ? 01777 : 0700);
    st->st_uid = how == 2 ? 12345 : geteuid();
    errno = ENOENT;
    return how > 3 ? -1 : 0;
}

int world_rename(const char *from, const char *to)
{
    check_path(from);
    check_path(to);
    return outcome() ? -1 : 0;
}

int world_symlink(const char *target, const char *path)
{
    check_path(path);
    require(strlen(target) < 4400, "a link without end", target);
    return outcome() ? -1 : 0;
}

int world_unlink(const char *path)
{
    check_path(path);
    return outcome() ? -1 : 0;
}

ssize_t world_readlink(const char *path, char *buffer, size_t size)
{
    (void)path;
    size_t length;
    const char *target = value_of("exe", &length);
    length = length < size ? length : size;
    if (target)
        memcpy(buffer, target, length);
    return target ? (ssize_t)length : -1;
}

// Like gethostname, it does not terminate a name that it cuts.
int world_gethostname(char *name, size_t size)
{
    strncpy(name, text_of("host", "node"), size);
    return outcome() ? -1 : 0;
}

char *world_getcwd(char *buffer, size_t size)
{
    const char *cwd = text_of("cwd", "/jobs");
    if (cwd[0] != '/' || strlen(cwd) >= size)
        return NULL;
    return strcpy(buffer, cwd);
}

// Returns the one table that stack.c maps.
void *world_mmap(size_t size)
{
    static _Atomic(mt_l_stack *) table[MT_STACK_SLOTS];
    return size > sizeof table || outcome() ? MAP_FAILED : (void *)table;
}

// An MPI with a control variable of each type, named v0, v1, …. Variables from v20 on
// have an enumeration; from v40 on its items are bits.
static const mt_mpit_type fake_types[] = {
    {"int", sizeof(int), MT_PVAR_SIGNED},
    {"unsigned int", sizeof(unsigned), MT_PVAR_UNSIGNED},
    {"unsigned long", sizeof(unsigned long), MT_PVAR_UNSIGNED},
    {"unsigned long long", sizeof(unsigned long long), MT_PVAR_UNSIGNED},
    {"MPI_Count", sizeof(MPI_Count), MT_PVAR_SIGNED},
    {"text", 1, MT_PVAR_TEXT},
    {"double", sizeof(double), MT_PVAR_DOUBLE},
    {"int32_t", 4, MT_PVAR_SIGNED},
    {"bool", sizeof(bool), MT_PVAR_UNSIGNED},
};

enum { FAKE_TYPES = sizeof fake_types / sizeof *fake_types, FAKE_VARIABLES = 60 };

// Handles of types are 1, 2, ….
const mt_mpit_type *mt_mpit_type_of(MPI_Datatype type)
{
    uintptr_t handle = (uintptr_t)type;
    return handle > 0 && handle <= FAKE_TYPES ? &fake_types[handle - 1] : NULL;
}

static int fake_get_num(int *n)
{
    *n = FAKE_VARIABLES;
    return outcome() ? MPI_T_ERR_NOT_INITIALIZED : MPI_SUCCESS;
}

static int fake_get_info(int index, char *name, int *length, int *verbosity, MPI_Datatype *datatype, MPI_T_enum *items,
                         char *text, int *text_length, int *bind, int *scope)
{
    (void)text, (void)text_length, (void)verbosity;
    int type = index % 20;
    snprintf(name, (size_t)*length, "v%d", index);
    *datatype = type < FAKE_TYPES ? (MPI_Datatype)(uintptr_t)(type + 1) : NULL;
    *items = index < 20 ? MPI_T_ENUM_NULL : (MPI_T_enum)(intptr_t)(index / 20);
    *bind = index == 59 ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT;
    *scope = outcome();
    return MPI_SUCCESS;
}

static int fake_enum_info(MPI_T_enum items, int *n, char *name, int *length)
{
    (void)items, (void)name, (void)length;
    *n = 3;
    return MPI_SUCCESS;
}

static int fake_enum_item(MPI_T_enum items, int index, int *value, char *name, int *length)
{
    *value = (intptr_t)items == 2 ? 1 << index : index - 1;
    snprintf(name, (size_t)*length, "i%d|item%d", index, index);
    return MPI_SUCCESS;
}

// The size of each variable's value. fake_write and fake_read use all of it, so that
// a buffer that is too small is found.
static size_t fake_sizes[FAKE_VARIABLES];

static int fake_alloc(int index, void *object, MPI_T_cvar_handle *handle, int *count)
{
    (void)object;
    int how = outcome();
    *count = index % 20 == 5 ? 40 : how ? how : 1;
    fake_sizes[index] = (size_t)*count * fake_types[index % 20].size;
    *handle = (MPI_T_cvar_handle)(intptr_t)(index + 1);
    return how == 9 ? MPI_T_ERR_OUT_OF_HANDLES : MPI_SUCCESS;
}

static int fake_free(MPI_T_cvar_handle *handle)
{
    *handle = NULL;
    return MPI_SUCCESS;
}

static char fake_value[4096];

static int fake_write(MPI_T_cvar_handle handle, const void *value)
{
    memcpy(fake_value, value, fake_sizes[(intptr_t)handle - 1]);
    return outcome() ? MPI_T_ERR_CVAR_SET_NOT_NOW : MPI_SUCCESS;
}

static int fake_read(MPI_T_cvar_handle handle, void *value)
{
    memcpy(value, fake_value, fake_sizes[(intptr_t)handle - 1]);
    return outcome() ? MPI_T_ERR_INVALID : MPI_SUCCESS;
}

static int fake_set_flag(int index, int flag, bool set) { return index < 0 || flag != 4 || !set ? -1 : 0; }

static int fake_set_value(int index, const void *value, size_t size, int source, const char *file)
{
    (void)size, (void)source, (void)file;
    memcpy(fake_value, value, fake_sizes[index]);
    return outcome();
}

mt_pmpi_table mt_pmpi = {
    .T_enum_get_info = fake_enum_info, .T_enum_get_item = fake_enum_item,   .T_cvar_get_num = fake_get_num,
    .T_cvar_get_info = fake_get_info,  .T_cvar_handle_alloc = fake_alloc,   .T_cvar_handle_free = fake_free,
    .T_cvar_read = fake_read,          .T_cvar_write = fake_write,
};

bool mt_mpit_open(uint64_t caller) { return caller == 0 && !outcome(); }
void *mt_resolve_module(uint64_t caller) { return (void *)(uintptr_t)caller; }
void mt_resolve_release(void *module) { (void)module; }

void *mt_resolve_symbol(const char *name, void *module)
{
    (void)module;
    return strstr(name, "flag") ? (void *)(uintptr_t)fake_set_flag : (void *)(uintptr_t)fake_set_value;
}

// Cuts the input into lines, and each line into name and value.
static void read_input(const uint8_t *data, size_t size)
{
    memset(&world, 0, sizeof world);
    world.text = malloc(size + 1);
    memcpy(world.text, data, size);
    world.text[size] = 0;
    for (char *line = world.text, *next; line && world.n < LINES; line = next) {
        size_t length = strcspn(line, "\n"), name = strcspn(line, "=\n");
        next = line + length < world.text + size ? line + length + 1 : NULL;
        line[length] = 0;
        if (name == 0 || name >= length)
            continue;
        line[name] = 0;
        char *value = line + name + 1;
        for (char *c = value; *c; c++)
            *c = *c == 1 ? 0x7f : *c == 2 ? '\n' : *c; // \1 becomes a zero byte later, once the length is known
        world.names[world.n] = line;
        world.values[world.n] = value;
        world.lengths[world.n++] = length - name - 1;
    }
    world.outcomes = text_of("world", "");
}

static void set_environment(void)
{
    clearenv();
    for (int i = 0; i < world.n; i++)
        if (world.names[i][0] >= 'A' && world.names[i][0] <= 'Z')
            setenv(world.names[i], world.values[i], 1);
    setenv("MPITRACE_QUIET", "1", text_of("MPITRACE_SAID", NULL) == NULL);
}

// Visits a loaded file with the input's notes. Its memory and its name are allocated
// exactly, so that reading past them is found.
static void fuzz_module(void)
{
    size_t length;
    const char *notes = value_of("notes", &length);
    char *memory = malloc(length + 1), *path = strdup(text_of("module", ""));
    for (size_t i = 0; i < length; i++)
        memory[i] = notes[i] == 0x7f ? 0 : notes[i];
    memory = realloc(memory, length ? length : 1);
    ElfW(Phdr) segments[] = {
        {.p_type = PT_LOAD, .p_flags = PF_R, .p_memsz = length},
        {.p_type = PT_NOTE, .p_memsz = length + (size_t)outcome()},
    };
    struct dl_phdr_info info = {.dlpi_addr = (uintptr_t)memory, .dlpi_name = path, .dlpi_phdr = segments,
                                .dlpi_phnum = 2};
    atomic_store(&known_count, 0);
    visit_module(&info, sizeof info, &(module_scan){.adds = true});
    mt_modules_add_site((uintptr_t)memory);
    free(memory);
    free(path);
}

static void fuzz_recording_path(void)
{
    mt_recording_path p = {0};
    world.place = true;
    while (mt_recording_path_next(&p)) {
        int fd = mt_recording_path_create(&p);
        if (fd < 0)
            continue;
        require(strlen(p.path) < sizeof p.path && !strchr(p.name, '/'), "a path", p.path);
        p.in_tmpdir = true;
        mt_recording_path_note(&p);
        mt_recording_path_deliver(&p, fd, 0);
        close(fd);
    }
    world.place = false;
}

static void fuzz_job(void)
{
    char name[64];
    int rank = -1, size;
    *job_name = 0;
    mt_job_name(name, sizeof name);
    require(strlen(name) < sizeof name, "a job's name", name);
    require(!mt_job_rank(&rank, &size) || rank >= 0, "a rank", name);
    require(mt_job_local_rank() >= -1 && mt_job_local_size() >= -1, "a local rank", name);
    mt_job_directory(name, sizeof name);
    require(strlen(name) < sizeof name, "a directory's name", name);
}

// Reads and changes the settings as in a process that has just started, and resets
// the state afterwards.
static void fuzz_settings(void)
{
    mt_l_header header = {.init_end = {1, 1, 1}, .start = {0, 0, 0}};
    mt_process.state = MT_ON;
    atomic_store(&mt_process.hot.flags, 0);
    mt_process.world_rank = 0;
    mt_process.world_size = 1;
    mt_process.header = &header;
    memset(rejected, 0, sizeof rejected);
    mt_settings_log();
    memset(&interval, 0, sizeof interval);
    mt_store(&interval_end, UINT64_MAX);
    mt_record.stacks_on = false;
    mt_sample_open();
    require(header.timing <= MT_TIMING_OFF && header.receives <= MT_RECEIVES_UNFOLLOWED, "a setting", "");
    mt_stack_open();
    require(!mt_record.stacks_on || (depth_wanted > 1 && depth_wanted <= MT_MAX_STACK_DEPTH), "a depth", "");
    mt_trace_open();
    mt_trace_rank(atoi(text_of("rank", "3")));
    mt_slice_open();
    mt_slice_open_intervals();
    if (interval.length)
        mt_store(&interval_end, 0); // the interval has passed
    mt_slice_check_interval();
    mpitrace_begin_phase(text_of("phase", ""));
    mt_slice_pcontrol(atoi(text_of("level", "0")));
    mpitrace_change_setting("interval", text_of("change", ""));
    free(trace_slots);
    trace_slots = NULL;
    mt_record.trace_on = stopped = false;
    slice_names = NULL;
    for (uint32_t i = 0; i < table.count; i++)
        free(table.names[i]);
    memset(table.index, 0, 2 * (size_t)table.capacity * sizeof *table.index);
    table.count = 0;
}

static void fuzz_placement(void)
{
    mt_l_placement node = {0};
    read_node(&node);
    read_groups(&node);
    require(node.node_cores <= node.node_processors && node.node_sockets <= node.node_processors, "a node", "");
    mt_placement_log();
}

static void fuzz_variables(void)
{
    requests.module = NULL;
    mt_cvars_open(0, outcome());
    mt_cvars_ready();
    require(!requests.text && requests.count == 0, "lines that are left", "");
}

static void fuzz_prof(void)
{
    memset(&comm, 0, sizeof comm);
    comm.size = comm.peers = comm.stride = 1;
    strncpy(comm.name, text_of("comm", ""), sizeof comm.name - 1);
    mt_prof_write();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_input(data, size);
    set_environment();
    fuzz_recording_path();
    fuzz_job();
    fuzz_settings();
    fuzz_placement();
    fuzz_variables();
    fuzz_module();
    fuzz_prof();
    free(world.text);
    return 0;
}
