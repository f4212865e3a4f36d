// Layer 2, file: where a process writes. It chooses the place of a recording, maps
// the file, lets it grow, appends records to its log, and moves it home at the end;
// likewise the files of events. It knows nothing of what the records mean.
// It calls base/ only.
#ifndef MT_FILE_LAYER_H
#define MT_FILE_LAYER_H

#include "file/events.h"
#include "file/recording.h"
#include "file/recording_path.h"

#endif
