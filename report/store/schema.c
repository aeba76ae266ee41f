#include "report/store/schema.h"

#define GV_SCHEMA_TEXT_OF(number) #number
#define GV_SCHEMA_TEXT(number)    GV_SCHEMA_TEXT_OF(number)

/* report/store/tables.sql and report/store/views.sql, converted by report/store/embed-sql */
const char gv_schema_sql[] = "PRAGMA application_id = " GV_SCHEMA_TEXT(
    GV_SCHEMA_APPLICATION_ID) ";\n"
                              "PRAGMA user_version = " GV_SCHEMA_TEXT(GV_SCHEMA_VERSION) ";\n"
#include "schema_sql.inc"
    ;
