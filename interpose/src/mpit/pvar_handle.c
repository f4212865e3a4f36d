#include "mpit/pvar_handle.h"

#include "base/lock.h"
#include "objects/request.h"
#include "mpit/prof.h"
#include "mpit/state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// The started handles of high-water marks. They have a lock of their own, because MPI
// calls read this list.
static mt_pvar_handle *watching;

// Adds a handle to the list of those that watch a high-water mark, or removes it.
static void set_watching(mt_pvar_handle *h, bool watched)
{
    mt_lock(MT_LOCK_WATCHING);
    mt_pvar_handle **at = &watching;
    while (*at && *at != h)
        at = &(*at)->next_watching;
    if (watched && !*at) {
        h->next_watching = watching;
        watching = h;
    } else if (!watched && *at) {
        *at = h->next_watching;
    }
    mt_flag_set(MT_FLAG_HIGHWATERMARKS, watching != NULL);
    mt_unlock(MT_LOCK_WATCHING);
}

static void raise_maximum(mt_pvar_handle *h, uint64_t now)
{
    uint64_t most = atomic_load_explicit(&h->maximum, memory_order_relaxed);
    while (most < now && !atomic_compare_exchange_weak(&h->maximum, &most, now)) {}
}

static void request_added(void)
{
    int saved = errno;
    mt_lock(MT_LOCK_WATCHING);
    for (mt_pvar_handle *h = watching; h; h = h->next_watching)
        raise_maximum(h, h->variable->now());
    mt_unlock(MT_LOCK_WATCHING);
    errno = saved;
}

MT_REGISTER(request_added, request_added);

bool mt_pvar_handle_live(void)
{
    return mt_on() && !mt_mpit.handles_frozen;
}

// Reads the variable's current totals into `words`, which has room for h->count.
static int read_totals(const mt_pvar_handle *h, uint64_t *words)
{
    if (!mt_pvar_handle_live()) {
        memset(words, 0, (size_t)h->count * sizeof *words);
        return MPI_SUCCESS;
    }
    return mt_pvar_table_read(h->variable, h->comm, words, h->count) ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

// Adds what was counted since the handle was started or last read.
static int update_counted(mt_pvar_handle *h)
{
    if (!mt_pvar_handle_live())
        return MPI_SUCCESS;
    uint64_t few[64], *words = h->count <= 64 ? few : malloc((size_t)h->count * sizeof *words);
    int rc = words ? read_totals(h, words) : MPI_T_ERR_MEMORY;
    for (int i = 0; rc == MPI_SUCCESS && i < h->count; i++) {
        uint64_t more = words[i] - h->from[i];
        h->counted[i] += h->variable->seconds ? mt_pvar_table_nanoseconds(more) : more;
        h->from[i] = words[i];
    }
    if (words != few)
        free(words);
    return rc;
}

static int begin_phase(mt_pvar_handle *h)
{
    memset(&h->before, 0, sizeof h->before);
    if (!mt_pvar_handle_live())
        return MPI_SUCCESS; // nothing is recorded, so no phase begins
    if (!mt_sums_compute(&h->before, MT_SUM_ALL))
        return MPI_T_ERR_MEMORY;
    mt_slice_phase_begins(&h->phase);
    return MPI_SUCCESS;
}

int mt_pvar_handle_start(mt_pvar_handle *h)
{
    int rc = MPI_SUCCESS;
    if (h->started)
        return rc;
    switch (h->variable->form) {
    case MT_FORM_STATE:
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    case MT_FORM_FLUSH:
        rc = begin_phase(h);
        break;
    case MT_FORM_HIGHWATERMARK:
        set_watching(h, true);
        raise_maximum(h, h->variable->now());
        break;
    default:
        rc = read_totals(h, h->from);
    }
    h->started = rc == MPI_SUCCESS;
    return rc;
}

int mt_pvar_handle_reset(mt_pvar_handle *h)
{
    if (h->variable->form == MT_FORM_HIGHWATERMARK)
        atomic_store(&h->maximum, mt_pvar_handle_live() ? h->variable->now() : 0);
    if (!mt_pvar_table_counts(h->variable))
        return MPI_SUCCESS;
    int rc = h->started ? read_totals(h, h->from) : MPI_SUCCESS;
    if (rc == MPI_SUCCESS)
        memset(h->counted, 0, (size_t)h->count * sizeof *h->counted);
    return rc;
}

// Computes what was sent since the phase began. While the variables are frozen,
// h->before holds this already.
static bool take_phase(const mt_pvar_handle *h, mt_sums *sums)
{
    if (!mt_sums_compute(sums, MT_SUM_ALL))
        return false;
    mt_sums_subtract(sums, &h->before);
    return true;
}

static bool print_phase(const mt_pvar_handle *h)
{
    mt_sums sums;
    if (mt_mpit.handles_frozen)
        return mt_prof_print(&h->before, h->session->file);
    if (!mt_on())
        return false; // this is a forked child: the phase belongs to its parent
    if (!take_phase(h, &sums))
        return false;
    bool printed = mt_prof_print(&sums, h->session->file);
    mt_sums_free(&sums);
    return printed;
}

// Writes the file of the phase. If this fails, the phase continues as if the variable
// had not been stopped.
static int write_phase(const mt_pvar_handle *h)
{
    if (!h->session->file || print_phase(h))
        return MPI_SUCCESS;
    mt_log("cannot write %s.%d.prof", h->session->file, mt_process.world_rank);
    return MPI_T_ERR_INVALID;
}

static void end_phase(mt_pvar_handle *h, const char *name)
{
    mt_slice_phase_ends(&h->phase, name);
    mt_sums_free(&h->before);
}

static int flush(mt_pvar_handle *h)
{
    int rc = write_phase(h);
    if (rc != MPI_SUCCESS)
        return rc;
    h->started = false;
    end_phase(h, h->session->file);
    for (mt_pvar_handle *other = h->session->handles; other; other = other->next)
        if (mt_pvar_table_counts(other->variable) && rc == MPI_SUCCESS)
            rc = mt_pvar_handle_reset(other);
    return rc;
}

int mt_pvar_handle_stop(mt_pvar_handle *h)
{
    int rc = MPI_SUCCESS;
    if (h->variable->form == MT_FORM_STATE)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    if (!h->started)
        return rc;
    if (h->variable->form == MT_FORM_FLUSH)
        return flush(h);
    if (h->variable->form == MT_FORM_HIGHWATERMARK)
        set_watching(h, false);
    else
        rc = update_counted(h);
    h->started = rc != MPI_SUCCESS;
    return rc;
}

static int read_text(const mt_pvar_handle *h, char *buffer)
{
    const char *file = h->session->file ? h->session->file : "";
    if (h->count > 0)
        strncpy(buffer, file, (size_t)h->count);
    return MPI_SUCCESS;
}

static int read_words(mt_pvar_handle *h, uint64_t *words)
{
    int rc = MPI_SUCCESS;
    if (h->variable->form == MT_FORM_HIGHWATERMARK)
        words[0] = atomic_load(&h->maximum);
    else if (h->variable->form == MT_FORM_STATE)
        rc = read_totals(h, words);
    else if (!h->started || (rc = update_counted(h)) == MPI_SUCCESS)
        memcpy(words, h->counted, (size_t)h->count * sizeof *words);
    return rc;
}

int mt_pvar_handle_read(mt_pvar_handle *h, void *buffer)
{
    if (h->variable->form == MT_FORM_FLUSH)
        return read_text(h, buffer);
    int rc = read_words(h, buffer);
    if (rc == MPI_SUCCESS && h->variable->seconds) {
        uint64_t n = *(uint64_t *)buffer;
        double seconds = 1e-9 * (double)(h->variable->form == MT_FORM_STATE ? mt_pvar_table_nanoseconds(n) : n);
        memcpy(buffer, &seconds, sizeof seconds);
    }
    return rc;
}

int mt_pvar_handle_write(mt_pvar_handle *h, const char *text)
{
    if (h->variable->form != MT_FORM_FLUSH)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (strnlen(text, MT_FILE_NAME) == MT_FILE_NAME) {
        mt_log("rank %d: the file name for pml_monitoring_flush has %d bytes or more: it is rejected",
               mt_process.world_rank, MT_FILE_NAME);
        return MPI_T_ERR_INVALID;
    }
    char *file = *text ? strdup(text) : NULL;
    if (*text && !file)
        return MPI_T_ERR_MEMORY;
    free(h->session->file);
    h->session->file = file;
    return MPI_SUCCESS;
}

int mt_pvar_handle_readreset(mt_pvar_handle *h, void *buffer)
{
    if (!mt_pvar_table_counts(h->variable))
        return MPI_T_ERR_PVAR_NO_ATOMIC;
    // The read moves `from` to the current total, so that nothing is lost between
    // reading and resetting.
    int rc = mt_pvar_handle_read(h, buffer);
    if (rc == MPI_SUCCESS)
        memset(h->counted, 0, (size_t)h->count * sizeof *h->counted);
    return rc;
}

void mt_pvar_handle_free(mt_pvar_handle *h)
{
    if (h->started && h->variable->form == MT_FORM_FLUSH)
        end_phase(h, NULL);
    if (h->variable->form == MT_FORM_HIGHWATERMARK)
        set_watching(h, false);
}

void mt_pvar_handle_freeze(mt_pvar_handle *h)
{
    mt_sums phase;
    if (h->started && mt_pvar_table_counts(h->variable)) {
        update_counted(h);
        memset(h->from, 0, (size_t)h->count * sizeof *h->from);
    } else if (h->started && h->variable->form == MT_FORM_FLUSH && take_phase(h, &phase)) {
        mt_sums_free(&h->before);
        h->before = phase;
    }
}

void mt_pvar_handle_thaw(mt_pvar_handle *h)
{
    mt_sums before;
    if (h->started && mt_pvar_table_counts(h->variable)) {
        read_totals(h, h->from);
    } else if (h->started && h->variable->form == MT_FORM_FLUSH && take_phase(h, &before)) {
        mt_sums_free(&h->before); // the total now, minus the phase, is the new starting point
        h->before = before;
    }
}
