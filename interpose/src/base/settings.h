// Settings. The value is the one that the program set before MPI_Init (mpitrace_set),
// else the one in the environment. Values other than the default are written to the
// recording.
#ifndef MT_SETTINGS_H
#define MT_SETTINGS_H

#include "base/base.h"
#include "base/settings_gen.h"

#define MT_SETTING_ID(id, name, variable, default_value, what) MT_SETTING_##id,
typedef enum mt_setting { MT_SETTINGS(MT_SETTING_ID) MT_SETTINGS_COUNT } mt_setting;
#undef MT_SETTING_ID

// Name, environment variable, default and description of a setting.
typedef struct mt_setting_traits {
    const char *name, *variable, *default_value, *what;
} mt_setting_traits;
extern const mt_setting_traits mt_settings[MT_SETTINGS_COUNT];

// Returns the text of a setting's value, or NULL if it was not set or its value was
// rejected.
const char *mt_setting_text(mt_setting s);

// Rejects the value of a setting, so that the default applies. (Code above base/ calls
// mt_setting_log_rejected, which also writes this to the recording.)
void mt_setting_reject(mt_setting s);

// Stores a value that the program sets before MPI is initialized. Returns false if
// there is no memory.
bool mt_setting_store(mt_setting s, const char *value);

#endif
