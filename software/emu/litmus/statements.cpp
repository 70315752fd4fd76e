/**
 * @file statements.cpp
 * Single statements of the text format: instructions, `options`, `expect`.
 */
#include "statements.hpp"

#include <algorithm>

namespace litmus {

namespace {

/** What stands behind the name of an instruction: v variable, d register written, o register or number, n number, m one
 *  to eight numbers, l label, c channel. */
struct Shape {
  const char *name;
  Op op;
  const char *operands;
};

constexpr Shape kShapes[] = {{"st", Op::kStore, "vo"},
                             {"ld", Op::kLoad, "dv"},
                             {"clflush", Op::kClflush, "v"},
                             {"clflushopt", Op::kClflushopt, "v"},
                             {"clwb", Op::kClwb, "v"},
                             {"sfence", Op::kSfence, ""},
                             {"mfence", Op::kMfence, ""},
                             {"lfence", Op::kLfence, ""},
                             {"nt", Op::kNonTemporal, "vn"},
                             {"movdir64b", Op::kMovdir64b, "vm"},
                             {"uc_st", Op::kUncachedStore, "vn"},
                             {"uc_ld", Op::kUncachedLoad, "dv"},
                             {"dma_st", Op::kDmaStore, "vn"},
                             {"dma_ld", Op::kDmaLoad, "dv"},
                             {"cas", Op::kCas, "vood"},
                             {"mov", Op::kMov, "dn"},
                             {"add", Op::kAdd, "doo"},
                             {"beq", Op::kBeq, "ool"},
                             {"bne", Op::kBne, "ool"},
                             {"blt", Op::kBlt, "ool"},
                             {"ble", Op::kBle, "ool"},
                             {"jmp", Op::kJmp, "l"},
                             {"cs_enter", Op::kCsEnter, ""},
                             {"cs_leave", Op::kCsLeave, ""},
                             {"send", Op::kSend, "c"},
                             {"recv", Op::kRecv, "c"},
                             {"stop", Op::kStop, ""}};

const char *described(char operand) {
  switch (operand) {
    case 'v':
      return "variable";
    case 'd':
      return "register";
    case 'o':
      return "number|register";
    case 'n':
      return "number";
    case 'm':
      return "number...";
    case 'l':
      return "label";
    default:
      return "channel";
  }
}

std::string usage(const Shape &shape) {
  std::string text = std::string("write '") + shape.name;
  for (const char *operand = shape.operands; *operand != 0; ++operand) text += std::string(" ") + described(*operand);
  return text + "'";
}

class InstructionReader {
 public:
  InstructionReader(const Place &place, Program &program, std::vector<Mention> &mentions)
      : place_(place), program_(program), mentions_(mentions) {}

  Instruction run(const std::vector<Token> &tokens, Token &label) {
    const auto *shape = std::find_if(std::begin(kShapes), std::end(kShapes),
                                     [&](const Shape &candidate) { return tokens[0].text == candidate.name; });
    if (shape == std::end(kShapes)) {
      std::vector<std::string> names;
      for (const Shape &known : kShapes) names.push_back(known.name);
      place_.fail(tokens[0].column, "'" + tokens[0].text + "' is no instruction; there are " + one_of(names));
    }
    result_.op = shape->op;
    result_.source_line = place_.line;
    if (shape->op == Op::kCsEnter) program_.has_critical_section = true;
    size_t next = 1;
    bool second = false;
    for (const char *kind = shape->operands; *kind != 0; ++kind) {
      if (next == tokens.size()) {
        const unsigned end = tokens.back().column + static_cast<unsigned>(tokens.back().text.size());
        place_.fail(end, std::string("a ") + described(*kind) + " is missing; " + usage(*shape));
      }
      operand(*kind, tokens[next++], second, label);
      second = second || *kind == 'o';
      while (*kind == 'm' && next < tokens.size()) operand(*kind, tokens[next++], second, label);
    }
    if (next != tokens.size())
      place_.fail(tokens[next].column, "'" + tokens[next].text + "' is too much; " + usage(*shape));
    return result_;
  }

 private:
  void operand(char kind, const Token &token, bool second, Token &label) {
    switch (kind) {
      case 'v':
        variable(token);
        break;
      case 'd':
        result_.reg = reg(token, true);
        break;
      case 'o':
        (second ? result_.b : result_.a) = value(token, true);
        break;
      case 'n':
        result_.a = value(token, false);
        break;
      case 'm':
        if (result_.values.size() == kWordsPerLine) place_.fail(token.column, "a line has 8 words");
        result_.values.push_back(value(token, false).index);
        break;
      case 'l':
        label = token;
        break;
      default:
        channel(token);
        break;
    }
  }

  void variable(const Token &token) {
    for (size_t i = 0; i < program_.words.size(); ++i) {
      if (program_.words[i].name != token.text) continue;
      result_.word = static_cast<uint8_t>(i);
      result_.line = program_.words[i].dense_line;
      return;
    }
    place_.fail(token.column, "variable '" + token.text + "' is not declared; name it in 'vars'");
  }

  uint8_t reg(const Token &token, bool written) {
    if (!is_name(token.text)) place_.fail(token.column, "'" + token.text + "' is no name of a register");
    std::vector<std::string> &names = program_.threads.back().registers;
    size_t i = 0;
    while (i < names.size() && names[i] != token.text) ++i;
    if (i == names.size()) {
      if (i == kRegistersMax)
        place_.fail(token.column, "more than " + std::to_string(kRegistersMax) + " registers in a thread; use fewer");
      names.push_back(token.text);
      mentions_.push_back(Mention{place_, token.column, false});
    }
    mentions_[i].written = mentions_[i].written || written;
    return static_cast<uint8_t>(i);
  }

  Operand value(const Token &token, bool register_too) {
    int64_t number = 0;
    if (parse_number(token.text, number)) return Operand{false, program_.values.id(number)};
    if (!register_too || !is_name(token.text))
      place_.fail(token.column, "'" + token.text + "' is no number of at most 9 digits");
    return Operand{true, reg(token, false)};
  }

  void channel(const Token &token) {
    if (!is_name(token.text)) place_.fail(token.column, "'" + token.text + "' is no name of a channel");
    size_t i = 0;
    while (i < program_.channels.size() && program_.channels[i] != token.text) ++i;
    if (i == kChannelsMax)
      place_.fail(token.column, "more than " + std::to_string(kChannelsMax) + " channels; use fewer");
    if (i == program_.channels.size()) program_.channels.push_back(token.text);
    result_.channel = static_cast<uint8_t>(i);
  }

  const Place &place_;
  Program &program_;
  std::vector<Mention> &mentions_;
  Instruction result_;
};

/** Position of the value among the allowed ones. */
size_t choice(const Place &place, const KeyValue &pair, const std::vector<std::string> &allowed) {
  const auto found = std::find(allowed.begin(), allowed.end(), pair.value);
  if (found == allowed.end()) place.fail(pair.column, pair.key + " '" + pair.value + "' is none of " + one_of(allowed));
  return static_cast<size_t>(found - allowed.begin());
}

int host_or_none(const Place &place, const KeyValue &pair) {
  if (pair.value == "none") return kNobody;
  return static_cast<int>(below(place, pair.column, pair.value, kHostsMax, pair.key + ": host (or none)"));
}

}  // namespace

Instruction read_instruction(const Place &place, const std::vector<Token> &tokens, Program &program,
                             std::vector<Mention> &mentions, Token &label) {
  return InstructionReader(place, program, mentions).run(tokens, label);
}

void read_option(const Place &place, const Token &token, Options &options) {
  const KeyValue pair = key_value(place, token);
  const auto on = [&] { return choice(place, pair, {"off", "on"}) == 1; };
  if (pair.key == "completion") {
    options.completion = choice(place, pair, {"device", "posted"}) == 0 ? Completion::kDevice : Completion::kPosted;
  } else if (pair.key == "write_unit") {
    options.write_unit = static_cast<unsigned>(
        std::stoul(std::vector<std::string>{"64", "32", "8"}[choice(place, pair, {"64", "32", "8"})]));
  } else if (pair.key == "fill_survives_flush") {
    options.fill_survives_flush = on();
  } else if (pair.key == "spurious_dirty") {
    options.spurious_dirty = on();
  } else if (pair.key == "clwb") {
    options.clwb = static_cast<Clwb>(choice(place, pair, {"may", "keep", "drop"}));
  } else if (pair.key == "prefetch") {
    options.prefetch = on();
  } else if (pair.key == "evict") {
    options.evict = on();
  } else if (pair.key == "dma_snoop") {
    options.dma_snoop = host_or_none(place, pair);
  } else if (pair.key == "ddio") {
    options.ddio = host_or_none(place, pair);
  } else if (pair.key == "crash_in_flight") {
    options.crash_in_flight_kept = choice(place, pair, {"kept", "dropped"}) == 0;
  } else if (pair.key == "warm") {
    options.warm = on();
  } else {
    place.fail(token.column, "'" + pair.key +
                                 "' is no option; there are completion, write_unit, fill_survives_flush, "
                                 "spurious_dirty, clwb, prefetch, evict, dma_snoop, ddio, crash_in_flight, warm");
  }
}

void read_claim(const Place &place, const Token &token, Program &program) {
  const KeyValue pair = key_value(place, token);
  if (pair.key == "noncoherent" || pair.key == "coherent") {
    const Verdict verdict =
        choice(place, pair, {"allowed", "forbidden"}) == 0 ? Verdict::kAllowed : Verdict::kForbidden;
    program.expect[pair.key == "coherent"] = verdict;
  } else if (pair.key == "trap") {
    program.expect_trap = static_cast<TrapClaim>(choice(place, pair, {"none", "noncoherent", "coherent", "both"}) + 1);
  } else {
    place.fail(token.column, "'" + pair.key + "' is none of noncoherent, coherent, trap");
  }
}

}  // namespace litmus
