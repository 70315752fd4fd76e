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
CXX_FUTEX := _ZNSt28__atomic_futex_unsigned_base
CXX_DEADLINE := EPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE
HOOK_WRAPS := memcpy memmove memset memcmp memchr strlen strnlen strcmp strncmp strcpy strncpy \
  __memcpy_chk __memmove_chk __memset_chk \
  open open64 openat close fstat fstat64 stat flock fsync ftruncate posix_fallocate mmap mmap64 munmap msync madvise mlock \
  clock_gettime gettimeofday time nanosleep clock_nanosleep usleep sleep sched_yield getpid getrandom \
  abort exit _exit _Exit quick_exit __assert_fail getenv shm_open shm_unlink \
  readv writev preadv pwritev sendmsg recvmsg lseek lseek64 dup fcntl access mprotect \
  $(foreach name,printf fprintf dprintf sprintf snprintf asprintf,$(name) v$(name) __$(name)_chk __v$(name)_chk) \
  $(shell sed -n 's/,.*//;s/^GUARD.//p' $(EMU_DIR)/src/guarded.def) \
  rand srand random srandom syscall signal sigaction \
  pthread_mutex_init pthread_mutex_destroy pthread_mutex_lock pthread_mutex_trylock pthread_mutex_unlock \
  pthread_mutex_timedlock pthread_mutex_clocklock \
  pthread_cond_init pthread_cond_destroy pthread_cond_wait pthread_cond_signal pthread_cond_broadcast \
  pthread_cond_timedwait pthread_cond_clockwait \
  pthread_rwlock_init pthread_rwlock_destroy pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_unlock \
  pthread_rwlock_tryrdlock pthread_rwlock_trywrlock pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock \
  pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock \
  pthread_spin_init pthread_spin_destroy pthread_spin_lock pthread_spin_trylock pthread_spin_unlock \
  pthread_barrier_init pthread_barrier_destroy pthread_barrier_wait \
  sem_init sem_destroy sem_wait sem_trywait sem_timedwait sem_clockwait sem_post sem_getvalue \
  pthread_create pthread_join pthread_exit pthread_detach pthread_self pthread_equal pthread_once \
  pthread_key_create pthread_key_delete pthread_setspecific pthread_getspecific \
  _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE \
  _ZNSt6thread4joinEv _ZNSt6thread6detachEv \
  _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE \
  _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv \
  $(addsuffix $(CXX_DEADLINE),$(CXX_FUTEX)19_M_futex_wait_until $(CXX_FUTEX)26_M_futex_wait_until_steady) \
  $(CXX_FUTEX)19_M_futex_notify_allEPj \
  _ZNSt6chrono3_V212steady_clock3nowEv _ZNSt6chrono3_V212system_clock3nowEv \
  _ZSt9terminatev __cxa_atexit atexit __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort \
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
