#include "trace/shell_word.h"

#include "trace/text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define GV_SHELL_PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-:,@%="

static bool shell_is_harmful(const char *text, size_t bytes, size_t *length)
{
    uint32_t character = gv_text_decode(text, bytes, length);

    return character == GV_TEXT_NO_CHARACTER || gv_text_is_harmful(character);
}

static bool shell_any_harmful(const char *text)
{
    size_t length;

    for (size_t left = strlen(text); left > 0; text += length, left -= length)
        if (shell_is_harmful(text, left, &length))
            return true;
    return false;
}

/* Writes one character between quotes. Returns how many bytes of the text it is. */
static size_t shell_quote_one(char piece[32], const char *text, bool escapes)
{
    size_t length, used = 0;
    bool harmful = shell_is_harmful(text, strlen(text), &length);

    if (escapes && (harmful || *text == ' ')) {
        for (size_t i = 0; i < length; i++)
            used += (size_t)snprintf(piece + used, 32 - used, "\\x%02x", (unsigned char)text[i]);
        return length;
    }
    if (*text == '\'')
        strcpy(piece, escapes ? "\\'" : "'\\''");
    else if (*text == '\\' && escapes)
        strcpy(piece, "\\\\");
    else
        snprintf(piece, 32, "%.*s", (int)length, text);
    return length;
}

const char *gv_shell_word(char word[GV_SHELL_WORD_BYTES], const char *text)
{
    const char *folder = *text == '-' ? "./" : ""; /* it is not an option */
    size_t used, length = strlen(text);
    bool escapes = shell_any_harmful(text);

    if (length > 0 && strspn(text, GV_SHELL_PLAIN) == length) {
        used = (size_t)snprintf(word, GV_SHELL_WORD_BYTES, "%s%s", folder, text);
        return used + 2 > GV_SHELL_WORD_BYTES ? strcpy(word, "FILE") : word;
    }
    used = (size_t)snprintf(word, GV_SHELL_WORD_BYTES, "%s'%s", escapes ? "$" : "", folder);
    while (*text) {
        char piece[32];

        text += shell_quote_one(piece, text, escapes);
        if (used + strlen(piece) + 2 > GV_SHELL_WORD_BYTES)
            return strcpy(word, "FILE");
        strcpy(word + used, piece);
        used += strlen(piece);
    }
    strcpy(word + used, "'");
    return word;
}
