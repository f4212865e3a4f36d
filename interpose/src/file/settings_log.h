// The settings in the recording.
#ifndef MT_SETTINGS_LOG_H
#define MT_SETTINGS_LOG_H

#include "base/settings.h"

// Enters what is in force into the recording, once it is open.
void mt_settings_log(void);

// Enters a value that is in force from now on.
void mt_setting_log(mt_setting s, const char *value);

// What is said of it cannot be used: the default holds.
void mt_setting_refuse(mt_setting s);

#endif
