// A setting that cannot be applied is refused with a reason and does no harm. A value
// is checked against the variable's type and enumeration before the MPI sees it, and
// a variable is read only right after it was written. (Open MPI 4.1 crashes if other
// variables are read after MPI_Init has unloaded the components that they belonged
// to.)
//
// Open MPI declares nearly all variables of its components read-only. It takes their
// values from the environment when it registers them, which happens when MPI_T is
// opened; a component that is in use does not read its variables again. Setting the
// environment beforehand does not work: the valid values of a variable are only known
// once it is registered, and a wrong value has ended the program by then. Opening
// MPI_T twice crashes Open MPI 5.0. So these variables are set after they are
// registered and before MPI_Init, as the environment would have set them, by the
// function that MPI_T_cvar_write calls for writable variables: mca_base_var_set_value
// of libopen-pal. MPI_Init registers some variables once more (mpi_*, in 5.0) and
// takes their values from the environment again. Therefore the value is also in the
// environment until MPI_Init has returned. (Open MPI's MPI_Init changes the
// environment itself, so threads that read the environment during MPI_Init are at
// risk without this library, too.)
//
// MPICH copies text variables for MPI_T and never reads the copies. Writing such a
// variable would change what MPI_T_cvar_read returns, and nothing else.
#define _GNU_SOURCE
#include "mpit/cvars.h"

#include "base/job.h"
#include "base/loader.h"
#include "base/resolve.h"
#include "file/recording.h"
#include "objects/world.h"
#include "mpit/cvalue.h"
#include "mpit/mpit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

enum {
    MT_CVARS_REQUESTED = 256, // most lines of MPITRACE_CVAR
    MT_ENVIRONMENT = 512,     // most environment variables that are logged
    MT_VALUE = 4096,          // most bytes of a value that are logged
};

// A line of MPITRACE_CVAR.
typedef struct mt_cvar_request {
    const char *name, *value;
    bool done;     // set or refused
    bool exported; // the value is in the environment, too
    char *before;  // the value in the environment before, or NULL
} mt_cvar_request;

static struct {
    char *text; // MPITRACE_CVAR, cut into names and values
    mt_cvar_request lines[MT_CVARS_REQUESTED];
    int count;
    void *module; // to look up the MPI's functions in, if they are not in the global scope; else NULL
} requests;

static void log_variable(uint32_t origin, uint32_t scope, const char *name, const char *value, size_t length,
                         const char *why)
{
    size_t name_length = strnlen(name, MT_CVAR_NAME), why_length = strlen(why);
    mt_l_variable *v = mt_recording_begin(sizeof *v + name_length + length + why_length);
    if (!v)
        return;
    v->origin = origin;
    v->scope = scope;
    v->name_length = (uint32_t)name_length;
    v->value_length = (uint32_t)length;
    v->why_length = (uint32_t)why_length;
    char *rest = (char *)(v + 1);
    memcpy(rest, name, name_length);
    memcpy(rest + name_length, value, length);
    memcpy(rest + name_length + length, why, why_length);
    mt_recording_commit(v, MT_RECORD_VARIABLE);
}

static uint32_t scope_of(const mt_cvar *v)
{
    static const int scopes[] = {MPI_T_SCOPE_CONSTANT, MPI_T_SCOPE_READONLY, MPI_T_SCOPE_LOCAL, MPI_T_SCOPE_GROUP,
                                 MPI_T_SCOPE_GROUP_EQ, MPI_T_SCOPE_ALL,      MPI_T_SCOPE_ALL_EQ};
    for (uint32_t i = 0; i < sizeof scopes / sizeof *scopes; i++)
        if (scopes[i] == v->scope)
            return MT_SCOPE_CONSTANT + i;
    return MT_SCOPE_UNKNOWN;
}

// Refuses a line for the reason `why`. All ranks refuse it for the same reason, so
// only rank 0 prints a message; each rank logs it.
static void refuse(mt_cvar_request *a, uint32_t scope, const char *why)
{
    a->done = true;
    log_variable(MT_VARIABLE_ASKED, scope, a->name, a->value, strnlen(a->value, MT_VALUE), why);
    if (mt_job_rank_for_messages() <= 0)
        mt_log("the MPI's variable %.100s is not set to %.100s: %s", a->name, a->value, why);
}

// Finds a control variable by its name. Some MPIs describe some of their variables
// incompletely or not at all, so the fields have defaults.
static bool find(const char *name, mt_cvar *v)
{
    int n = 0;
    if (mt_pmpi.T_cvar_get_num(&n) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < n; i++) {
        char found[MT_CVAR_NAME] = "";
        int length = sizeof found, none = 0, verbosity;
        *v = (mt_cvar){.index = i, .scope = -1, .bind = MPI_T_BIND_NO_OBJECT, .items = MPI_T_ENUM_NULL};
        if (mt_pmpi.T_cvar_get_info(i, found, &length, &verbosity, &v->datatype, &v->items, NULL, &none, &v->bind,
                                  &v->scope) == MPI_SUCCESS &&
            strncmp(found, name, sizeof found) == 0)
            return true;
    }
    return false;
}

// Returns the reason why a variable cannot be set to any value, or NULL if it can be
// set.
static const char *why_not_settable(const mt_cvar *v, bool initialized)
{
    if (v->scope == MPI_T_SCOPE_CONSTANT)
        return "it is constant";
#ifdef OPEN_MPI
    if (v->scope == MPI_T_SCOPE_READONLY && initialized)
        return "it is read-only once MPI is initialized";
#else
    (void)initialized;
    if (v->scope == MPI_T_SCOPE_READONLY)
        return "it is read-only";
#endif
    if (v->bind != MPI_T_BIND_NO_OBJECT)
        return "it belongs to a communicator or another object, and none exists yet";
    if (!v->type)
        return "control variables cannot have its type";
#ifndef OPEN_MPI
    if (v->type->kind == MT_PVAR_TEXT)
        return "this MPI does not look at texts that are set through MPI_T: set it in the environment of the job";
#endif
    return NULL;
}

#ifdef OPEN_MPI
// Constants of Open MPI's mca_base_var.h, the same from 1.7 to 5.0.
enum { MT_MCA_SETTABLE = 4, MT_MCA_SOURCE_SET = 4 };

static bool name_in_environment(const char *variable, char name[MT_CVAR_NAME])
{
    return snprintf(name, MT_CVAR_NAME, "OMPI_MCA_%s", variable) < MT_CVAR_NAME;
}

static void export_value(mt_cvar_request *a, const char *value)
{
    char name[MT_CVAR_NAME];
    if (!name_in_environment(a->name, name))
        return;
    const char *before = getenv(name);
    a->before = before ? strdup(before) : NULL;
    a->exported = (!before || a->before) && setenv(name, value, 1) == 0;
}

static void restore(mt_cvar_request *a)
{
    char name[MT_CVAR_NAME];
    if (!a->exported || !name_in_environment(a->name, name))
        return;
    if (a->before)
        setenv(name, a->before, 1);
    else
        unsetenv(name);
    free(a->before);
}

static int write_registered(const mt_cvar *v, const void *value)
{
    int (*set_flag)(int, int, bool) =
        (int (*)(int, int, bool))(uintptr_t)mt_resolve_symbol("mca_base_var_set_flag", requests.module);
    int (*set_value)(int, const void *, size_t, int, const char *) =
        (int (*)(int, const void *, size_t, int, const char *))(uintptr_t)mt_resolve_symbol("mca_base_var_set_value",
                                                                                          requests.module);
    if (!set_flag || !set_value || set_flag(v->index, MT_MCA_SETTABLE, true) != 0)
        return MPI_T_ERR_CVAR_SET_NEVER;
    int rc = set_value(v->index, value, 0, MT_MCA_SOURCE_SET, NULL);
    set_flag(v->index, MT_MCA_SETTABLE, false);
    return rc == 0 ? MPI_SUCCESS : MPI_T_ERR_CVAR_SET_NOT_NOW;
}
#endif

static int write_value(const mt_cvar *v, MPI_T_cvar_handle handle, const void *value)
{
#ifdef OPEN_MPI
    if (v->scope == MPI_T_SCOPE_READONLY)
        return write_registered(v, value);
#else
    (void)v;
#endif
    return mt_pmpi.T_cvar_write(handle, value);
}

static void describe_error(char *why, int rc)
{
    const char *name = rc == MPI_T_ERR_CVAR_SET_NEVER     ? " (MPI_T_ERR_CVAR_SET_NEVER)"
                       : rc == MPI_T_ERR_CVAR_SET_NOT_NOW ? " (MPI_T_ERR_CVAR_SET_NOT_NOW)"
                                                          : "";
    snprintf(why, MT_CVAR_WHY, "the MPI refuses it with error %d%s", rc, name);
}

// Writes the value, reads it back and logs what was read. Returns false and writes
// the reason to `why` if it was not written; `later` then tells whether it may
// succeed once MPI is initialized.
static bool set(mt_cvar_request *a, const mt_cvar *v, MPI_T_cvar_handle handle, bool initialized, bool *later,
                char *why)
{
    void *value = mt_cvar_parse(v, a->value, why);
    if (!value)
        return false;
    int rc = write_value(v, handle, value);
    if (rc != MPI_SUCCESS) {
        describe_error(why, rc);
#ifdef OPEN_MPI
        // Open MPI's refusal is permanent, and the component may be unloaded later.
        *later = false;
#else
        *later = rc == MPI_T_ERR_CVAR_SET_NOT_NOW;
#endif
        free(value);
        return false;
    }
    char *text = mt_pmpi.T_cvar_read(handle, value) == MPI_SUCCESS ? mt_cvar_text(v, value) : NULL;
    const char *now = text ? text : a->value;
    log_variable(MT_VARIABLE_ASKED, scope_of(v), a->name, now, strnlen(now, MT_VALUE), "");
#ifdef OPEN_MPI
    if (!initialized)
        export_value(a, now);
#else
    (void)initialized;
#endif
    free(text);
    free(value);
    a->done = true;
    return true;
}

// Sets the variable of a line. If that is not possible before MPI_Init, the line is
// left for mt_cvars_ready to try again; after MPI_Init it is refused.
static void set_request(mt_cvar_request *a, bool initialized)
{
    mt_cvar v;
    char why[MT_CVAR_WHY];
    bool later = false;
    if (!find(a->name, &v)) {
        if (initialized)
            refuse(a, MT_SCOPE_UNKNOWN, "this MPI has no such control variable");
        return;
    }
    v.type = mt_mpit_type_of(v.datatype);
    const char *never = why_not_settable(&v, initialized);
    if (never) {
        refuse(a, scope_of(&v), never);
        return;
    }
    MPI_T_cvar_handle handle;
    int rc = mt_pmpi.T_cvar_handle_alloc(v.index, NULL, &handle, &v.count);
    if (rc != MPI_SUCCESS) {
        describe_error(why, rc);
        refuse(a, scope_of(&v), why);
        return;
    }
    bool done = set(a, &v, handle, initialized, &later, why);
    mt_pmpi.T_cvar_handle_free(&handle);
    if (!done && (initialized || !later))
        refuse(a, scope_of(&v), why);
}

// Cuts the text into lines, and each line into name and value.
static void read_requests(const char *text)
{
    requests.text = strdup(text);
    if (!requests.text)
        mt_log("no memory: the control variables in MPITRACE_CVAR are not set");
    for (char *line = requests.text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        if (!*line)
            continue;
        if (requests.count == MT_CVARS_REQUESTED) {
            mt_log("MPITRACE_CVAR has more than %d lines: the variables in the others are not set", MT_CVARS_REQUESTED);
            log_variable(MT_VARIABLE_ASKED, MT_SCOPE_UNKNOWN, line, "", 0, "MPITRACE_CVAR has too many lines");
            return;
        }
        mt_cvar_request *a = &requests.lines[requests.count++];
        char *value = strchr(line, '=');
        *a = (mt_cvar_request){.name = line, .value = value ? value + 1 : ""};
        if (value)
            *value = 0;
        if (!value || value == line)
            refuse(a, MT_SCOPE_UNKNOWN, "MPITRACE_CVAR takes lines NAME=VALUE");
    }
}

static void set_requests(bool initialized)
{
    for (int i = 0; i < requests.count; i++)
        if (!requests.lines[i].done)
            set_request(&requests.lines[i], initialized);
}

// Reports whether an environment variable, NAME=VALUE, sets a control variable of an
// MPI or of a communication library below it.
static bool sets_variable(const char *entry)
{
    static const char *const prefixes[] = {"OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "MPIR_CVAR_", "MPIR_PARAM_", "MPICH_",
                                           "I_MPI_",    "MV2_",      "MVP_",      "UCX_",       "UCC_",        "HCOLL_",
                                           "FI_",       "PSM2_",     "PSM3_"};
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(entry, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

// Logs the environment variables that set control variables, including those that
// launchers set. The programs that read the recording know which these are.
static void log_environment(void)
{
    int logged = 0, unlogged = 0;
    char why[MT_CVAR_WHY];
    for (char **e = environ; e && *e; e++) {
        const char *value = strchr(*e, '=');
        char name[MT_CVAR_NAME];
        if (!value || !sets_variable(*e))
            continue;
        if (logged == MT_ENVIRONMENT || (size_t)(value - *e) >= sizeof name) {
            unlogged++;
            continue;
        }
        memcpy(name, *e, (size_t)(value - *e));
        name[value - *e] = 0;
        size_t length = strlen(++value);
        snprintf(why, sizeof why, "%zu more characters are not recorded", length - MT_VALUE);
        log_variable(MT_VARIABLE_ENVIRONMENT, MT_SCOPE_UNKNOWN, name, value, length < MT_VALUE ? length : MT_VALUE,
                     length > MT_VALUE ? why : "");
        logged++;
    }
    if (unlogged) {
        snprintf(why, sizeof why, "%d more environment variables are not recorded", unlogged);
        log_variable(MT_VARIABLE_ENVIRONMENT, MT_SCOPE_UNKNOWN, "", "", 0, why);
    }
}

void mt_cvars_open(uint64_t caller, bool initialized)
{
    const char *text = getenv("MPITRACE_CVAR");
    if (mt_job_rank_for_messages() <= 0) // or the launcher gives no rank
        log_environment();
    if (!text || !*text)
        return;
    read_requests(text);
    if (mt_mpit_open(caller)) {
        requests.module = mt_loader_next("PMPI_Init") ? NULL : mt_resolve_module(caller);
        set_requests(initialized);
        return;
    }
    for (int i = 0; i < requests.count; i++)
        if (!requests.lines[i].done)
            refuse(&requests.lines[i], MT_SCOPE_UNKNOWN, "this MPI does not open its tool interface");
}

void mt_cvars_ready(void)
{
    set_requests(true);
#ifdef OPEN_MPI
    for (int i = requests.count - 1; i >= 0; i--) // of lines with the same name, the first has the original value
        restore(&requests.lines[i]);
#endif
    mt_resolve_release(requests.module);
    free(requests.text);
    requests.module = requests.text = NULL;
    requests.count = 0;
}
