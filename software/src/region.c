/*
 * The mapping behind a pool path: a DAX device, whose size and alignment stand in sysfs, or a file (a memfd through
 * /proc/self/fd too) of a multiple of 2 MiB.
 *
 * Two environment variables move the places where devices are looked for, so that tests can build a tree of their own:
 * PM_DAX_PREFIX (/dev/dax) and PM_DAX_SYSFS (/sys/bus/dax/devices).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handle.h"

static const char *environment(const char *name, const char *otherwise) {
  const char *value = getenv(name);
  return value != NULL && value[0] != '\0' ? value : otherwise;
}

static int is_dax(const char *path) {
  const char *prefix = environment("PM_DAX_PREFIX", "/dev/dax");
  return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* One number of a device's sysfs folder. */
static int dax_attribute(const char *path, const char *attribute, uint64_t *value) {
  const char *slash = strrchr(path, '/');
  char file[256];
  snprintf(file, sizeof file, "%s/%s/%s", environment("PM_DAX_SYSFS", "/sys/bus/dax/devices"),
           slash != NULL ? slash + 1 : path, attribute);
  FILE *f = fopen(file, "r");
  if (f == NULL) return pmi_error(errno, "%s: %s (%s of the DAX device)", file, strerror(errno), attribute);
  char text[32], *end = text;
  const int has_text = fgets(text, sizeof text, f) != NULL;
  fclose(f);
  errno = 0;
  const unsigned long long number = has_text ? strtoull(text, &end, 10) : 0;
  if (end == text || errno != 0 || (*end != '\n' && *end != '\0'))
    return pmi_error(EINVAL, "%s: holds no number (%s of the DAX device)", file, attribute);
  *value = number;
  return 0;
}

static int dax_size(const char *path, uint64_t wanted, uint64_t *bytes) {
  uint64_t size = 0, align = 0;
  int rc = dax_attribute(path, "size", &size);
  if (rc == 0) rc = dax_attribute(path, "align", &align);
  if (rc < 0) return rc;
  if (align == 0 || size == 0 || size % align != 0)
    return pmi_error(EINVAL, "size: %llu of %s is not a multiple of its alignment %llu", (unsigned long long)size, path,
                     (unsigned long long)align);
  if (wanted > size)
    return pmi_error(ENOSPC, "pool_bytes: %llu is more than the %llu of %s", (unsigned long long)wanted,
                     (unsigned long long)size, path);
  *bytes = wanted == 0 ? size : (wanted + align - 1) / align * align;
  return 0;
}

static int file_size(const char *path, int fd, uint64_t wanted, int create, uint64_t *bytes) {
  struct stat st;
  if (fstat(fd, &st) != 0) return pmi_error(errno, "%s: %s", path, strerror(errno));
  uint64_t size = (uint64_t)st.st_size;
  wanted = (wanted + PMI_POOL_ALIGN - 1) / PMI_POOL_ALIGN * PMI_POOL_ALIGN;
  if (create && wanted > size) {
    if (ftruncate(fd, (off_t)wanted) != 0)
      return pmi_error(errno, "pool_bytes: %s cannot grow to %llu: %s", path, (unsigned long long)wanted,
                       strerror(errno));
    size = wanted;
  }
  *bytes = wanted == 0 ? size / PMI_POOL_ALIGN * PMI_POOL_ALIGN : wanted;
  if (*bytes == 0 || *bytes > size)
    return pmi_error(EINVAL, "pool_bytes: %s has %llu bytes, a pool takes a multiple of 2 MiB", path,
                     (unsigned long long)size);
  return 0;
}

int pmi_region_map(const char *path, uint64_t wanted, enum pmi_map how, unsigned char **base, uint64_t *bytes) {
  if (path == NULL) return pmi_error(EINVAL, "path: is NULL");
  const int dax = is_dax(path), create = how == PMI_MAP_CREATE;
  const int fd =
      open(path, (how == PMI_MAP_READ ? O_RDONLY : O_RDWR) | O_CLOEXEC | (create && !dax ? O_CREAT : 0), 0660);
  if (fd < 0) return pmi_error(errno, "%s: %s", path, strerror(errno));
  int rc = dax ? dax_size(path, wanted, bytes) : file_size(path, fd, wanted, create, bytes);
  if (rc == 0) {
    void *p = mmap(NULL, *bytes, PROT_READ | (how == PMI_MAP_READ ? 0 : PROT_WRITE), MAP_SHARED, fd, 0);
    if (p == MAP_FAILED)
      rc = pmi_error(errno, "%s: cannot map %llu bytes: %s", path, (unsigned long long)*bytes, strerror(errno));
    else
      *base = p;
  }
  close(fd);
  return rc;
}

void pmi_region_unmap(unsigned char *base, uint64_t bytes) {
  munmap(base, bytes);
}

int pmi_region_lock(const char *path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX) != 0) {
    close(fd);
    return -1;
  }
  return fd;
}

void pmi_region_unlock(int descriptor) {
  if (descriptor >= 0) close(descriptor);
}
