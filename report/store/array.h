/* Room in arrays that grow. */
#ifndef GV_STORE_ARRAY_H
#define GV_STORE_ARRAY_H

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define GV_ARRAY_FIRST 16u

/* Makes room for one more after `count` elements of `bytes` each. `array` points to the pointer to
 * the first, NULL at first; it may move. 0; -ENOMEM: all is as before. */
static inline int gv_array_room(void *array, size_t count, size_t *room, size_t bytes)
{
    size_t more = *room ? 2 * *room : GV_ARRAY_FIRST;
    void *list;

    if (count < *room)
        return 0;
    memcpy(&list, array, sizeof(list));
    list = realloc(list, more * bytes);
    if (!list)
        return -ENOMEM;
    memcpy(array, &list, sizeof(list));
    *room = more;
    return 0;
}

#endif
