// Open MPI's point-to-point layer ob1 sends messages eagerly up to a limit of the
// transport (BTL) that reaches the receiver: btl_<name>_eager_limit. MPI_T has these
// variables, but opening MPI_T makes MPI_Init of Open MPI 4.1 a quarter of a second
// longer, because it loads all components. So this file reads them with the functions
// that MPI_T calls: mca_base_var_find and mca_base_var_get_value of libopen-pal. Once
// MPI is initialized, only components in use still have variables.
//
// A limit is logged only if exactly one transport can be meant. The other layers (cm,
// ucx) and MPICH's ch4 leave the protocol to the network library, and have no
// variable for the limit.
#define _GNU_SOURCE
#include "mpit/eager.h"

#include "base/resolve.h"
#include "file/recording.h"
#include "record/trace.h"

#ifdef OPEN_MPI
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// The first fields of mca_base_component_t, the same from Open MPI 1.7 to 5.0.
typedef struct mt_component {
    int mca_version[3];
    char project[16];
    int project_version[3];
    char type[32];
    int type_version[3];
    char name[64];
} mt_component;

typedef int mt_mca_find(const char *project, const char *framework, const char *component, const char *variable);
typedef int mt_mca_get(int index, const void *value, int *source, const char **file);

typedef struct mt_mca_functions {
    mt_mca_find *find;
    mt_mca_get *get;
} mt_mca_functions;

typedef struct mt_eager_limit {
    const char *transport; // NULL if no transport or more than one is in use
    uint64_t bytes;
} mt_eager_limit;

static bool sends_by_ob1(void *module)
{
    const mt_component *pml = mt_resolve_variable("mca_pml_base_selected_component", module);
    return pml && strncmp(pml->type, "pml", sizeof pml->type) == 0 && strncmp(pml->name, "ob1", sizeof pml->name) == 0;
}

// Returns the limit of the transport that is in use, if exactly one of these is. Two
// names may mean the same transport and then have the same variable: in Open MPI 5,
// vader is another name of sm.
static mt_eager_limit limit_of(const mt_mca_functions *v, const char *const *transports)
{
    mt_eager_limit found = {NULL, 0};
    const size_t *first = NULL;
    for (; *transports; transports++) {
        const size_t *bytes = NULL;
        int index = v->find("opal", "btl", *transports, "eager_limit");
        if (index < 0 || v->get(index, &bytes, NULL, NULL) != 0 || !bytes || bytes == first)
            continue;
        if (first)
            return (mt_eager_limit){NULL, 0};
        first = bytes;
        found = (mt_eager_limit){*transports, *bytes};
    }
    return found;
}

static void log_limit(uint32_t path, const mt_eager_limit *l)
{
    char name[64];
    if (!l->transport)
        return;
    size_t length = (size_t)snprintf(name, sizeof name, "btl_%s_eager_limit", l->transport);
    mt_l_eagerlimit *r = mt_recording_begin(sizeof *r + length);
    if (!r)
        return;
    r->path = path;
    r->name_length = (uint32_t)length;
    r->bytes = l->bytes;
    memcpy(r + 1, name, length);
    mt_recording_commit(r, MT_RECORD_EAGER_LIMIT);
}

void mt_eager_log(void)
{
    static const char *const self[] = {"self", NULL};
    static const char *const shared_memory[] = {"sm", "vader", "smcuda", NULL};
    static const char *const network[] = {"tcp", "openib", "uct", "ofi", "usnic", "ugni", "portals4", NULL};
    if (!mt_record.trace_on)
        return;
    void *module = mt_resolve_module((uint64_t)(uintptr_t)mt_mpi.Init);
    mt_mca_functions v = {(mt_mca_find *)(uintptr_t)mt_resolve_symbol("mca_base_var_find", module),
                      (mt_mca_get *)(uintptr_t)mt_resolve_symbol("mca_base_var_get_value", module)};
    if (v.find && v.get && sends_by_ob1(module)) {
        mt_eager_limit own = limit_of(&v, self), shared = limit_of(&v, shared_memory);
        mt_eager_limit network_limit = limit_of(&v, network);
        log_limit(MT_PATH_SELF, &own);
        log_limit(MT_PATH_NODE, shared.transport ? &shared : &network_limit);
        log_limit(MT_PATH_NETWORK, &network_limit);
    }
    mt_resolve_release(module);
}
#else
void mt_eager_log(void) {}
#endif
