#include "objects/world.h"

#include "base/job.h"
#include "base/lock.h"
#include "base/resolve.h"
#include "record/trace.h"

#include <stdlib.h>
#include <string.h>

// Whether MPI_COMM_WORLD can be used. No session is closed under the lock, so that its
// group can be asked for.
static bool has_world;

static void set_rank(int rank, int size)
{
    mt_process.header->world_rank = mt_process.world_rank = rank;
    mt_trace_rank(rank);
    mt_process.header->world_size = mt_process.world_size = size;
}

void mt_world_open(void)
{
    int rank = -1, size = -1;
    mt_lock(MT_LOCK_WORLD);
    if (mt_mpi.Comm_rank(mt_const.comm_world, &rank) == MPI_SUCCESS &&
        mt_mpi.Comm_size(mt_const.comm_world, &size) == MPI_SUCCESS)
        set_rank(rank, size);
    has_world = true;
    mt_unlock(MT_LOCK_WORLD);
}

void mt_world_close(void)
{
    mt_lock(MT_LOCK_WORLD);
    has_world = false;
    mt_unlock(MT_LOCK_WORLD);
}

#if MT_HAVE_Session_init
static struct session {
    MPI_Session handle;
    bool has_world_set;
} *sessions;
static int session_count, session_capacity;

// Reports whether the session has the process set mpi://WORLD. Looks it up in the list of
// process sets: asking for a set that does not exist would call the session's error
// handler.
static bool has_world_set(MPI_Session session)
{
    static const char world[] = "mpi://WORLD";
    int n = 0;
    if (mt_mpi.Session_get_num_psets(session, mt_const.info_null, &n) != MPI_SUCCESS)
        return false;
    for (int i = 0; i < n; i++) {
        char name[sizeof world + 1];
        int length = sizeof name;
        if (mt_mpi.Session_get_nth_pset(session, mt_const.info_null, i, &length, name) == MPI_SUCCESS &&
            strncmp(name, world, sizeof name) == 0)
            return true;
    }
    return false;
}

// Gets the group of mpi://WORLD from an open session. The group is not kept: in some MPIs a
// session cannot be closed while a group of it exists.
static bool session_group(MPI_Group *group)
{
    for (int i = 0; i < session_count; i++)
        if (sessions[i].has_world_set &&
            mt_mpi.Group_from_session_pset(sessions[i].handle, "mpi://WORLD", group) == MPI_SUCCESS)
            return true;
    return false;
}

static bool add_session(MPI_Session session)
{
    if (session_count == session_capacity) {
        struct session *wider = realloc(sessions, (size_t)(session_capacity + 16) * sizeof *wider);
        if (!wider) {
            mt_count_lost(&mt_process.header->lost_comms, 1); // only this session could describe some communicators
            return false;
        }
        sessions = wider;
        session_capacity += 16;
    }
    sessions[session_count++] = (struct session){session, has_world_set(session)};
    return true;
}

bool mt_world_session_opened(MPI_Session session)
{
    MPI_Group group;
    int rank = -1, size = -1;
    mt_lock(MT_LOCK_WORLD);
    bool added = add_session(session);
    if (mt_process.world_rank < 0 && session_group(&group)) {
        if (mt_mpi.Group_rank(group, &rank) == MPI_SUCCESS && mt_mpi.Group_size(group, &size) == MPI_SUCCESS)
            set_rank(rank, size);
        mt_mpi.Group_free(&group);
    }
    if (mt_process.world_rank < 0 && mt_job_rank(&rank, &size))
        set_rank(rank, size);
    mt_unlock(MT_LOCK_WORLD);
    return added;
}

bool mt_world_session_closing(MPI_Session session)
{
    bool found = false;
    mt_lock(MT_LOCK_WORLD);
    for (int i = 0; i < session_count && !found; i++)
        if (sessions[i].handle == session) {
            sessions[i] = sessions[--session_count];
            found = true;
        }
    mt_unlock(MT_LOCK_WORLD);
    return found;
}
#else
static bool session_group(MPI_Group *group)
{
    (void)group;
    return false;
}
#endif

// Works in pieces of 512 ranks: malloc would keep the memory of a large array that is used
// once.
static bool translate(MPI_Group group, MPI_Group world, int n, mt_world_taker take, void *argument)
{
    int ranks[512], world_ranks[512];
    const int max = sizeof ranks / sizeof *ranks;
    for (int first = 0; first < n; first += max) {
        int some = n - first < max ? n - first : max;
        for (int i = 0; i < some; i++)
            ranks[i] = first + i;
        if (mt_mpi.Group_translate_ranks(group, some, ranks, world, world_ranks) != MPI_SUCCESS ||
            !take(argument, first, some, world_ranks))
            return false;
    }
    return true;
}

bool mt_world_translate(MPI_Group group, int n, mt_world_taker take, void *argument)
{
    MPI_Group world;
    mt_lock(MT_LOCK_WORLD);
    bool ok = has_world ? mt_mpi.Comm_group(mt_const.comm_world, &world) == MPI_SUCCESS : session_group(&world);
    if (ok) {
        ok = translate(group, world, n, take, argument);
        mt_mpi.Group_free(&world);
    }
    mt_unlock(MT_LOCK_WORLD);
    return ok;
}
