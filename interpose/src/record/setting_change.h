// Settings that the program changes while it runs: through mpitrace.h, or as control
// variables of MPI_T.
#ifndef MT_SETTING_CHANGE_H
#define MT_SETTING_CHANGE_H

#include "base/settings.h"

// What is in force, in a buffer of so many bytes; and how long it is.
size_t mt_setting_shown(mt_setting s, char *buffer, size_t size);

// The program sets it: whether that is done.
typedef enum mt_setting_answer { MT_SET, MT_SET_NEVER, MT_SET_NOT_NOW, MT_SET_NO_VALUE } mt_setting_answer;
mt_setting_answer mt_setting_change(mt_setting s, const char *value);

// Whether it can be set by the program at some time.
bool mt_setting_changes(mt_setting s);

#endif
