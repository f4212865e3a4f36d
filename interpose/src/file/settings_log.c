#include "file/settings_log.h"

#include "file/recording.h"

#include <string.h>

enum { MT_SETTING_TEXT = 4096 }; // longest value that is recorded, in bytes; the rest is cut off

void mt_setting_log(mt_setting s, const char *value)
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

void mt_setting_log_rejected(mt_setting s)
{
    mt_setting_reject(s);
    if (mt_process.header)
        mt_setting_log(s, mt_settings[s].default_value);
}

// Records the settings before any of them is used, because the process may end at any
// time. If a value is rejected later, mt_setting_log_rejected adds a record with the default.
void mt_settings_log(void)
{
    for (int s = 0; s < MT_SETTINGS_COUNT; s++) {
        const char *text = mt_setting_text((mt_setting)s);
        if (text && strcmp(text, mt_settings[s].default_value) != 0)
            mt_setting_log((mt_setting)s, text);
    }
}
