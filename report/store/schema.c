#include "report/store/schema.h"

#define GV_SCHEMA_TEXT_OF(number) #number
#define GV_SCHEMA_TEXT(number)    GV_SCHEMA_TEXT_OF(number)

/* report/store/schema.def and report/store/views.sql */
const char gv_schema_sql[] = "PRAGMA application_id = " GV_SCHEMA_TEXT(
    GV_SCHEMA_APPLICATION_ID) ";\n"
                              "PRAGMA user_version = " GV_SCHEMA_TEXT(GV_SCHEMA_VERSION) ";\n"
#include "report/store_schema_tables.inc"
#include "report/store_views.inc"
    ;
