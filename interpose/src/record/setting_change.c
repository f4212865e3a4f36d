#include "record/setting_change.h"

#include "base/lock.h"
#include "file/settings_log.h"
#include "record/sample.h"
#include "record/slice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// A program may change settings any number of times. Only this many changes are
// recorded.
enum { MT_CHANGES = 100 };

// What a program may set. `change` sets it while MPI is open; it is NULL if that is not
// possible.
static struct {
    mt_setting setting;
    bool (*is_value)(const char *text);
    void (*change)(const char *text);
    char now[32]; // the value, if it was changed while MPI was open
} changeable[] = {
    {MT_SETTING_INTERVAL, mt_slice_is_interval, mt_slice_set_interval, ""},
    {MT_SETTING_TIMING, mt_sample_is_setting, NULL, ""}, // tables are laid out for it
};

enum { CHANGEABLE = sizeof changeable / sizeof *changeable };


static int find_changeable(mt_setting s)
{
    int i = 0;
    while (i < CHANGEABLE && changeable[i].setting != s)
        i++;
    return i;
}

bool mt_setting_is_changeable(mt_setting s)
{
    return find_changeable(s) < CHANGEABLE;
}

size_t mt_setting_current(mt_setting s, char *buffer, size_t size)
{
    int i = find_changeable(s);
    mt_lock(MT_LOCK_SETTINGS);
    const char *text = i < CHANGEABLE && *changeable[i].now ? changeable[i].now : mt_setting_text(s);
    if (!text)
        text = mt_settings[s].default_value;
    size_t length = strlen(text);
    if (size > 0) {
        memcpy(buffer, text, length < size ? length : size - 1);
        buffer[length < size ? length : size - 1] = '\0';
    }
    mt_unlock(MT_LOCK_SETTINGS);
    return length;
}

static void change(int i, const char *value)
{
    static int changes;
    mt_lock(MT_LOCK_SETTINGS);
    changeable[i].change(value);
    snprintf(changeable[i].now, sizeof changeable[i].now, "%s", value);
    if (changes < MT_CHANGES)
        mt_setting_log(changeable[i].setting, ++changes < MT_CHANGES ? value : "changing");
    mt_unlock(MT_LOCK_SETTINGS);
}

mt_setting_result mt_setting_change(mt_setting s, const char *value)
{
    int i = find_changeable(s);
    mt_state state = atomic_load_explicit(&mt_process.state, memory_order_acquire);
    if (i == CHANGEABLE)
        return MT_SET_NEVER;
    if (strlen(value) >= sizeof changeable[i].now || !changeable[i].is_value(value))
        return MT_SET_INVALID;
    if (state == MT_NOT_STARTED)
        return mt_setting_store(s, value) ? MT_SET : MT_SET_NOT_NOW;
    if (state != MT_ON || !changeable[i].change)
        return MT_SET_NOT_NOW;
    change(i, value);
    return MT_SET;
}

static bool set(const char *name, const char *value)
{
    for (int i = 0; i < CHANGEABLE; i++)
        if (strcmp(name, mt_settings[changeable[i].setting].name) == 0)
            return mt_setting_change(changeable[i].setting, value) == MT_SET;
    return false;
}

// Called by mpitrace.h. Returns 0, or -1 if the change is refused.
MT_EXPORT int mpitrace_change_setting(const char *name, const char *value);

MT_EXPORT int mpitrace_change_setting(const char *name, const char *value)
{
    int saved = errno;
    bool done = name && value && set(name, value);
    errno = saved;
    return done ? 0 : -1;
}
