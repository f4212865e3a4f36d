#include "mpit/tool.h"

#include "base/lock.h"
#include "base/settings.h"
#include "mpit/pvar_table.h"

#include <errno.h>
#include <string.h>

// Written by the program's MPI_T_init_thread and MPI_T_finalize, in any thread.
static _Atomic int opened; // how often the program has opened MPI_T

// How many variables and categories the library had when the program first opened the
// interface.
static _Atomic int library_counts[MT_TOOL_KINDS];
static bool counted;

mt_tool_state mt_tool_enter(uint64_t site)
{
    if (!mt_resolve(site))
        return MT_TOOL_OTHER;
    return atomic_load_explicit(&opened, memory_order_acquire) > 0 ? MT_TOOL_OPEN : MT_TOOL_CLOSED;
}

// Returns how many of a kind are ours.
static int own_count(mt_tool_kind kind)
{
    switch (kind) {
    case MT_TOOL_PVARS:
        return mt_pvar_table_count();
    case MT_TOOL_CVARS:
        return MT_TOOL_OWN_CVARS;
    default:
        return MT_TOOL_OWN_CATEGORIES;
    }
}

int mt_tool_own(mt_tool_kind kind, int index)
{
    int n = index - atomic_load_explicit(&library_counts[kind], memory_order_relaxed);
    return index >= 0 && n >= 0 && n < own_count(kind) ? n : -1;
}

int mt_tool_library(mt_tool_kind kind, int index)
{
    return index < atomic_load_explicit(&library_counts[kind], memory_order_relaxed) ? index : index - own_count(kind);
}

int mt_tool_index_of_own(mt_tool_kind kind, int n)
{
    return atomic_load_explicit(&library_counts[kind], memory_order_relaxed) + n;
}

int mt_tool_index_of_library(mt_tool_kind kind, int library)
{
    int first = atomic_load_explicit(&library_counts[kind], memory_order_relaxed);
    return library < first ? library : library + own_count(kind);
}

// Returns how many entries of a kind there are: the MPI library's and ours. If the MPI
// was closed and opened again, its library may have fewer entries than before. Their
// count is not reduced, so that indices stay valid.
int mt_tool_count(mt_tool_kind kind, int library)
{
    int first = atomic_load_explicit(&library_counts[kind], memory_order_relaxed);
    return (library > first ? library : first) + own_count(kind);
}

bool mt_tool_has(mt_tool_kind kind, int index)
{
    int n = 0;
    if (index < 0 || mt_tool_own(kind, index) >= 0)
        return index >= 0;
    int rc = kind == MT_TOOL_PVARS   ? mt_pmpi.T_pvar_get_num(&n)
             : kind == MT_TOOL_CVARS ? mt_pmpi.T_cvar_get_num(&n)
                                     : mt_pmpi.T_category_get_num(&n);
    return rc == MPI_SUCCESS && mt_tool_library(kind, index) < n;
}

void mt_tool_text(const char *text, char *buffer, int *length)
{
    if (!length)
        return;
    size_t size = strlen(text), room = buffer && *length > 0 ? (size_t)*length - 1 : 0;
    if (buffer && *length > 0) {
        memcpy(buffer, text, size < room ? size : room);
        buffer[size < room ? size : room] = '\0';
    }
    *length = (int)size + 1;
}

uint64_t mt_tool_new_handle(void)
{
    static _Atomic uint64_t last;
    return (uint64_t)0x6d74 << 48 | ((atomic_fetch_add(&last, 1) + 1) & 0xffffffffffff);
}

static void count_library(void)
{
    int n[MT_TOOL_KINDS] = {0};
    if (counted)
        return;
    if (mt_pmpi.T_pvar_get_num(&n[MT_TOOL_PVARS]) != MPI_SUCCESS)
        n[MT_TOOL_PVARS] = 0;
    if (mt_pmpi.T_cvar_get_num(&n[MT_TOOL_CVARS]) != MPI_SUCCESS)
        n[MT_TOOL_CVARS] = 0;
    if (mt_pmpi.T_category_get_num(&n[MT_TOOL_CATEGORIES]) != MPI_SUCCESS)
        n[MT_TOOL_CATEGORIES] = 0;
    for (int i = 0; i < MT_TOOL_KINDS; i++)
        atomic_store(&library_counts[i], n[i]);
    counted = true;
}

// We open the library's interface once ourselves, so that it stays open. MPICH
// crashes if it is opened again, Open MPI 5 if that happens before MPI_Init, and Open
// MPI 4.1 if it is closed after MPI_Finalize. Written by open_library, once.
static bool library_open;

static void open_library(int required)
{
    int ignored;
    if (!counted)
        library_open = mt_pmpi.T_init_thread(required, &ignored) == MPI_SUCCESS;
}

void mt_tool_finalizing(void)
{
#ifdef OPEN_MPI
    mt_lock(MT_LOCK_TOOL);
    if (library_open && atomic_load(&opened) == 0) {
        mt_pmpi.T_finalize();
        library_open = false;
    }
    mt_unlock(MT_LOCK_TOOL);
#endif
}

void mt_tool_forget(void)
{
    mt_lock(MT_LOCK_TOOL);
    atomic_store(&opened, 0);
    counted = library_open = false;
    MT_EACH_HOOK(tool_closed);
    mt_unlock(MT_LOCK_TOOL);
}

MT_EXPORT int MPI_T_init_thread(int required, int *provided)
{
    // Open MPI returns the level only in the first call.
    static _Atomic int level;
    uint64_t site = (uint64_t)(uintptr_t)__builtin_return_address(0);
    if (!mt_resolve(site))
        return mt_pmpi.T_init_thread(required, provided);
    if (!provided)
        return MPI_T_ERR_INVALID;
    *provided = level;
    int rc = mt_pmpi.T_init_thread(required, provided);
    if (rc != MPI_SUCCESS)
        return rc;
    int saved = errno;
    mt_lock(MT_LOCK_TOOL);
    level = *provided;
    open_library(required);
    count_library();
    MT_CALL_HOOK(tool_opened, site);
    atomic_fetch_add(&opened, 1);
    mt_unlock(MT_LOCK_TOOL);
    errno = saved;
    return rc;
}

MT_EXPORT int MPI_T_finalize(void)
{
    MT_TOOL_ENTER(T_finalize());
    int rc = mt_pmpi.T_finalize();
    int saved = errno;
    mt_lock(MT_LOCK_TOOL);
    if (rc == MPI_SUCCESS && atomic_load(&opened) > 0 && atomic_fetch_sub(&opened, 1) == 1)
        MT_EACH_HOOK(tool_closed);
    mt_unlock(MT_LOCK_TOOL);
    errno = saved;
    return rc;
}

// Our one category; all of our variables are in it.
static const char category[] = "mpitrace";
static const char category_description[] = "What mpitrace records of this process, and its settings";

MT_EXPORT int MPI_T_category_get_num(int *num_cat)
{
    MT_TOOL_ENTER(T_category_get_num(num_cat));
    if (!num_cat)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_category_get_num(num_cat);
    if (rc == MPI_SUCCESS && num_cat)
        *num_cat = mt_tool_count(MT_TOOL_CATEGORIES, *num_cat);
    return rc;
}

MT_EXPORT int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len,
                                      int *num_cvars, int *num_pvars, int *num_categories)
{
    MT_TOOL_ENTER(T_category_get_info(cat_index, name, name_len, desc, desc_len, num_cvars, num_pvars, num_categories));
    if (!mt_tool_has(MT_TOOL_CATEGORIES, cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (mt_tool_own(MT_TOOL_CATEGORIES, cat_index) < 0)
        return mt_pmpi.T_category_get_info(mt_tool_library(MT_TOOL_CATEGORIES, cat_index), name, name_len, desc,
                                           desc_len, num_cvars, num_pvars, num_categories);
    mt_tool_text(category, name, name_len);
    mt_tool_text(category_description, desc, desc_len);
    MT_TOOL_STORE(num_cvars, MT_TOOL_OWN_CVARS);
    MT_TOOL_STORE(num_pvars, mt_pvar_table_count());
    MT_TOOL_STORE(num_categories, 0);
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_category_get_index(const char *name, int *cat_index)
{
    MT_TOOL_ENTER(T_category_get_index(name, cat_index));
    if (!name || !cat_index)
        return MPI_T_ERR_INVALID;
    int rc = mt_pmpi.T_category_get_index(name, cat_index);
    if (rc == MPI_SUCCESS) {
        *cat_index = mt_tool_index_of_library(MT_TOOL_CATEGORIES, *cat_index);
    } else if (strcmp(name, category) == 0) {
        *cat_index = mt_tool_index_of_own(MT_TOOL_CATEGORIES, 0);
        rc = MPI_SUCCESS;
    }
    return rc;
}

// Writes the indices of the members of a category, at most `len`. The library's
// members get the indices that programs know.
static int members(mt_tool_kind kind, int cat_index, int len, int indices[], int (*ask)(int, int, int *))
{
    if (!mt_tool_has(MT_TOOL_CATEGORIES, cat_index))
        return MPI_T_ERR_INVALID_INDEX;
    if (mt_tool_own(MT_TOOL_CATEGORIES, cat_index) >= 0) {
        int n = kind == MT_TOOL_CATEGORIES ? 0 : own_count(kind);
        for (int i = 0; indices && i < len && i < n; i++)
            indices[i] = mt_tool_index_of_own(kind, i);
        return MPI_SUCCESS;
    }
    int n[MT_TOOL_KINDS] = {0}, library = mt_tool_library(MT_TOOL_CATEGORIES, cat_index);
    int rc = ask(library, len, indices);
    if (rc != MPI_SUCCESS || !indices)
        return rc;
    rc = mt_pmpi.T_category_get_info(library, NULL, NULL, NULL, NULL, &n[MT_TOOL_CVARS], &n[MT_TOOL_PVARS],
                                     &n[MT_TOOL_CATEGORIES]);
    for (int i = 0; rc == MPI_SUCCESS && i < len && i < n[kind]; i++)
        indices[i] = mt_tool_index_of_library(kind, indices[i]);
    return rc;
}

MT_EXPORT int MPI_T_category_changed(int *stamp)
{
    MT_TOOL_ENTER(T_category_changed(stamp));
    return stamp ? mt_pmpi.T_category_changed(stamp) : MPI_T_ERR_INVALID;
}

MT_EXPORT int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    MT_TOOL_ENTER(T_category_get_cvars(cat_index, len, indices));
    return members(MT_TOOL_CVARS, cat_index, len, indices, mt_pmpi.T_category_get_cvars);
}

MT_EXPORT int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    MT_TOOL_ENTER(T_category_get_pvars(cat_index, len, indices));
    return members(MT_TOOL_PVARS, cat_index, len, indices, mt_pmpi.T_category_get_pvars);
}

MT_EXPORT int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    MT_TOOL_ENTER(T_category_get_categories(cat_index, len, indices));
    return members(MT_TOOL_CATEGORIES, cat_index, len, indices, mt_pmpi.T_category_get_categories);
}

#if MT_HAVE_T_category_get_num_events
MT_EXPORT int MPI_T_category_get_num_events(int cat_index, int *num_events)
{
    MT_TOOL_ENTER(T_category_get_num_events(cat_index, num_events));
    if (mt_tool_own(MT_TOOL_CATEGORIES, cat_index) < 0)
        return mt_pmpi.T_category_get_num_events(mt_tool_library(MT_TOOL_CATEGORIES, cat_index), num_events);
    MT_TOOL_STORE(num_events, 0);
    return MPI_SUCCESS;
}

MT_EXPORT int MPI_T_category_get_events(int cat_index, int len, int indices[])
{
    MT_TOOL_ENTER(T_category_get_events(cat_index, len, indices));
    if (mt_tool_own(MT_TOOL_CATEGORIES, cat_index) < 0)
        return mt_pmpi.T_category_get_events(mt_tool_library(MT_TOOL_CATEGORIES, cat_index), len, indices);
    return MPI_SUCCESS;
}
#endif
