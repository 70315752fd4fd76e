/**
 * @file json.hpp
 * Just enough of a JSON writer for the reports.
 */
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace prismem {

class Json {
 public:
  Json &open(char bracket) {
    separate();
    text_ += bracket;
    fresh_ = true;
    return *this;
  }
  Json &close(char bracket) {
    text_ += bracket;
    fresh_ = false;
    return *this;
  }
  Json &key(const char *name) {
    separate();
    quote(name);
    text_ += ": ";
    fresh_ = true;
    return *this;
  }
  Json &value(const std::string &text) {
    separate();
    quote(text);
    return *this;
  }
  Json &value(uint64_t number) {
    separate();
    text_ += std::to_string(number);
    return *this;
  }
  Json &signed_value(int64_t number) {
    separate();
    text_ += std::to_string(number);
    return *this;
  }
  Json &value(double number) {
    char digits[40];
    snprintf(digits, sizeof digits, "%.3f", number);
    separate();
    text_ += digits;
    return *this;
  }
  Json &boolean(bool truth) {
    separate();
    text_ += truth ? "true" : "false";
    return *this;
  }
  template <typename T>
  Json &field(const char *name, T item) {
    return key(name).value(item);
  }
  Json &signed_field(const char *name, int64_t number) { return key(name).signed_value(number); }
  std::string take() { return std::move(text_); }

 private:
  void separate() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }
  void quote(const std::string &text) {
    text_ += '"';
    for (const char c : text) {
      if (c == '"' || c == '\\') {
        text_ += '\\';
        text_ += c;
      } else if (c == '\n') {
        text_ += "\\n";
      } else if (static_cast<unsigned char>(c) < 0x20) {
        char escape[8];
        snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
        text_ += escape;
      } else {
        text_ += c;
      }
    }
    text_ += '"';
  }
  std::string text_;
  bool fresh_ = true;
};

}  // namespace prismem
