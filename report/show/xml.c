#include "report/show/xml.h"

#include "trace/text.h"

#include <string.h>

void gv_xml_text(FILE *out, const char *text)
{
    size_t left = strlen(text), length;

    for (; left > 0; text += length, left -= length) {
        uint32_t character = gv_text_decode(text, left, &length);
        if (character == '&')
            fputs("&amp;", out);
        else if (character == '<')
            fputs("&lt;", out);
        else if (character == '>')
            fputs("&gt;", out);
        else if (character == '"')
            fputs("&quot;", out);
        else if (character == GV_TEXT_NO_CHARACTER || gv_text_is_harmful(character) ||
                 character == 0xfffe || character == 0xffff)
            fputs("\xef\xbf\xbd", out);
        else
            fwrite(text, 1, length, out);
    }
}
