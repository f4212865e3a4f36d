// Settings: what the program says before MPI_Init (mpitrace_set), else what the
// environment does. Those that are not at their default are in the recording.
#ifndef MT_SETTINGS_H
#define MT_SETTINGS_H

#include "base/base.h"
#include "base/settings_gen.h"

#define MT_SETTING_ID(id, name, variable, otherwise, what) MT_SETTING_##id,
typedef enum mt_setting { MT_SETTINGS(MT_SETTING_ID) MT_SETTINGS_COUNT } mt_setting;
#undef MT_SETTING_ID

// Of each: its name, that in the environment, its default, and what it is.
typedef struct mt_setting_traits {
    const char *name, *variable, *otherwise, *what;
} mt_setting_traits;
extern const mt_setting_traits mt_settings[MT_SETTINGS_COUNT];

// What is said of a setting; NULL where nothing is, or nothing that can be used.
const char *mt_setting_text(mt_setting s);

// What is said of it cannot be used: the default holds.
void mt_setting_refuse(mt_setting s);

// What is in force, in a buffer of so many bytes; and how long it is.
size_t mt_setting_shown(mt_setting s, char *buffer, size_t size);

// The program sets it: whether that is done.
typedef enum mt_setting_answer { MT_SET, MT_SET_NEVER, MT_SET_NOT_NOW, MT_SET_NO_VALUE } mt_setting_answer;
mt_setting_answer mt_setting_change(mt_setting s, const char *value);

// Whether it can be set by the program at some time.
bool mt_setting_changes(mt_setting s);

// Enters what is in force into the recording, once it is open.
void mt_settings_log(void);

#endif
