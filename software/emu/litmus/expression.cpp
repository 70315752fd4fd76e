/**
 * @file expression.cpp
 * The expression of `bad`: a recursive descent over one line of text. Lowest to highest: or, and, not, comparison
 * (does not chain), + and -, %, sign and parentheses.
 */
#include <cctype>
#include <functional>

#include "program.hpp"

namespace litmus {

namespace {

constexpr unsigned kDepthMax = 64;

class Parser {
 public:
  Parser(const Place &place, const std::string &line, unsigned first_column, const Program &program)
      : place_(place), program_(program) {
    split(line, first_column);
  }

  Expression run() {
    result_.root = parse_or();
    if (!at_end()) fail("'" + here().text + "' after the end of the expression; join conditions with 'and' or 'or'");
    return std::move(result_);
  }

 private:
  void split(const std::string &line, unsigned column) {
    const auto name = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    size_t i = column - 1;
    while (i < line.size()) {
      if (isspace(static_cast<unsigned char>(line[i]))) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      if (name(line[i])) {
        while (end < line.size() && name(line[end])) ++end;
      } else if (end < line.size() && line[end] == '=' && std::string("=!<>").find(line[i]) != std::string::npos) {
        ++end;
      }
      tokens_.push_back(Token{line.substr(i, end - i), static_cast<unsigned>(i + 1)});
      i = end;
    }
    end_column_ = static_cast<unsigned>(line.size() + 1);
  }

  bool at_end() const { return next_ == tokens_.size(); }
  Token here() const { return at_end() ? Token{"end of the line", end_column_} : tokens_[next_]; }
  [[noreturn]] void fail(const std::string &message) const { place_.fail(here().column, message); }
  bool take(const std::string &text) {
    if (at_end() || tokens_[next_].text != text) return false;
    ++next_;
    return true;
  }
  int add(Node::Kind kind, int left, int right = -1) {
    Node node;
    node.kind = kind;
    node.left = left;
    node.right = right;
    result_.nodes.push_back(node);
    return static_cast<int>(result_.nodes.size()) - 1;
  }

  int parse_or() {
    if (++depth_ > kDepthMax) fail("nested more than " + std::to_string(kDepthMax) + " deep; write it flatter");
    int left = parse_and();
    while (take("or")) left = add(Node::Kind::kOr, left, parse_and());
    --depth_;
    return left;
  }
  int parse_and() {
    int left = parse_not();
    while (take("and")) left = add(Node::Kind::kAnd, left, parse_not());
    return left;
  }
  int parse_not() {
    bool negated = false;
    while (take("not")) negated = !negated;
    const int inner = parse_comparison();
    return negated ? add(Node::Kind::kNot, inner) : inner;
  }
  int parse_comparison() {
    static const std::pair<const char *, Node::Kind> kComparisons[] = {
        {"==", Node::Kind::kEqual}, {"!=", Node::Kind::kNotEqual},     {"<=", Node::Kind::kLessEqual},
        {"<", Node::Kind::kLess},   {">=", Node::Kind::kGreaterEqual}, {">", Node::Kind::kGreater}};
    const int left = parse_sum();
    for (const auto &[text, kind] : kComparisons) {
      if (take(text)) return add(kind, left, parse_sum());
    }
    return left;
  }
  int parse_sum() {
    int left = parse_product();
    while (true) {
      if (take("+")) {
        left = add(Node::Kind::kAdd, left, parse_product());
      } else if (take("-")) {
        left = add(Node::Kind::kSubtract, left, parse_product());
      } else {
        return left;
      }
    }
  }
  int parse_product() {
    int left = parse_atom();
    while (take("%")) left = add(Node::Kind::kModulo, left, parse_atom());
    return left;
  }
  int parse_atom() {
    bool negative = false;
    while (take("-")) negative = !negative;
    const int inner = take("(") ? parenthesis() : leaf();
    return negative ? add(Node::Kind::kNegate, inner) : inner;
  }
  int parenthesis() {
    const int inner = parse_or();
    if (!take(")")) fail("')' expected before '" + here().text + "'");
    return inner;
  }

  int leaf() {
    const Token token = here();
    if (at_end()) fail("a value is missing: a number, N.register or mem.variable");
    Node node;
    if (parse_number(token.text, node.number)) {
      node.kind = Node::Kind::kNumber;
    } else {
      const size_t dot = token.text.find('.');
      if (dot == std::string::npos) {
        fail("'" + token.text + "' is no value; write a number, N.register or mem.variable");
      }
      name(token.text.substr(0, dot), token.text.substr(dot + 1), node);
    }
    ++next_;
    result_.nodes.push_back(node);
    return static_cast<int>(result_.nodes.size()) - 1;
  }

  void name(const std::string &owner, const std::string &what, Node &node) {
    int64_t id = 0;
    if (owner == "mem") {
      node.kind = Node::Kind::kMemory;
      result_.reads_memory = true;
      for (size_t i = 0; i < program_.words.size(); ++i) {
        node.word = static_cast<uint8_t>(i);
        if (program_.words[i].name == what) return;
      }
      fail("variable '" + what + "' is not declared; name it in 'vars'");
    }
    if (!parse_number(owner, id)) fail("'" + owner + "' is neither 'mem' nor the number of a thread");
    node.kind = Node::Kind::kRegister;
    for (size_t t = 0; t < program_.threads.size(); ++t) {
      const Thread &thread = program_.threads[t];
      if (static_cast<int64_t>(thread.id) != id) continue;
      node.thread = static_cast<uint8_t>(t);
      for (size_t r = 0; r < thread.registers.size(); ++r) {
        node.reg = static_cast<uint8_t>(r);
        if (thread.registers[r] == what) return;
      }
      fail("thread " + owner + " never writes register '" + what + "'; check its name");
    }
    fail("there is no thread " + owner + "; 'bad' comes after all threads");
  }

  Place place_;
  const Program &program_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
  unsigned end_column_ = 1;
  unsigned depth_ = 0;
  Expression result_;
};

}  // namespace

Expression parse_expression(const Place &place, const std::string &line, unsigned first_column,
                            const Program &program) {
  return Parser(place, line, first_column, program).run();
}

}  // namespace litmus
