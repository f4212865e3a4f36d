// Performance variables as programs use them. Sessions, and handles of the library's
// variables, are the library's own. Handles of our variables are kept here.
#include "base/lock.h"
#include "objects/handles.h"
#include "mpit/mpit.h"
#include "mpit/pvar_handle.h"
#include "mpit/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The sessions and handles are guarded by MT_LOCK_TOOL_PVARS, which is taken after
// the locks of lifecycle.c and tool.c and before our other locks (see lock.h). While
// it is held, only pvars.c calls the library's MPI_T, when a slice ends.
static mt_handles sessions, handles;

// Under MT_LOCK_TOOL_PVARS.
static MPI_Datatype types[3]; // by the index that type_of computes

static MPI_Datatype type_of(const mt_pvar_entry *v)
{
    return types[v->form == MT_FORM_FLUSH ? 0 : v->seconds ? 1 : 2];
}

// MPI_T_PVAR_ALL_HANDLES: a constant in Open MPI and the standard ABI, a variable in MPICH.
static MPI_T_pvar_handle all;

static MPI_T_pvar_handle find_all(uint64_t site)
{
#ifdef MPI_T_PVAR_ALL_HANDLES
    (void)site;
    return MPI_T_PVAR_ALL_HANDLES;
#else
    void *module = mt_resolve_module(site);
    const MPI_T_pvar_handle *p = mt_resolve_variable("MPI_T_PVAR_ALL_HANDLES", module);
    mt_resolve_release(module);
    return p ? *p : MPI_T_PVAR_HANDLE_NULL;
#endif
}

static bool is_all(MPI_T_pvar_handle handle)
{
    return handle == all && handle != MPI_T_PVAR_HANDLE_NULL;
}

static void open_types(uint64_t site)
{
    if (types[0])
        return;
    all = find_all(site);
    types[1] = mt_mpit_handle_of("double", site);
    types[2] = mt_mpit_handle_of("unsigned long", site);
    types[0] = mt_mpit_handle_of("text", site);
}

MT_REGISTER(tool_opened, open_types);

static mt_tool_session *session_of(MPI_T_pvar_session library)
{
    return library ? mt_handles_get(&sessions, (uint64_t)(uintptr_t)library) : NULL;
}

// Returns the data of a handle of ours, or NULL and the reason in `error`.
static mt_pvar_handle *handle_data(MPI_T_pvar_session library, MPI_T_pvar_handle handle, int *error)
{
    const mt_tool_session *s = session_of(library);
    mt_pvar_handle *h = mt_handles_get(&handles, (uint64_t)(uintptr_t)handle);
    *error = !s ? MPI_T_ERR_INVALID_SESSION : !h || h->session != s ? MPI_T_ERR_INVALID_HANDLE : MPI_SUCCESS;
    return *error == MPI_SUCCESS ? h : NULL;
}

// --- handles and sessions

static void forget_handle(mt_pvar_handle *h)
{
    mt_pvar_handle_free(h);
    mt_pvar_handle **at = &h->session->handles;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    mt_handles_remove(&handles, h->number);
    free(h->counted);
    free(h->from);
    free(h);
}

static void forget_session(mt_tool_session *s)
{
    while (s->handles)
        forget_handle(s->handles);
    mt_handles_remove(&sessions, (uint64_t)(uintptr_t)s->library);
    free(s->file);
    free(s);
}

static void forget_all(void)
{
    mt_lock(MT_LOCK_TOOL_PVARS);
    for (uint64_t i = 0; i < sessions.capacity;)
        if (sessions.keys[i])
            forget_session(sessions.values[i]); // another session may move to this place, so look here again
        else
            i++;
    types[0] = 0; // in Open MPI their addresses may differ next time
    mt_unlock(MT_LOCK_TOOL_PVARS);
}

MT_REGISTER(tool_closed, forget_all);

static void set_frozen(bool frozen, void (*visit)(mt_pvar_handle *))
{
    mt_lock(MT_LOCK_TOOL_PVARS);
    if (!frozen)
        mt_mpit.handles_frozen = false;
    for (uint64_t i = 0; i < handles.capacity; i++)
        if (handles.keys[i])
            visit(handles.values[i]);
    mt_mpit.handles_frozen = frozen;
    mt_unlock(MT_LOCK_TOOL_PVARS);
}

void mt_pvar_table_freeze(void)
{
    set_frozen(true, mt_pvar_handle_freeze);
}

void mt_pvar_table_thaw(void)
{
    set_frozen(false, mt_pvar_handle_thaw);
}

// Reports whether `object` may be the handle of a communicator, converted to a
// pointer, instead of its address.
static bool may_be_handle(const void *object, MPI_Comm given)
{
    return MT_KEY(given) == (uint64_t)(uintptr_t)object ||
           (sizeof given == sizeof(int32_t) && (intptr_t)(int32_t)(uintptr_t)object == (intptr_t)object);
}

// Returns the communicator to bind a handle to, or NULL. The Standard requires the
// address of a variable that has the communicator. Open MPI's monitoring expects the
// communicator's handle itself, and so programs that were written for it pass that.
// The two can be distinguished, because no variable of the program is at the address
// of a communicator that we know.
static const mt_comm *comm_at(const void *object)
{
    MPI_Comm given = (MPI_Comm)(uintptr_t)object;
    const mt_comm *c = NULL;
    if (!object || !mt_pvar_handle_live() || (may_be_handle(object, given) && given == mt_const.comm_null))
        return NULL;
    if (may_be_handle(object, given))
        c = mt_comm_known_uncached(given);
    if (!c) {
        memcpy(&given, object, sizeof given);
        c = given == mt_const.comm_null ? NULL : mt_comm_find_uncached(given);
    }
    return c && c->index != MT_COMM_NONE ? c : NULL;
}

static int elements(const mt_tool_session *s, const mt_pvar_entry *v, const mt_comm *c)
{
    if (v->form == MT_FORM_FLUSH)
        return s->file ? (int)strlen(s->file) : 0;
    return v->form == MT_FORM_BY_PEER ? c->peers : 1;
}

static mt_pvar_handle *make_handle(mt_tool_session *s, const mt_pvar_entry *v, const mt_comm *c)
{
    mt_pvar_handle *h = calloc(1, sizeof *h);
    if (!h || !mt_handles_reserve(&handles)) {
        free(h);
        return NULL;
    }
    h->number = mt_tool_new_handle();
    h->session = s;
    h->variable = v;
    h->comm = c;
    h->count = elements(s, v, c);
    if (mt_pvar_table_counts(v)) {
        h->counted = calloc((size_t)h->count, sizeof *h->counted);
        h->from = calloc((size_t)h->count, sizeof *h->from);
    }
    if (mt_pvar_table_counts(v) && (!h->counted || !h->from)) {
        free(h->counted);
        free(h->from);
        free(h);
        return NULL;
    }
    mt_pvar_handle_reset(h);
    h->next = s->handles;
    s->handles = h;
    mt_handles_put(&handles, h->number, h);
    return h;
}

static int allocate(MPI_T_pvar_session library, const mt_pvar_entry *v, const void *object, MPI_T_pvar_handle *handle,
                    int *count)
{
    mt_tool_session *s = session_of(library);
    if (!s)
        return MPI_T_ERR_INVALID_SESSION;
    const mt_comm *c = mt_pvar_table_bound(v) ? comm_at(object) : NULL;
    if (!handle || !count || (mt_pvar_table_bound(v) && !c))
        return MPI_T_ERR_INVALID;
    mt_pvar_handle *h = make_handle(s, v, c);
    if (!h)
        return MPI_T_ERR_OUT_OF_HANDLES;
    *handle = (MPI_T_pvar_handle)(uintptr_t)h->number;
    *count = h->count;
    return MPI_SUCCESS;
}

// Calls `act` with a handle of ours, under the lock.
static int with_handle(MPI_T_pvar_session library, MPI_T_pvar_handle handle, int (*act)(mt_pvar_handle *))
{
    int rc, saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS);
    mt_pvar_handle *h = handle_data(library, handle, &rc);
    if (h)
        rc = act(h);
    mt_unlock(MT_LOCK_TOOL_PVARS);
    errno = saved;
    return rc;
}

// Calls `act` with all of our handles in a session, after the library has handled its
// own and returned `rc`. Skips handles that cannot be started or stopped.
static int with_all_handles(MPI_T_pvar_session library, int rc, int (*act)(mt_pvar_handle *))
{
    int saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS);
    mt_tool_session *s = session_of(library);
    for (mt_pvar_handle *h = s ? s->handles : NULL; h; h = h->next) {
        int one = h->variable->form == MT_FORM_STATE ? MPI_SUCCESS : act(h);
        if (rc == MPI_SUCCESS)
            rc = one;
    }
    mt_unlock(MT_LOCK_TOOL_PVARS);
    errno = saved;
    return rc;
}

// Checks the session and handle of a call that is passed on, because not all
// libraries check them. Returns an error code or MPI_SUCCESS.
static int check_handle(MPI_T_pvar_session library, MPI_T_pvar_handle handle)
{
    mt_lock(MT_LOCK_TOOL_PVARS);
    int rc = !session_of(library)                 ? MPI_T_ERR_INVALID_SESSION
             : handle == MPI_T_PVAR_HANDLE_NULL ? MPI_T_ERR_INVALID_HANDLE
                                                  : MPI_SUCCESS;
    mt_unlock(MT_LOCK_TOOL_PVARS);
    return rc;
}

// Does the same for calls that do not accept MPI_T_PVAR_ALL_HANDLES.
static int check_single_handle(MPI_T_pvar_session library, MPI_T_pvar_handle handle)
{
    return is_all(handle) ? MPI_T_ERR_INVALID_HANDLE : check_handle(library, handle);
}

// --- what programs call

MT_EXPORT int MPI_T_pvar_get_num(int *num_pvar)
{
    MT_TOOL_ENTER(T_pvar_get_num(num_pvar));
    if (!num_pvar)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_pvar_get_num(num_pvar);
    if (rc == MPI_SUCCESS && num_pvar)
        *num_pvar = mt_tool_count(MT_TOOL_PVARS, *num_pvar);
    return rc;
}

MT_EXPORT int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                                  MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                                  int *readonly, int *continuous, int *atomic)
{
    MT_TOOL_ENTER(T_pvar_get_info(pvar_index, name, name_len, verbosity, var_class, datatype, enumtype, desc, desc_len,
                                  bind, readonly, continuous, atomic));
    int own = mt_tool_own(MT_TOOL_PVARS, pvar_index);
    if (!mt_tool_has(MT_TOOL_PVARS, pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (own < 0)
        return mt_pmpi.T_pvar_get_info(mt_tool_library(MT_TOOL_PVARS, pvar_index), name, name_len, verbosity, var_class,
                                       datatype, enumtype, desc, desc_len, bind, readonly, continuous, atomic);
    const mt_pvar_entry *v = mt_pvar_table_at(own);
    mt_tool_text(v->name, name, name_len);
    mt_tool_text(v->what, desc, desc_len);
    MT_TOOL_STORE(verbosity, v->verbosity);
    MT_TOOL_STORE(var_class, v->class);
    MT_TOOL_STORE(datatype, type_of(v));
    MT_TOOL_STORE(enumtype, MPI_T_ENUM_NULL);
    MT_TOOL_STORE(bind, mt_pvar_table_bound(v) ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT);
    MT_TOOL_STORE(readonly, v->form != MT_FORM_FLUSH);
    MT_TOOL_STORE(continuous, v->form == MT_FORM_STATE);
    MT_TOOL_STORE(atomic, mt_pvar_table_counts(v));
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    MT_TOOL_ENTER(T_pvar_get_index(name, var_class, pvar_index));
    if (!name || !pvar_index)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_pvar_get_index(name, var_class, pvar_index);
    if (rc == MPI_SUCCESS) {
        *pvar_index = mt_tool_index_of_library(MT_TOOL_PVARS, *pvar_index);
        return rc;
    }
    for (int i = 0; i < mt_pvar_table_count(); i++)
        if (mt_pvar_table_at(i)->class == var_class && strcmp(mt_pvar_table_at(i)->name, name) == 0) {
            *pvar_index = mt_tool_index_of_own(MT_TOOL_PVARS, i);
            return MPI_SUCCESS;
        }
    return rc;
}

MT_EXPORT int MPI_T_pvar_session_create(MPI_T_pvar_session *pe_session)
{
    MT_TOOL_ENTER(T_pvar_session_create(pe_session));
    if (!pe_session)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_pvar_session_create(pe_session);
    if (rc != MPI_SUCCESS)
        return rc;
    int saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS);
    mt_tool_session *s = calloc(1, sizeof *s), *stale = session_of(*pe_session);
    if (stale)
        forget_session(stale);
    if (s && mt_handles_reserve(&sessions)) {
        s->library = *pe_session;
        mt_handles_put(&sessions, (uint64_t)(uintptr_t)s->library, s);
    } else {
        free(s);
        rc = MPI_T_ERR_OUT_OF_SESSIONS;
    }
    mt_unlock(MT_LOCK_TOOL_PVARS);
    if (rc != MPI_SUCCESS)
        mt_pmpi.T_pvar_session_free(pe_session);
    errno = saved;
    return rc;
}

MT_EXPORT int MPI_T_pvar_session_free(MPI_T_pvar_session *pe_session)
{
    MT_TOOL_ENTER(T_pvar_session_free(pe_session));
    int saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS); // before the library may use the session's address again
    mt_tool_session *s = pe_session ? session_of(*pe_session) : NULL;
    if (s)
        forget_session(s);
    mt_unlock(MT_LOCK_TOOL_PVARS);
    errno = saved;
    return s ? mt_pmpi.T_pvar_session_free(pe_session) : MPI_T_ERR_INVALID_SESSION;
}

MT_EXPORT int MPI_T_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void *obj_handle,
                                      MPI_T_pvar_handle *handle, int *count)
{
    MT_TOOL_ENTER(T_pvar_handle_alloc(pe_session, pvar_index, obj_handle, handle, count));
    int own = mt_tool_own(MT_TOOL_PVARS, pvar_index);
    if (!mt_tool_has(MT_TOOL_PVARS, pvar_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (own < 0)
        return mt_pmpi.T_pvar_handle_alloc(pe_session, mt_tool_library(MT_TOOL_PVARS, pvar_index), obj_handle, handle,
                                           count);
    int saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS);
    int rc = allocate(pe_session, mt_pvar_table_at(own), obj_handle, handle, count);
    mt_unlock(MT_LOCK_TOOL_PVARS);
    errno = saved;
    return rc;
}

static int free_handle(mt_pvar_handle *h)
{
    forget_handle(h);
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle *handle)
{
    MT_TOOL_ENTER(T_pvar_handle_free(pe_session, handle));
    if (!handle)
        return MPI_T_ERR_INVALID;
    if (!mt_tool_is_own(*handle)) {
        int bad = check_single_handle(pe_session, *handle);
        return bad ? bad : mt_pmpi.T_pvar_handle_free(pe_session, handle);
    }
    int rc = with_handle(pe_session, *handle, free_handle);
    if (rc == MPI_SUCCESS)
        *handle = MPI_T_PVAR_HANDLE_NULL;
    return rc;
}

// Calls `own` for a handle of ours, and `library` for the library's; for
// MPI_T_PVAR_ALL_HANDLES, both.
static int with_any_handle(MPI_T_pvar_session session, MPI_T_pvar_handle handle, int (*own)(mt_pvar_handle *),
                           int (*library)(MPI_T_pvar_session, MPI_T_pvar_handle))
{
    if (mt_tool_is_own(handle))
        return with_handle(session, handle, own);
    int rc = check_handle(session, handle);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = library(session, handle);
    return is_all(handle) ? with_all_handles(session, rc, own) : rc;
}

MT_EXPORT int MPI_T_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    MT_TOOL_ENTER(T_pvar_start(pe_session, handle));
    return with_any_handle(pe_session, handle, mt_pvar_handle_start, mt_pmpi.T_pvar_start);
}

MT_EXPORT int MPI_T_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    MT_TOOL_ENTER(T_pvar_stop(pe_session, handle));
    return with_any_handle(pe_session, handle, mt_pvar_handle_stop, mt_pmpi.T_pvar_stop);
}

MT_EXPORT int MPI_T_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    MT_TOOL_ENTER(T_pvar_reset(pe_session, handle));
    return with_any_handle(pe_session, handle, mt_pvar_handle_reset, mt_pmpi.T_pvar_reset);
}

// Calls `act` with a handle of ours and a buffer, under the lock.
static int with_buffer(MPI_T_pvar_session library, MPI_T_pvar_handle handle, void *buffer,
                       int (*act)(mt_pvar_handle *, void *))
{
    int rc, saved = errno;
    mt_lock(MT_LOCK_TOOL_PVARS);
    mt_pvar_handle *h = handle_data(library, handle, &rc);
    if (h)
        rc = buffer ? act(h, buffer) : MPI_T_ERR_INVALID;
    mt_unlock(MT_LOCK_TOOL_PVARS);
    errno = saved;
    return rc;
}

MT_EXPORT int MPI_T_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void *buf)
{
    MT_TOOL_ENTER(T_pvar_read(pe_session, handle, buf));
    if (mt_tool_is_own(handle))
        return with_buffer(pe_session, handle, buf, mt_pvar_handle_read);
    int bad = check_single_handle(pe_session, handle);
    return bad ? bad : mt_pmpi.T_pvar_read(pe_session, handle, buf);
}

MT_EXPORT int MPI_T_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void *buf)
{
    MT_TOOL_ENTER(T_pvar_readreset(pe_session, handle, buf));
    if (mt_tool_is_own(handle))
        return with_buffer(pe_session, handle, buf, mt_pvar_handle_readreset);
    int bad = check_single_handle(pe_session, handle);
    return bad ? bad : mt_pmpi.T_pvar_readreset(pe_session, handle, buf);
}

static int write_text(mt_pvar_handle *h, void *text)
{
    return mt_pvar_handle_write(h, text);
}

MT_EXPORT int MPI_T_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void *buf)
{
    MT_TOOL_ENTER(T_pvar_write(pe_session, handle, buf));
    static const char none[] = "";
    if (mt_tool_is_own(handle))
        return with_buffer(pe_session, handle, (void *)(uintptr_t)(buf ? buf : none), write_text);
    int bad = check_single_handle(pe_session, handle);
    return bad ? bad : mt_pmpi.T_pvar_write(pe_session, handle, buf);
}
