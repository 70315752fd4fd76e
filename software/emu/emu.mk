# How to build the host emulator and programs that run on it. Include it after setting ROOT to the repository's root.
#
#   EMU_LIB       the emulator, and the rule that builds it
#   HOOK_CFLAGS   compile an instrumented object (gcc or g++)
#   HOOK_LDFLAGS  link instrumented objects into a shared library: $(CXX) -shared objects $(HOOK_LDFLAGS)

EMU_DIR := $(ROOT)/software/emu
EMU_BUILD := $(ROOT)/build/sw/emu
EMU_LIB := $(ROOT)/build/sw/libprismem_emu.so
EMU_SRCS := $(sort $(wildcard $(EMU_DIR)/src/*.cpp))
EMU_OBJS := $(patsubst $(EMU_DIR)/src/%.cpp,$(EMU_BUILD)/%.o,$(EMU_SRCS))
EMU_CXXFLAGS := -std=c++20 -O2 -g -fPIC -fvisibility=hidden -fno-exceptions -mcx16 -Wall -Wextra -Wconversion -Wshadow \
  -I$(EMU_DIR)/include

comma := ,
HOOK_CFLAGS := -fsanitize=thread --param tsan-distinguish-volatile=1 -fno-builtin \
  -mstringop-strategy=libcall -g -fPIC -fno-omit-frame-pointer \
  -fno-optimize-sibling-calls -Wno-tsan -mclflushopt -mclwb -mmovdir64b -include prismem_hooks.h -I$(EMU_DIR)/include
HOOK_WRAPS := memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strcpy strncpy \
  __memcpy_chk __memmove_chk __memset_chk \
  open open64 openat close fstat fstat64 stat flock fsync ftruncate posix_fallocate mmap mmap64 munmap msync madvise mlock \
  clock_gettime gettimeofday time nanosleep clock_nanosleep usleep sleep sched_yield getpid getrandom \
  abort exit _exit __assert_fail getenv shm_open shm_unlink \
  read write pread pwrite fread fwrite send recv \
  pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock \
  pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_signal pthread_cond_broadcast \
  pthread_create pthread_join pthread_detach pthread_self pthread_equal pthread_once \
  malloc calloc realloc free aligned_alloc posix_memalign strdup \
  _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm \
  _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t
HOOK_LDFLAGS := $(addprefix -Wl$(comma)--wrap=,$(HOOK_WRAPS)) \
  -L$(ROOT)/build/sw -lprismem_emu -Wl,-rpath,'$$ORIGIN' -Wl,-z,defs

$(EMU_BUILD)/%.o: $(EMU_DIR)/src/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(EMU_CXXFLAGS) -MMD -MP -c $< -o $@

$(EMU_LIB): $(EMU_OBJS)
	@mkdir -p $(@D)
	$(CXX) -shared -Wl,-z,defs -o $@.new $^ -Wl,--as-needed -latomic -ldl -pthread
	mv $@.new $@

# Benchmarks: build/sw/emu_bench prints JSON; libemu_bench.so holds its thread functions for other ports.
EMU_BENCH := $(ROOT)/build/sw/emu_bench
EMU_BENCH_LIB := $(ROOT)/build/sw/libemu_bench.so

$(EMU_BENCH_LIB): $(EMU_DIR)/bench/emu_bench.c $(EMU_DIR)/bench/emu_bench.h $(EMU_LIB)
	$(CC) -std=gnu11 -O2 -Wall -Wextra $(HOOK_CFLAGS) -c $< -o $(EMU_BUILD)/bench_threads.o
	$(CC) -shared $(EMU_BUILD)/bench_threads.o $(HOOK_LDFLAGS) -o $@

$(EMU_BENCH): $(EMU_DIR)/bench/main.c $(EMU_BENCH_LIB)
	$(CC) -std=gnu11 -O2 -Wall -Wextra -I$(EMU_DIR)/include $< -L$(ROOT)/build/sw -lemu_bench -lprismem_emu \
	  -Wl,-rpath,'$$ORIGIN' -o $@

-include $(EMU_OBJS:.o=.d)
