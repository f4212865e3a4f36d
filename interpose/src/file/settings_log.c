#include "file/settings_log.h"

#include "file/recording.h"

#include <string.h>

enum { MT_SETTING_TEXT = 4096 }; // bytes of a value that count

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

void mt_setting_refuse(mt_setting s)
{
    mt_setting_ignore(s);
    if (mt_process.header)
        mt_setting_log(s, mt_settings[s].otherwise);
}

// Before any of them is made use of: a process may end on the way. What turns out
// to be refused gets a record that takes it back.
void mt_settings_log(void)
{
    for (int s = 0; s < MT_SETTINGS_COUNT; s++) {
        const char *text = mt_setting_text((mt_setting)s);
        if (text && strcmp(text, mt_settings[s].otherwise) != 0)
            mt_setting_log((mt_setting)s, text);
    }
}
