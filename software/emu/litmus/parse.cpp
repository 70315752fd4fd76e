/**
 * @file parse.cpp
 * Reader of the litmus text format (docs/litmus.md). Every error names file, line, column, what is wrong and the cure.
 */
#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "program.hpp"
#include "statements.hpp"

namespace litmus {

void Place::fail(unsigned column, const std::string &message) const {
  throw InputError(path + ":" + std::to_string(line) + ":" + std::to_string(column) + ": " + message);
}

bool parse_number(const std::string &text, int64_t &value) {
  constexpr size_t kDigitsMax = 9;
  const size_t sign = !text.empty() && text[0] == '-';
  if (text.size() == sign || text.size() > sign + kDigitsMax) return false;
  if (!std::all_of(text.begin() + static_cast<ptrdiff_t>(sign), text.end(),
                   [](char c) { return c >= '0' && c <= '9'; }))
    return false;
  value = std::stoll(text);
  return true;
}

uint8_t Values::id(int64_t value) {
  const auto found = numbers_.find(value);
  if (found != numbers_.end()) return found->second;
  if (values_.size() == kValuesMax) {
    throw InputError("more than " + std::to_string(kValuesMax) + " different values (the last is " +
                     std::to_string(value) + "); bound the loop that counts");
  }
  values_.push_back(value);
  return numbers_[value] = static_cast<uint8_t>(values_.size() - 1);
}

unsigned Program::hosts() const {
  int most = std::max(options.dma_snoop, options.ddio);
  for (const Thread &thread : threads) most = std::max(most, static_cast<int>(thread.host));
  for (const unsigned host : crashes) most = std::max(most, static_cast<int>(host));
  return static_cast<unsigned>(most + 1);
}

std::vector<Token> split(const std::string &line) {
  std::vector<Token> tokens;
  size_t i = 0;
  while (i < line.size()) {
    if (isspace(static_cast<unsigned char>(line[i]))) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < line.size() && !isspace(static_cast<unsigned char>(line[end]))) ++end;
    tokens.push_back(Token{line.substr(i, end - i), static_cast<unsigned>(i + 1)});
    i = end;
  }
  return tokens;
}

bool is_name(const std::string &text) {
  return !text.empty() && !isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

KeyValue key_value(const Place &place, const Token &token) {
  const size_t equals = token.text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == token.text.size()) {
    place.fail(token.column, "'" + token.text + "' is not of the form name=value");
  }
  return KeyValue{token.text.substr(0, equals), token.text.substr(equals + 1),
                  token.column + static_cast<unsigned>(equals) + 1};
}

unsigned below(const Place &place, unsigned column, const std::string &text, unsigned bound, const std::string &what) {
  int64_t value = 0;
  if (!parse_number(text, value) || value < 0 || value >= static_cast<int64_t>(bound)) {
    place.fail(column, what + " '" + text + "' is outside 0.." + std::to_string(bound - 1));
  }
  return static_cast<unsigned>(value);
}

namespace {

class Reader {
 public:
  explicit Reader(const std::string &path) { place_.path = path, program_.path = path; }

  Program run(const std::string &text) {
    std::istringstream input(text);
    std::string line;
    std::vector<Token> tokens;
    while (std::getline(input, line)) {
      ++place_.line;
      line = line.substr(0, line.find('#'));
      tokens = split(line);
      if (!tokens.empty()) statement(line, tokens);
    }
    finish();
    return std::move(program_);
  }

 private:
  void statement(const std::string &line, const std::vector<Token> &tokens) {
    const std::string &word = tokens[0].text;
    if (word != "litmus" && program_.name.empty()) {
      place_.fail(tokens[0].column, "a program starts with 'litmus NAME'");
    }
    if (word == "litmus") {
      name(tokens);
    } else if (word == "vars") {
      variables(tokens);
    } else if (word == "init") {
      initial(tokens);
    } else if (word == "options") {
      for (size_t i = 1; i < tokens.size(); ++i) read_option(place_, tokens[i], program_.options);
    } else if (word == "crash") {
      crash(tokens);
    } else if (word == "thread") {
      thread(tokens);
    } else if (word == "bad") {
      close_thread();
      if (program_.bad.root >= 0) place_.fail(tokens[0].column, "a second 'bad'; join both with 'or'");
      program_.bad = parse_expression(place_, line, tokens[0].column + 3, program_);
    } else if (word == "expect") {
      for (size_t i = 1; i < tokens.size(); ++i) read_claim(place_, tokens[i], program_);
    } else {
      instruction(line, tokens);
    }
  }

  void name(const std::vector<Token> &tokens) {
    if (!program_.name.empty()) place_.fail(tokens[0].column, "a second 'litmus'; put each program into its own file");
    if (tokens.size() != 2) place_.fail(tokens[0].column, "write 'litmus NAME', one name without spaces");
    program_.name = tokens[1].text;
  }

  void variables(const std::vector<Token> &tokens) {
    if (!program_.threads.empty()) place_.fail(tokens[0].column, "'vars' comes before the first thread");
    for (size_t i = 1; i < tokens.size(); ++i) {
      const KeyValue pair = key_value(place_, tokens[i]);
      const size_t colon = pair.value.find(':');
      if (!is_name(pair.key)) place_.fail(tokens[i].column, "'" + pair.key + "' is no name of a variable");
      if (colon == std::string::npos) place_.fail(pair.column, "write " + pair.key + "=line:word, words are 8 bytes");
      Word word;
      word.name = pair.key;
      word.line = below(place_, pair.column, pair.value.substr(0, colon), 1u << 30, "line");
      word.index = below(place_, pair.column + static_cast<unsigned>(colon) + 1, pair.value.substr(colon + 1),
                         kWordsPerLine, "word");
      for (const Word &other : program_.words) {
        if (other.name == word.name) place_.fail(tokens[i].column, "variable '" + word.name + "' is there already");
        if (other.line == word.line && other.index == word.index)
          place_.fail(pair.column, "'" + other.name + "' is that word already; give each variable its own");
      }
      program_.words.push_back(word);
    }
    std::sort(program_.words.begin(), program_.words.end(),
              [](const Word &a, const Word &b) { return a.line != b.line ? a.line < b.line : a.index < b.index; });
    program_.lines.clear();
    for (size_t i = 0; i < program_.words.size(); ++i) {
      Word &word = program_.words[i];
      if (program_.lines.empty() || program_.lines.back().number != word.line) {
        if (program_.lines.size() == kLinesMax)
          place_.fail(tokens[0].column, "more than " + std::to_string(kLinesMax) + " lines; use fewer");
        program_.lines.push_back(Line{word.line, static_cast<uint8_t>(i), 0});
      }
      word.dense_line = static_cast<uint8_t>(program_.lines.size() - 1);
      ++program_.lines.back().count;
    }
  }

  void initial(const std::vector<Token> &tokens) {
    for (size_t i = 1; i < tokens.size(); ++i) {
      const KeyValue pair = key_value(place_, tokens[i]);
      int64_t value = 0;
      if (!parse_number(pair.value, value)) place_.fail(pair.column, "'" + pair.value + "' is no number");
      const auto word = std::find_if(program_.words.begin(), program_.words.end(),
                                     [&](const Word &candidate) { return candidate.name == pair.key; });
      if (word == program_.words.end())
        place_.fail(tokens[i].column, "variable '" + pair.key + "' is not declared; name it in 'vars'");
      word->init = program_.values.id(value);
    }
  }

  void crash(const std::vector<Token> &tokens) {
    if (tokens.size() != 2) place_.fail(tokens[0].column, "write 'crash host=H'");
    const KeyValue pair = key_value(place_, tokens[1]);
    if (pair.key != "host") place_.fail(tokens[1].column, "write 'crash host=H'");
    if (program_.crashes.size() == kCrashesMax)
      place_.fail(tokens[0].column, "more than " + std::to_string(kCrashesMax) + " crashes; use fewer");
    program_.crashes.push_back(below(place_, pair.column, pair.value, kHostsMax, "host"));
  }

  void thread(const std::vector<Token> &tokens) {
    close_thread();
    if (program_.bad.root >= 0) place_.fail(tokens[0].column, "a thread after 'bad'; move 'bad' to the end");
    if (program_.threads.size() == kThreadsMax)
      place_.fail(tokens[0].column, "more than " + std::to_string(kThreadsMax) + " threads; use fewer");
    if (tokens.size() < 3) place_.fail(tokens[0].column, "write 'thread N host=H [daemon] [after_crash]'");
    Thread thread;
    thread.id = below(place_, tokens[1].column, tokens[1].text, 1000, "thread");
    for (const Thread &other : program_.threads) {
      if (other.id == thread.id) place_.fail(tokens[1].column, "thread " + tokens[1].text + " is there already");
    }
    bool has_host = false;
    for (size_t i = 2; i < tokens.size(); ++i) {
      if (tokens[i].text == "daemon") {
        thread.daemon = true;
      } else if (tokens[i].text == "after_crash") {
        thread.after_crash = true;
      } else {
        const KeyValue pair = key_value(place_, tokens[i]);
        if (pair.key != "host")
          place_.fail(tokens[i].column, "'" + pair.key + "' is none of host, daemon, after_crash");
        thread.host = below(place_, pair.column, pair.value, kHostsMax, "host");
        has_host = true;
      }
    }
    if (!has_host) place_.fail(tokens[1].column, "thread " + tokens[1].text + " has no host; add host=H");
    program_.threads.push_back(thread);
    thread_open_ = true;
  }

  void instruction(const std::string &line, std::vector<Token> tokens) {
    if (!thread_open_) {
      place_.fail(tokens[0].column, "'" + tokens[0].text +
                                        "' is none of vars, init, options, crash, thread, bad, expect, and "
                                        "instructions belong into a thread");
    }
    if (tokens[0].text.back() == ':') {
      const std::string label = tokens[0].text.substr(0, tokens[0].text.size() - 1);
      if (!is_name(label)) place_.fail(tokens[0].column, "'" + label + "' is no name of a label");
      if (labels_.count(label) != 0) place_.fail(tokens[0].column, "label '" + label + "' is there already");
      labels_[label] = program_.threads.back().code.size();
      tokens.erase(tokens.begin());
      if (tokens.empty()) return;
    }
    Thread &thread = program_.threads.back();
    if (thread.code.size() == kInstructionsMax)
      place_.fail(tokens[0].column, "more than " + std::to_string(kInstructionsMax) + " instructions in a thread");
    Token label;
    Instruction instruction = read_instruction(place_, tokens, program_, mentions_, label);
    const size_t end = line.find_last_not_of(" \t\r");
    instruction.text = line.substr(tokens[0].column - 1, end + 2 - tokens[0].column);
    if (!label.text.empty()) jumps_.push_back(Jump{place_, label, thread.code.size()});
    thread.code.push_back(instruction);
  }

  void close_thread() {
    if (!thread_open_) return;
    Thread &thread = program_.threads.back();
    for (const Jump &jump : jumps_) {
      const auto found = labels_.find(jump.label.text);
      if (found == labels_.end()) {
        jump.place.fail(jump.label.column, "there is no label '" + jump.label.text + "' in this thread; write '" +
                                               jump.label.text + ":' before an instruction");
      }
      thread.code[jump.instruction].target = static_cast<uint8_t>(found->second);
    }
    for (size_t r = 0; r < mentions_.size(); ++r) {
      if (mentions_[r].written) continue;
      const std::string &name = thread.registers[r];
      mentions_[r].place.fail(mentions_[r].column, "register '" + name +
                                                       "' is never written in this thread; write it " +
                                                       (is_variable(name) ? "by 'ld " : "with ld or mov, as in 'mov ") +
                                                       (is_variable(name) ? "r0 " + name + "' first" : name + " 0'"));
    }
    mentions_.clear();
    labels_.clear();
    jumps_.clear();
    thread_open_ = false;
  }

  bool is_variable(const std::string &name) const {
    return std::any_of(program_.words.begin(), program_.words.end(), [&](const Word &w) { return w.name == name; });
  }

  void finish() {
    close_thread();
    if (program_.name.empty()) place_.fail(1, "an empty program; start with 'litmus NAME'");
    if (program_.threads.empty()) place_.fail(1, "there is no thread; write 'thread 0 host=0' and its instructions");
    if (program_.bad.root < 0 && !program_.has_critical_section)
      place_.fail(1, "nothing is bad; add a line 'bad EXPRESSION', or cs_enter and cs_leave");
    const bool waits = std::any_of(program_.threads.begin(), program_.threads.end(),
                                   [](const Thread &thread) { return thread.after_crash; });
    if (waits && program_.crashes.empty())
      place_.fail(1, "a thread waits for a crash that never comes; add 'crash host=H'");
  }

  struct Jump {
    Place place;
    Token label;
    size_t instruction;
  };

  Place place_;
  Program program_;
  bool thread_open_ = false;
  std::vector<Mention> mentions_;
  std::map<std::string, size_t> labels_;
  std::vector<Jump> jumps_;
};

}  // namespace

std::string one_of(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Program parse(const std::string &path, const std::string &text) {
  return Reader(path).run(text);
}

}  // namespace litmus
