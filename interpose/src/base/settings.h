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

// What is said of it cannot be used: the default holds. (Code above base/ says so by
// mt_setting_refuse, which also enters it into the recording.)
void mt_setting_ignore(mt_setting s);

// The program says this, before MPI is opened; false without memory.
bool mt_setting_keep(mt_setting s, const char *value);

#endif
