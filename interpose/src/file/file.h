// Layer 2, file: the files that a process writes. It chooses the path of a recording,
// maps the file, or a part of the container of the node, extends it, appends records to
// its log, and moves a file of its own to the run directory at the end. It does the same
// for the files of events. It does not know what the records mean. It calls base/ only.
#ifndef MT_FILE_LAYER_H
#define MT_FILE_LAYER_H

#include "file/events.h"
#include "file/recording.h"
#include "file/recording_path.h"
#include "file/storage.h"

#endif
