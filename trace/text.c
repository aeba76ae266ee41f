#include "trace/text.h"

#include <stdio.h>
#include <string.h>

static const unsigned char text_replacement[] = {0xef, 0xbf, 0xbd};

uint32_t gv_text_decode(const char *start, size_t bytes, size_t *length)
{
    const unsigned char *text = (const unsigned char *)start;
    static const uint32_t lowest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t character = text[0];
    size_t wanted;

    *length = 1;
    if (character < 0x80)
        return character;
    if (character >= 0xc2 && character <= 0xdf)
        wanted = 2;
    else if (character >= 0xe0 && character <= 0xef)
        wanted = 3;
    else if (character >= 0xf0 && character <= 0xf4)
        wanted = 4;
    else
        return GV_TEXT_NO_CHARACTER;
    if (wanted > bytes)
        return GV_TEXT_NO_CHARACTER;
    character &= 0x7fu >> wanted;
    for (size_t i = 1; i < wanted; i++) {
        if ((text[i] & 0xc0) != 0x80)
            return GV_TEXT_NO_CHARACTER;
        character = character << 6 | (text[i] & 0x3fu);
    }
    if (character < lowest[wanted] || character > 0x10ffff ||
        (character >= 0xd800 && character <= 0xdfff))
        return GV_TEXT_NO_CHARACTER;
    *length = wanted;
    return character;
}

size_t gv_text_repair(char *out, size_t size, const char *text, size_t bytes)
{
    size_t used = 0, length;

    if (size == 0)
        return 0;
    for (size_t at = 0; at < bytes && text[at] != '\0'; at += length) {
        const char *from = text + at;
        bool valid = gv_text_decode(from, bytes - at, &length) != GV_TEXT_NO_CHARACTER;
        size_t room = valid ? length : sizeof(text_replacement);

        if (used + room >= size)
            break;
        memcpy(out + used, valid ? (const void *)from : text_replacement, room);
        used += room;
    }
    out[used] = '\0';
    return used;
}

bool gv_text_is_harmful(uint32_t character)
{
    return character < 0x20 || (character >= 0x7f && character <= 0x9f) ||
           (character >= 0x200b && character <= 0x200f) ||
           (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0xfeff;
}

size_t gv_text_escape(char *out, size_t size, const char *text)
{
    size_t left = strlen(text), used = 0, length;

    if (size == 0)
        return 0;
    for (; left > 0; text += length, left -= length) {
        uint32_t character = gv_text_decode(text, left, &length);
        char piece[16];

        if (character == GV_TEXT_NO_CHARACTER)
            snprintf(piece, sizeof(piece), "\\x%02x", (unsigned char)text[0]);
        else if (character == '\n')
            strcpy(piece, "\\n");
        else if (character == '\t')
            strcpy(piece, "\\t");
        else if (gv_text_is_harmful(character))
            snprintf(piece, sizeof(piece), character < 0x80 ? "\\x%02x" : "\\u%04x", character);
        else
            snprintf(piece, sizeof(piece), "%.*s", (int)length, text);
        if (used + strlen(piece) >= size)
            break;
        strcpy(out + used, piece);
        used += strlen(piece);
    }
    out[used] = '\0';
    return used;
}

size_t gv_text_width(const char *text)
{
    size_t width = 0;

    for (; *text; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}
