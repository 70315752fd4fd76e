/**
 * @file statements.hpp
 * Parts of the reader: single statements of the text format, one function each. Used by parse.cpp alone.
 */
#pragma once

#include "program.hpp"

namespace litmus {

struct KeyValue {
  std::string key, value;
  unsigned column = 0;  ///< of the value
};

/** First mention of each register of the open thread, and whether the thread writes it anywhere. */
struct Mention {
  Place place;
  unsigned column = 0;
  bool written = false;
};

std::vector<Token> split(const std::string &line);
bool is_name(const std::string &text);
KeyValue key_value(const Place &place, const Token &token);
/** `text` as a number below `bound`, or an error that names `what`. */
unsigned below(const Place &place, unsigned column, const std::string &text, unsigned bound, const std::string &what);
std::string one_of(const std::vector<std::string> &names);

void read_option(const Place &place, const Token &token, Options &options);
void read_claim(const Place &place, const Token &token, Program &program);
/** Reads into the last thread of `program`; `mentions` runs beside its registers. `label` is where a branch goes to, empty
 *  for others. */
Instruction read_instruction(const Place &place, const std::vector<Token> &tokens, Program &program,
                             std::vector<Mention> &mentions, Token &label);

}  // namespace litmus
