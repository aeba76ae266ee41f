/*
 * Variables that every call reads lie together, in one line of the cache: GV_HOT before each.
 */
#ifndef GV_BASE_HOT_H
#define GV_BASE_HOT_H

#define GV_HOT __attribute__((section("gv_hot")))

#endif
