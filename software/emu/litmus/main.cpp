/**
 * @file main.cpp
 * The explorer as a program: one JSON object on a line of its own for each file and mode. `prismem litmus` runs it.
 *
 *   prismem_litmus [--coherent | --noncoherent] [--trace] [--outcomes] [--bound-cache-events K]
 *                  [--without local|fill|evict]... [--] FILE...
 *
 * Exit code 0: all explored; 2: a file or an option is wrong (one line on standard error).
 */
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "../src/json.hpp"
#include "explore.hpp"

namespace {

using litmus::InputError;
using litmus::Mode;
using litmus::Program;
using litmus::Result;
using litmus::TrapClaim;
using litmus::Verdict;

struct Request {
  std::vector<Mode> modes{Mode::kNonCoherent, Mode::kCoherent};
  litmus::Setting setting;
  bool trace = false;
  bool outcomes = false;
  std::vector<std::string> files;
};

Request read_arguments(int argc, char **argv) {
  constexpr int64_t kBoundMax = 250;
  Request request;
  const auto value = [&](int &i) -> std::string {
    if (i + 1 == argc) throw InputError(std::string(argv[i]) + ": its value is missing");
    return argv[++i];
  };
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (only_files) {
      request.files.push_back(argument);
    } else if (argument == "--") {
      only_files = true;
    } else if (argument == "--coherent") {
      request.modes = {Mode::kCoherent};
    } else if (argument == "--noncoherent") {
      request.modes = {Mode::kNonCoherent};
    } else if (argument == "--trace") {
      request.trace = true;
    } else if (argument == "--outcomes") {
      request.outcomes = true;
    } else if (argument == "--bound-cache-events") {
      const std::string text = value(i);
      int64_t bound = 0;
      if (!litmus::parse_number(text, bound) || bound < 0 || bound > kBoundMax)
        throw InputError("--bound-cache-events: '" + text + "' is outside 0.." + std::to_string(kBoundMax));
      request.setting.cache_events_max = static_cast<int>(bound);
    } else if (argument == "--without") {
      const std::string name = value(i);
      if (name != "local" && name != "fill" && name != "evict")
        throw InputError("--without: '" + name + "' is none of local, fill, evict");
      litmus::Reductions &reductions = request.setting.reductions;
      (name == "local" ? reductions.local : name == "fill" ? reductions.fill : reductions.evict) = false;
    } else if (argument.size() > 1 && argument[0] == '-') {
      throw InputError(argument + ": no such option");
    } else {
      request.files.push_back(argument);
    }
  }
  if (request.files.empty()) throw InputError("no file given");
  return request;
}

Program read_program(const std::string &path) {
  std::ifstream file(path);
  if (!file) throw InputError(path + ": cannot be read; check the name");
  std::stringstream text;
  text << file.rdbuf();
  return litmus::parse(path, text.str());
}

/** What of `expect` does not hold; empty if all does. */
std::string broken_claim(const Program &program, Mode mode, const Result &result) {
  const bool coherent = mode == Mode::kCoherent;
  const Verdict expected = program.expect[coherent];
  if (expected != Verdict::kUnstated && (expected == Verdict::kAllowed) != result.allowed)
    return expected == Verdict::kAllowed ? "expected allowed" : "expected forbidden";
  const TrapClaim claim = program.expect_trap;
  if (claim == TrapClaim::kUnstated) return "";
  const bool wanted = claim == TrapClaim::kBoth || claim == (coherent ? TrapClaim::kCoherent : TrapClaim::kNonCoherent);
  if (wanted == result.trap) return "";
  return wanted ? "expected a trap state" : "expected no trap state";
}

void add_run(prismem::Json &json, const char *name, const std::vector<litmus::TraceLine> &run, const std::string &end) {
  json.key(name).open('{').key("steps").open('[');
  for (const litmus::TraceLine &line : run) {
    json.open('{').field("who", line.who).field("what", line.what).field("effect", line.effect);
    json.field("line", static_cast<uint64_t>(line.source_line)).close('}');
  }
  json.close(']').field("end", end).close('}');
}

void print(const Program &program, Mode mode, const Result &result, const std::vector<std::string> *outcomes) {
  const std::string broken = broken_claim(program, mode, result);
  prismem::Json json;
  json.open('{').field("name", program.name).field("file", program.path);
  json.field("mode", std::string(mode == Mode::kCoherent ? "coherent" : "noncoherent"));
  json.field("verdict", std::string(result.allowed ? "allowed" : "forbidden"));
  json.key("trap").boolean(result.trap);
  json.field("states", static_cast<uint64_t>(result.states));
  json.field("trap_states", static_cast<uint64_t>(result.trap_states)).field("seconds", result.seconds);
  json.key("expect_ok").boolean(broken.empty()).field("unexpected", broken).field("vacuous", result.vacuous);
  if (!result.bad_run.empty()) add_run(json, "bad_run", result.bad_run, result.bad_end);
  if (!result.trap_run.empty()) add_run(json, "trap_run", result.trap_run, result.trap_end);
  if (outcomes != nullptr) {
    json.key("outcomes").open('[');
    for (const std::string &outcome : *outcomes) json.value(outcome);
    json.close(']');
  }
  json.close('}');
  std::cout << json.take() << std::endl;
}

}  // namespace

int main(int argc, char **argv) {
  std::string at;
  try {
    const Request request = read_arguments(argc, argv);
    for (const std::string &path : request.files) {
      at.clear();
      const Program program = read_program(path);
      at = path + ": ";
      for (const Mode mode : request.modes) {
        litmus::Setting setting = request.setting;
        setting.mode = mode;
        const Result result = litmus::explore(program, setting, request.trace);
        const auto outcomes = request.outcomes ? litmus::outcomes(program, setting) : std::vector<std::string>();
        print(program, mode, result, request.outcomes ? &outcomes : nullptr);
      }
    }
  } catch (const InputError &error) {
    std::cerr << at << error.what() << std::endl;
    return 2;
  }
  return 0;
}
