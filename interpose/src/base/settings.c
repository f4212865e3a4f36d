#include "base/settings.h"

#include "base/lock.h"
#include "file/recording.h"
#include "record/sample.h"
#include "record/slice.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// A program may change a setting again and again: not all of it is kept. Values
// are as long as the environment lets them be.
enum { MT_CHANGES = 100, MT_SETTING_TEXT = 4096 };

#define MT_SETTING_TRAITS(id, name, variable, otherwise, what) {name, variable, otherwise, what},
const mt_setting_traits mt_settings[MT_SETTINGS_COUNT] = {MT_SETTINGS(MT_SETTING_TRAITS)};
#undef MT_SETTING_TRAITS

// By the program. They are never freed: MPI_Init may be reading them.
static _Atomic(char *) said[MT_SETTINGS_COUNT];
static bool refused[MT_SETTINGS_COUNT];

const char *mt_setting_text(mt_setting s)
{
    const char *text = atomic_load_explicit(&said[s], memory_order_acquire);
    if (!text)
        text = getenv(mt_settings[s].variable);
    return text && *text && !refused[s] ? text : NULL;
}

static void log_setting(mt_setting s, const char *value)
{
    size_t name = strlen(mt_settings[s].name), length = strnlen(value, MT_SETTING_TEXT);
    mt_l_setting *r = mt_recording_begin(sizeof *r + name + length);
    if (!r)
        return;
    r->name_length = (uint32_t)name;
    r->value_length = (uint32_t)length;
    memcpy(r + 1, mt_settings[s].name, name);
    memcpy((char *)(r + 1) + name, value, length);
    mt_recording_commit(r, MT_RECORD_SETTING);
}

void mt_setting_refuse(mt_setting s)
{
    refused[s] = true;
    if (mt_header)
        log_setting(s, mt_settings[s].otherwise);
}

// Before any of them is made use of: a process may end on the way. What turns out
// to be refused gets a record that takes it back.
void mt_settings_log(void)
{
    for (int s = 0; s < MT_SETTINGS_COUNT; s++) {
        const char *text = mt_setting_text((mt_setting)s);
        if (text && strcmp(text, mt_settings[s].otherwise) != 0)
            log_setting((mt_setting)s, text);
    }
}

// What a program may set, and how it is done while MPI is open, if it can be.
static struct {
    mt_setting setting;
    bool (*is_value)(const char *text);
    void (*change)(const char *text);
    char now[32]; // if it was changed while MPI was open
} changeable[] = {
    {MT_SETTING_INTERVAL, mt_slice_is_length, mt_slice_cut, ""},
    {MT_SETTING_TIMING, mt_sample_is_timing, NULL, ""}, // tables are made for it
};

enum { CHANGEABLE = sizeof changeable / sizeof *changeable };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int changeable_at(mt_setting s)
{
    int i = 0;
    while (i < CHANGEABLE && changeable[i].setting != s)
        i++;
    return i;
}

bool mt_setting_changes(mt_setting s)
{
    return changeable_at(s) < CHANGEABLE;
}

size_t mt_setting_shown(mt_setting s, char *buffer, size_t size)
{
    int i = changeable_at(s);
    mt_lock(&lock);
    const char *text = i < CHANGEABLE && *changeable[i].now ? changeable[i].now : mt_setting_text(s);
    if (!text)
        text = mt_settings[s].otherwise;
    size_t length = strlen(text);
    if (size > 0) {
        memcpy(buffer, text, length < size ? length : size - 1);
        buffer[length < size ? length : size - 1] = '\0';
    }
    mt_unlock(&lock);
    return length;
}

static mt_setting_answer keep(mt_setting s, const char *value)
{
    char *copy = strdup(value);
    if (copy)
        atomic_store_explicit(&said[s], copy, memory_order_release);
    return copy ? MT_SET : MT_SET_NOT_NOW;
}

static void change(int i, const char *value)
{
    static int changes;
    mt_lock(&lock);
    changeable[i].change(value);
    snprintf(changeable[i].now, sizeof changeable[i].now, "%s", value);
    if (changes < MT_CHANGES)
        log_setting(changeable[i].setting, ++changes < MT_CHANGES ? value : "changing");
    mt_unlock(&lock);
}

mt_setting_answer mt_setting_change(mt_setting s, const char *value)
{
    int i = changeable_at(s);
    mt_state state = atomic_load_explicit(&mt_state_now, memory_order_acquire);
    if (i == CHANGEABLE)
        return MT_SET_NEVER;
    if (strlen(value) >= sizeof changeable[i].now || !changeable[i].is_value(value))
        return MT_SET_NO_VALUE;
    if (state == MT_COLD)
        return keep(s, value);
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

// What mpitrace.h calls: 0, or -1 if it is refused.
MT_EXPORT int mpitrace_change_setting(const char *name, const char *value);

MT_EXPORT int mpitrace_change_setting(const char *name, const char *value)
{
    int saved = errno;
    bool done = name && value && set(name, value);
    errno = saved;
    return done ? 0 : -1;
}
