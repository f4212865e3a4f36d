// Writes settings to the recording.
#ifndef MT_SETTINGS_LOG_H
#define MT_SETTINGS_LOG_H

#include "base/settings.h"

// Records the settings that differ from their defaults, once the recording is open.
void mt_settings_log(void);

// Records a value that is in force from now on.
void mt_setting_log(mt_setting s, const char *value);

// Rejects the value of a setting: the default applies, and is recorded.
void mt_setting_log_rejected(mt_setting s);

#endif
