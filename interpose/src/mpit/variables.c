#define _GNU_SOURCE
#include "mpit/variables.h"

#include "base/resolve.h"
#include "file/recording.h"
#include "mpit/state.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MT_NAME = 512, MT_DESCRIPTION = 4096 };

// The setting MPITRACE_PVAR. Written in MPI_Init, as are the two below.
static char **patterns;
static int pattern_count;

// The setting MPITRACE_WATCH_UNEXPECTED: see unexpected.h.
static bool counts_late;
static uint64_t late_limit; // how many messages may wait

// The length of the queue of unexpected messages: in Open MPI, which has one element
// per member; and in MPICH, if it was built with this variable.
static const char *const queues[] = {"pml_ob1_unexpected_msgq_length", "unexpected_recvq_length"};

static bool is_queue(const char *name)
{
    for (size_t i = 0; i < sizeof queues / sizeof *queues; i++)
        if (strcmp(name, queues[i]) == 0)
            return true;
    return false;
}

static void read_late_limit(void)
{
    const char *text = getenv("MPITRACE_WATCH_UNEXPECTED");
    char *end = NULL;
    if (!text || !*text)
        return;
    late_limit = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    counts_late = end && !*end;
    if (!counts_late)
        mt_log("MPITRACE_WATCH_UNEXPECTED=%s is not a number of messages: late receives are not counted", text);
}

bool mt_variables_late_receives(void)
{
    return counts_late;
}

uint64_t mt_variables_late_limit(void)
{
    return late_limit;
}

void mt_variables_prepare(void)
{
    read_late_limit();
    const char *text = getenv("MPITRACE_PVAR");
    char *rest = text && *text ? strdup(text) : NULL, *pattern;
    while ((pattern = strsep(&rest, ","))) {
        char **wider = *pattern ? realloc(patterns, ((size_t)pattern_count + 1) * sizeof *wider) : NULL;
        if (!wider)
            continue;
        patterns = wider;
        patterns[pattern_count++] = pattern;
    }
}

bool mt_variables_named(void)
{
    return pattern_count > 0;
}

static const struct {
    int class;
    uint32_t as;
} classes[] = {
    {MPI_T_PVAR_CLASS_STATE, MT_PVAR_STATE},         {MPI_T_PVAR_CLASS_LEVEL, MT_PVAR_LEVEL},
    {MPI_T_PVAR_CLASS_SIZE, MT_PVAR_SIZE},           {MPI_T_PVAR_CLASS_PERCENTAGE, MT_PVAR_PERCENTAGE},
    {MPI_T_PVAR_CLASS_HIGHWATERMARK, MT_PVAR_HIGH_WATERMARK}, {MPI_T_PVAR_CLASS_LOWWATERMARK, MT_PVAR_LOW_WATERMARK},
    {MPI_T_PVAR_CLASS_COUNTER, MT_PVAR_COUNTER},     {MPI_T_PVAR_CLASS_AGGREGATE, MT_PVAR_AGGREGATE},
    {MPI_T_PVAR_CLASS_TIMER, MT_PVAR_TIMER},         {MPI_T_PVAR_CLASS_GENERIC, MT_PVAR_GENERIC},
};

static uint32_t class_of(int class)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].class == class)
            return classes[i].as;
    return 0;
}

// The properties of a variable that MPI_T returns.
typedef struct pvar_info {
    char name[MT_NAME], description[MT_DESCRIPTION];
    uint32_t class, binding;
    const mt_mpit_type *type;
    int read_only, continuous, atomic;
} pvar_info;

// Reports whether binding or starting a handle of the variable has an effect. This
// one stops Open MPI's monitoring and resets its counts.
static bool has_side_effect(const char *name)
{
    return strcmp(name, "pml_monitoring_flush") == 0;
}

// Variables of Open MPI that exist even if their component is not in use. Reading one
// then crashes the program (mtl_psm2_*) or returns memory that belongs to another
// component (osc_rdma_*). They are read only if the environment, which also has the
// values of mpirun's --mca, selects the component.
static const struct {
    const char *names;
    struct {
        const char *variable, *value;
    } needs[2];
} unreliable[] = {
    {"mtl_psm2_*", {{"OMPI_MCA_pml", "cm"}, {"OMPI_MCA_mtl", "psm2"}}},
    {"osc_rdma_*", {{"OMPI_MCA_osc", "rdma"}}},
};

static bool is_set(const char *variable, const char *value)
{
    const char *set = variable ? getenv(variable) : value;
    return set == value || (set && strcmp(set, value) == 0);
}

static bool can_be_read(const char *name)
{
    for (size_t i = 0; i < sizeof unreliable / sizeof *unreliable; i++)
        if (fnmatch(unreliable[i].names, name, 0) == 0)
            return is_set(unreliable[i].needs[0].variable, unreliable[i].needs[0].value) &&
                   is_set(unreliable[i].needs[1].variable, unreliable[i].needs[1].value);
    return true;
}

static bool get_info(int number, pvar_info *f)
{
    int name = sizeof f->name, description = sizeof f->description, verbosity = 0, class = -1, binding = -1;
    MPI_Datatype type = mt_const.datatype_null;
    MPI_T_enum items;
    memset(f, 0, sizeof *f);
    if (mt_pmpi.T_pvar_get_info(number, f->name, &name, &verbosity, &class, &type, &items, f->description, &description,
                              &binding, &f->read_only, &f->continuous, &f->atomic) != MPI_SUCCESS)
        return false;
    f->class = class_of(class);
    f->type = mt_mpit_type_of(type);
    f->binding = binding == MPI_T_BIND_NO_OBJECT  ? MT_PVAR_UNBOUND
                 : binding == MPI_T_BIND_MPI_COMM ? MT_PVAR_COMMUNICATOR
                 : binding == MPI_T_BIND_MPI_WIN  ? MT_PVAR_WINDOW
                                                  : UINT32_MAX;
    return f->class && f->type && f->name[0];
}

static bool log_variable(const mt_variable *v, const pvar_info *f)
{
    uint64_t name = strlen(f->name), description = strlen(f->description);
    mt_l_pvar *r = mt_recording_begin(sizeof *r + name + description);
    if (!r)
        return false;
    r->index = v->index;
    r->class = f->class;
    r->type = f->type->kind;
    r->binding = f->binding;
    r->flags = (f->read_only ? MT_PVAR_READ_ONLY : 0) | (f->continuous ? MT_PVAR_CONTINUOUS : 0) |
               (f->atomic ? MT_PVAR_ATOMIC : 0);
    r->name_length = (uint32_t)name;
    r->description_length = (uint32_t)description;
    memcpy(r + 1, f->name, name);
    memcpy((char *)(r + 1) + name, f->description, description);
    mt_recording_commit(r, MT_RECORD_PVAR);
    return true;
}

// Reports whether a pattern names the variable, and marks the patterns that do in
// `used`.
static bool is_named(const pvar_info *f, bool *used)
{
    bool named = false;
    for (int i = 0; i < pattern_count; i++)
        if (fnmatch(patterns[i], f->name, 0) == 0)
            named = used[i] = true;
    return named;
}

static void choose(int number, const pvar_info *f, bool named)
{
    static bool logged, logged_unreliable;
    if (!can_be_read(f->name)) {
        if (named && !logged_unreliable && mt_process.world_rank <= 0)
            mt_log("%s is not read: its value is reliable only if --mca selects its component of Open MPI "
                   "and no other",
                   f->name);
        logged_unreliable |= named;
        return;
    }
    // The queue's length is a level; Open MPI declares it a size.
    bool length = (f->class == MT_PVAR_LEVEL || f->class == MT_PVAR_SIZE) && f->type->kind <= MT_PVAR_UNSIGNED &&
                  (f->binding == MT_PVAR_UNBOUND || f->binding == MT_PVAR_COMMUNICATOR);
    bool watch = length && mt_mpit.variables.queue < 0 && counts_late && is_queue(f->name);
    if (f->binding == UINT32_MAX && named && !logged && mt_process.world_rank <= 0) {
        mt_log("%s is not read: it is bound to a kind of object that mpitrace does not follow", f->name);
        logged = true;
    }
    if (f->binding == UINT32_MAX || (!named && !watch))
        return;
    mt_variable *wider = realloc(mt_mpit.variables.list, ((size_t)mt_mpit.variables.count + 1) * sizeof *wider);
    mt_variable v = {.name = strdup(f->name), .type = f->type, .number = number, .index = (uint32_t)mt_mpit.variables.count,
                     .binding = f->binding, .continuous = f->continuous, .read = named};
    mt_mpit.variables.list = wider ? wider : mt_mpit.variables.list;
    if (!wider || !v.name || (named && !log_variable(&v, f))) {
        mt_count_lost(&mt_process.header->lost_readings, 1);
        free(v.name);
        return;
    }
    if (watch)
        mt_mpit.variables.queue = mt_mpit.variables.count;
    mt_mpit.variables.list[mt_mpit.variables.count++] = v;
}

// Goes through the MPI's variables and chooses those to read. Variables without
// information are skipped. Messages that are the same on all ranks are printed by
// rank 0 only.
void mt_variables_choose(void)
{
    mt_mpit.variables.chosen = true;
    int n = 0, readable = 0;
    bool *used = calloc((size_t)pattern_count + 1, sizeof *used);
    pvar_info *f = malloc(sizeof *f);
    if (f && used && mt_pmpi.T_pvar_get_num(&n) == MPI_SUCCESS)
        for (int i = 0; i < n; i++) {
            if (!get_info(i, f) || has_side_effect(f->name))
                continue;
            readable++;
            choose(i, f, is_named(f, used));
        }
    if (pattern_count && !readable && mt_process.world_rank <= 0)
        mt_log("MPITRACE_PVAR: this MPI has no performance variables: none are read");
    for (int i = 0; i < pattern_count && used && readable && mt_process.world_rank <= 0; i++)
        if (!used[i])
            mt_log("MPITRACE_PVAR: none of the %d performance variables of this MPI matches %s (`mpitrace "
                   "vars` lists them)", readable, patterns[i]);
    free(f);
    free(used);
}
