/*
 * Marks variables that every call reads with GV_HOT, so that they share a cache line.
 */
#ifndef GV_BASE_HOT_H
#define GV_BASE_HOT_H

#define GV_HOT __attribute__((section("gv_hot")))

#endif
