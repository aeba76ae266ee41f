#include "report/commands/cause_words.h"

const char gv_cause_words[] = ""
#define GV_CAUSE(name, text, ...) " " text
#include "report/analyse/stalls/causes.def"
    ;
