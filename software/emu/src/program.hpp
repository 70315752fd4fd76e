/**
 * @file program.hpp
 * A user's program: one loaded copy for each host, its globals and heap as they were before the first execution.
 */
#pragma once

#include <cstdint>
#include <string>

namespace prismem {

/** Keep globals and heap as they are now; every execution starts from them. */
void programs_keep();
void programs_restore();
void programs_forget();
/** Call what the running host's program has registered with atexit() and for its globals, the last first. */
void exit_handlers_run();
/** There are programs: exit() ends one, and their heap is the emulator's. */
bool programs_any();
/** The calls that have led to the innermost function of the program, as `, called from f at file:line, ...`; may be empty. */
std::string callers_of_program();
/** Other threads of this host end with its process. */
void programs_end_host(uint32_t host);
/** "name+0x..." of a code address, the same for every host's copy. */
std::string program_offset(uint64_t pc);
/** Hash of that: the same in each host's copy of the program. */
uint64_t program_place(uint64_t pc);

/** Heap of the programs: allocated from when an emulated thread of a program asks. */
void *heap_take(size_t bytes, size_t align);
void heap_give(void *memory);
bool heap_owns(const void *memory);
size_t heap_size(const void *memory);
void heap_reset();

}  // namespace prismem
