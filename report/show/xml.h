/* Untrusted text in XML: JUnit's, SVG. */
#ifndef GV_SHOW_XML_H
#define GV_SHOW_XML_H

#include <stdio.h>

/* Writes the text of an element or a quoted attribute. What XML does not allow becomes U+FFFD. */
void gv_xml_text(FILE *out, const char *text);

#endif
