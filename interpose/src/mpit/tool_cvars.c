// Our own control variables: the settings of the process, and mpitrace_enabled, which
// is 1 while calls are recorded.
#include "base/lock.h"
#include "base/settings.h"
#include "record/setting_change.h"
#include "record/slice.h"
#include "objects/handles.h"
#include "mpit/mpit.h"
#include "mpit/tool.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MT_ENABLED = MT_SETTINGS_COUNT, MT_CVAR_NAME = 64, MT_CVAR_TEXT = 64 };

typedef struct cvar_handle {
    uint64_t number;
    int variable;
    int count; // 1; of a text, its bytes
} cvar_handle;

static mt_handles handles; // under MT_LOCK_TOOL_CVARS

// Writes the name of a variable: mpitrace_ and the setting's name, with _ for -.
static void name_of(int n, char *name)
{
    snprintf(name, MT_CVAR_NAME, "mpitrace_%s", n == MT_ENABLED ? "enabled" : mt_settings[n].name);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : *c;
}

// The variables that can be written accept only some values (an interval, 0 or 1) and
// refuse others. A writable scope would promise tools that any value of the type is
// accepted. Therefore their scope is read-only; MPI_T_cvar_write works nevertheless.
static int scope_of(int n)
{
    bool changes = n == MT_ENABLED || mt_setting_is_changeable((mt_setting)n);
    return changes ? MPI_T_SCOPE_READONLY : MPI_T_SCOPE_CONSTANT;
}

MT_EXPORT int MPI_T_cvar_get_num(int *num_cvar)
{
    MT_TOOL_ENTER(T_cvar_get_num(num_cvar));
    if (!num_cvar)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_cvar_get_num(num_cvar);
    if (rc == MPI_SUCCESS && num_cvar)
        *num_cvar = mt_tool_count(MT_TOOL_CVARS, *num_cvar);
    return rc;
}

MT_EXPORT int MPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                                  MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    uint64_t site = (uint64_t)(uintptr_t)__builtin_return_address(0);
    MT_TOOL_ENTER(T_cvar_get_info(cvar_index, name, name_len, verbosity, datatype, enumtype, desc, desc_len, bind,
                                  scope));
    int own = mt_tool_own(MT_TOOL_CVARS, cvar_index);
    if (!mt_tool_has(MT_TOOL_CVARS, cvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (own < 0)
        return mt_pmpi.T_cvar_get_info(mt_tool_library(MT_TOOL_CVARS, cvar_index), name, name_len, verbosity, datatype,
                                       enumtype, desc, desc_len, bind, scope);
    char text[MT_CVAR_NAME];
    name_of(own, text);
    mt_tool_text(text, name, name_len);
    mt_tool_text(own == MT_ENABLED ? "whether MPI calls are recorded now: 1 or 0" : mt_settings[own].what, desc,
                 desc_len);
    bool basic = own == MT_ENABLED || mt_setting_is_changeable((mt_setting)own);
    MT_TOOL_STORE(verbosity, basic ? MPI_T_VERBOSITY_USER_BASIC : MPI_T_VERBOSITY_USER_DETAIL);
    MT_TOOL_STORE(datatype, mt_mpit_handle_of(own == MT_ENABLED ? "int" : "text", site));
    MT_TOOL_STORE(enumtype, MPI_T_ENUM_NULL);
    MT_TOOL_STORE(bind, MPI_T_BIND_NO_OBJECT);
    MT_TOOL_STORE(scope, scope_of(own));
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    MT_TOOL_ENTER(T_cvar_get_index(name, cvar_index));
    if (!name || !cvar_index)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_cvar_get_index(name, cvar_index);
    if (rc == MPI_SUCCESS) {
        *cvar_index = mt_tool_index_of_library(MT_TOOL_CVARS, *cvar_index);
        return rc;
    }
    for (int i = 0; i < MT_TOOL_OWN_CVARS; i++) {
        char own[MT_CVAR_NAME];
        name_of(i, own);
        if (strcmp(name, own) == 0) {
            *cvar_index = mt_tool_index_of_own(MT_TOOL_CVARS, i);
            return MPI_SUCCESS;
        }
    }
    return rc;
}

// Returns the bytes of a text with its terminator. Texts that can change get at least
// MT_CVAR_TEXT bytes.
static int text_size(int n)
{
    int size = (int)mt_setting_current((mt_setting)n, NULL, 0) + 1;
    return size < MT_CVAR_TEXT ? MT_CVAR_TEXT : size;
}

MT_EXPORT int MPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    MT_TOOL_ENTER(T_cvar_handle_alloc(cvar_index, obj_handle, handle, count));
    int own = mt_tool_own(MT_TOOL_CVARS, cvar_index);
    if (!mt_tool_has(MT_TOOL_CVARS, cvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (own < 0)
        return mt_pmpi.T_cvar_handle_alloc(mt_tool_library(MT_TOOL_CVARS, cvar_index), obj_handle, handle, count);
    if (!handle || !count)
        return MPI_T_ERR_INVALID;
    int saved = errno;
    mt_lock(MT_LOCK_TOOL_CVARS);
    cvar_handle *h = mt_handles_reserve(&handles) ? malloc(sizeof *h) : NULL;
    if (h) {
        *h = (cvar_handle){mt_tool_new_handle(), own, own == MT_ENABLED ? 1 : text_size(own)};
        mt_handles_put(&handles, h->number, h);
        *handle = (MPI_T_cvar_handle)(uintptr_t)h->number;
        *count = h->count;
    }
    mt_unlock(MT_LOCK_TOOL_CVARS);
    errno = saved;
    return h ? MPI_SUCCESS : MPI_T_ERR_OUT_OF_HANDLES;
}

MT_EXPORT int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    MT_TOOL_ENTER(T_cvar_handle_free(handle));
    if (!handle || *handle == MPI_T_CVAR_HANDLE_NULL)
        return handle ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_INVALID;
    if (!mt_tool_is_own(*handle))
        return mt_pmpi.T_cvar_handle_free(handle);
    mt_lock(MT_LOCK_TOOL_CVARS);
    cvar_handle *h = mt_handles_get(&handles, (uint64_t)(uintptr_t)*handle);
    mt_handles_remove(&handles, (uint64_t)(uintptr_t)*handle);
    mt_unlock(MT_LOCK_TOOL_CVARS);
    free(h);
    if (h)
        *handle = MPI_T_CVAR_HANDLE_NULL;
    return h ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

static void forget_all(void)
{
    mt_lock(MT_LOCK_TOOL_CVARS);
    for (uint64_t i = 0; i < handles.capacity; i++)
        if (handles.keys[i])
            free(handles.values[i]);
    mt_handles_clear(&handles);
    mt_unlock(MT_LOCK_TOOL_CVARS);
}

MT_REGISTER(tool_closed, forget_all);

// Copies the data of a handle of ours. Returns false if the handle was freed.
static bool find(MPI_T_cvar_handle handle, cvar_handle *copy)
{
    mt_lock(MT_LOCK_TOOL_CVARS);
    const cvar_handle *h = mt_handles_get(&handles, (uint64_t)(uintptr_t)handle);
    if (h)
        *copy = *h;
    mt_unlock(MT_LOCK_TOOL_CVARS);
    return h != NULL;
}

MT_EXPORT int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    MT_TOOL_ENTER(T_cvar_read(handle, buf));
    cvar_handle h;
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!mt_tool_is_own(handle))
        return mt_pmpi.T_cvar_read(handle, buf);
    if (!find(handle, &h))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (h.variable == MT_ENABLED)
        *(int *)buf = mt_on() && !(mt_flags() & MT_FLAG_PAUSED);
    else
        mt_setting_current((mt_setting)h.variable, buf, (size_t)h.count);
    return MPI_SUCCESS;
}

static int enable(const int *value)
{
    if (!mt_on())
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    if (*value != 0 && *value != 1)
        return MPI_T_ERR_INVALID;
    mt_slice_pcontrol(*value);
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    MT_TOOL_ENTER(T_cvar_write(handle, buf));
    cvar_handle h;
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!mt_tool_is_own(handle))
        return mt_pmpi.T_cvar_write(handle, buf);
    if (!find(handle, &h))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (h.variable == MT_ENABLED)
        return enable(buf);
    int saved = errno;
    mt_setting_result answer = mt_setting_change((mt_setting)h.variable, buf);
    errno = saved;
    switch (answer) {
    case MT_SET:
        return MPI_SUCCESS;
    case MT_SET_NEVER:
        return MPI_T_ERR_CVAR_SET_NEVER;
    case MT_SET_NOT_NOW:
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    default:
        return MPI_T_ERR_INVALID;
    }
}
