/**
 * @file symbols.cpp
 * Code addresses to function, file and line: one addr2line run a loaded object, only when a report is asked for, and once an
 * address while the machine lives: shortening a log meets the same few places hundreds of times. Without addr2line or debug
 * information the nearest symbol stands in.
 */
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstring>
#include <map>

#include "modules.hpp"

namespace prismem {

namespace {

const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

struct Address {
  std::string object;
  uint64_t offset = 0;
  std::string symbol;
};

Address address_of(uint64_t pc) {
  Address address;
  Dl_info info;
  if (pc == 0 || dladdr(reinterpret_cast<void *>(pc), &info) == 0 || info.dli_fname == nullptr) return address;
  address.object = info.dli_fname;
  address.offset = pc - reinterpret_cast<uint64_t>(info.dli_fbase);
  if (info.dli_sname != nullptr) {
    char text[32];
    snprintf(text, sizeof text, "+0x%llx",
             static_cast<unsigned long long>(pc - reinterpret_cast<uint64_t>(info.dli_saddr)));
    address.symbol = std::string(info.dli_sname) + text;
  }
  return address;
}

/** What is known of code addresses; the objects stay loaded as long as the machine. */
std::map<uint64_t, Location> &known_places() {
  static std::map<uint64_t, Location> places;
  return places;
}

std::string quote_for_shell(const std::string &text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string read_line(FILE *pipe) {
  std::string line;
  char part[512];
  while (fgets(part, sizeof part, pipe) != nullptr) {
    line += part;
    if (!line.empty() && line.back() == '\n') break;
  }
  while (!line.empty() && line.back() == '\n') line.pop_back();
  return line;
}

/** Without parameters and without what the compiler adds to the names of parts of a function. */
std::string short_name(std::string name) {
  name = name.substr(0, name.find(" [clone"));
  const size_t end = name.rfind(')');
  if (end == std::string::npos) return name;
  size_t depth = 0;
  for (size_t i = end + 1; i-- > 0;) {
    depth += name[i] == ')';
    if (name[i] != '(' || --depth != 0) continue;
    const bool is_call = i >= 8 && name.compare(i - 8, 8, "operator") == 0;  // its brackets belong to the name
    return i == 0 || is_call ? name.substr(0, end + 1) : name.substr(0, i);
  }
  return name;
}

/** Headers that come with the compiler and the system: what is inlined from there belongs to the line that called it. */
bool is_system(const std::string &source) {
  for (const char *part : {"/usr/include/", "/usr/lib/", "/usr/local/include/", "/include/c++/"}) {
    if (source.find(part) != std::string::npos) return true;
  }
  return source.find("prismem_hooks.h:") != std::string::npos;
}

/**
 * Frames of inlined functions, innermost first, after a line with the address. The innermost one in the program's own
 * files counts; if there is none, the outermost.
 */
void read_frames(FILE *pipe, const std::vector<size_t> &members, std::vector<Location> &found) {
  size_t member = 0;
  bool settled = true;
  for (std::string line = read_line(pipe); !line.empty(); line = read_line(pipe)) {
    if (line.compare(0, 2, "0x") == 0) {
      if (member == members.size()) return;
      ++member;
      settled = false;
      continue;
    }
    std::string source = read_line(pipe);
    if (settled || member == 0) continue;
    Location &where = found[members[member - 1]];
    if (line[0] != '?') where.function = short_name(line);
    source = source.substr(0, source.find(" (discriminator"));
    const bool known = !source.empty() && source[0] != '?' && source.find(":?") == std::string::npos;
    if (known) where.source = base_name(source.c_str());
    settled = !known || !is_system(source);
  }
}

}  // namespace

std::string module_offset(uint64_t pc) {
  const Address address = address_of(pc);
  if (address.object.empty()) return "?";
  char text[32];
  snprintf(text, sizeof text, "+0x%llx", static_cast<unsigned long long>(address.offset));
  return base_name(address.object.c_str()) + std::string(text);
}

std::vector<Location> locate(const std::vector<uint32_t> &pcs) {
  std::vector<Location> found(pcs.size());
  std::map<std::string, std::vector<size_t>> by_object;
  std::vector<Address> addresses(pcs.size());
  for (size_t i = 0; i < pcs.size(); ++i) {
    const uint64_t pc = pc_of(pcs[i]);
    if (const auto known = known_places().find(pc); known != known_places().end()) {
      found[i] = known->second;
      continue;
    }
    addresses[i] = address_of(pc);
    found[i].function = addresses[i].symbol;
    found[i].source = pc == 0 ? "" : module_offset(pc);
    if (!addresses[i].object.empty()) by_object[addresses[i].object].push_back(i);
  }
  for (const auto &[object, members] : by_object) {
    std::string command = "addr2line -a -i -f -C -e " + quote_for_shell(object);
    for (const size_t i : members) {
      char text[32];
      snprintf(text, sizeof text, " 0x%llx", static_cast<unsigned long long>(addresses[i].offset - 1));
      command += text;
    }
    FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
    if (pipe == nullptr) continue;
    read_frames(pipe, members, found);
    pclose(pipe);
    for (const size_t i : members) known_places()[pc_of(pcs[i])] = found[i];
  }
  return found;
}

void locate_forget() {
  known_places().clear();
}

}  // namespace prismem
