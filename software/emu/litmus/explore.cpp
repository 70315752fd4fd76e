/**
 * @file explore.cpp
 * Breadth-first search over the states of the machine, so that the first bad run found is a shortest one; trap states by
 * going backwards from the ends over the edges of a lazy cache.
 */
#include "explore.hpp"

#include <ctime>
#include <set>

#include "store.hpp"

namespace litmus {

namespace {

constexpr uint32_t kNoState = ~0u;
constexpr const char *kBothInside = "both inside";

/** How far a search goes: up to the first bad state; everything; everything up to the ends of runs, with its edges. */
enum class Goal : uint8_t { kFirstBad, kAllOutcomes, kGraph };

class Search {
 public:
  Search(const Program &program, const Setting &setting, Goal goal)
      : machine_(program, setting), store_(machine_.bytes()), goal_(goal), next_(machine_.bytes()) {}

  /** Visit the states; returns the number of the bad one that ended the search, or kNoState. */
  uint32_t run() {
    const bool stop_at_bad = goal_ == Goal::kFirstBad;
    machine_.initial(next_.data(), nullptr);
    add(kNoState, Move{});
    if (stop_at_bad && machine_.bad(store_.at(0))) return 0;
    std::vector<uint8_t> here(machine_.bytes());
    std::vector<Move> moves;
    for (uint32_t number = 0; number < store_.size(); ++number) {
      memcpy(here.data(), store_.at(number), here.size());
      ends_ += machine_.done(here.data());
      if (goal_ == Goal::kAllOutcomes) note(here.data());
      if (goal_ == Goal::kGraph ? machine_.done(here.data()) : machine_.over(here.data())) continue;
      machine_.moves(here.data(), moves);
      for (const Move move : moves) {
        memcpy(next_.data(), here.data(), here.size());
        machine_.apply(next_.data(), move, nullptr);
        if (add(number, move) && stop_at_bad && machine_.bad(next_.data())) {
          return static_cast<uint32_t>(store_.size() - 1);
        }
      }
    }
    return kNoState;
  }

  size_t states() const { return store_.size(); }
  size_t ends() const { return ends_; }
  const std::set<std::string> &outcomes() const { return outcomes_; }

  /** The first state found from which no end can be reached, or kNoState. */
  uint32_t first_trap() const {
    const size_t count = store_.size();
    std::vector<uint32_t> start(count + 1, 0), sources(edges_.size());
    for (const auto &[from, to] : edges_) ++start[to + 1];
    for (size_t i = 0; i < count; ++i) start[i + 1] += start[i];
    std::vector<uint32_t> fill = start;
    for (const auto &[from, to] : edges_) sources[fill[to]++] = from;
    std::vector<uint8_t> reaches(count, 0);
    std::vector<uint32_t> work;
    for (uint32_t i = 0; i < count; ++i) {
      if (!machine_.done(store_.at(i))) continue;
      reaches[i] = 1;
      work.push_back(i);
    }
    while (!work.empty()) {
      const uint32_t to = work.back();
      work.pop_back();
      for (uint32_t e = start[to]; e < start[to + 1]; ++e) {
        if (reaches[sources[e]]) continue;
        reaches[sources[e]] = 1;
        work.push_back(sources[e]);
      }
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (!reaches[i]) return i;
    }
    return kNoState;
  }

  /** The run that led to a state: its moves taken again, with words. */
  void tell(uint32_t number, std::vector<TraceLine> &run, std::string &end) const {
    std::vector<Move> way;
    for (uint32_t at = number; parents_[at] != kNoState; at = parents_[at]) way.push_back(taken_[at]);
    std::vector<uint8_t> state(machine_.bytes());
    machine_.initial(state.data(), &run);
    for (size_t i = way.size(); i-- > 0;) machine_.apply(state.data(), way[i], &run);
    end = machine_.describe(state.data());
  }

 private:
  void note(const uint8_t *state) {
    if (machine_.overlap(state)) {
      outcomes_.insert(kBothInside);
    } else if (machine_.settled(state)) {
      outcomes_.insert(machine_.outcome(state));
    }
  }

  bool add(uint32_t parent, Move move) {
    const auto [number, fresh] = store_.insert(next_.data());
    if (goal_ == Goal::kGraph && parent != kNoState) edges_.emplace_back(parent, number);
    if (!fresh) return false;
    parents_.push_back(parent);
    taken_.push_back(move);
    return true;
  }

  Machine machine_;
  StateStore store_;
  Goal goal_;
  std::vector<uint8_t> next_;
  std::vector<uint32_t> parents_;
  std::vector<Move> taken_;
  std::vector<std::pair<uint32_t, uint32_t>> edges_;
  size_t ends_ = 0;
  std::set<std::string> outcomes_;
};

}  // namespace

Result explore(const Program &program, const Setting &setting, bool want_trace) {
  const std::clock_t begin = std::clock();
  Result result;
  {
    Search search(program, setting, Goal::kFirstBad);
    const uint32_t found = search.run();
    result.allowed = found != kNoState;
    result.states = search.states();
    if (result.allowed && want_trace) search.tell(found, result.bad_run, result.bad_end);
    if (!result.allowed) {
      result.vacuous = vacuous(program);
      if (result.vacuous.empty() && search.ends() == 0) result.vacuous = "no run comes to its end";
    }
  }
  Setting lazy = setting;
  lazy.lazy = true;
  Search search(program, lazy, Goal::kGraph);
  search.run();
  result.trap_states = search.states();
  const uint32_t trap = search.first_trap();
  result.trap = trap != kNoState;
  if (result.trap && want_trace) search.tell(trap, result.trap_run, result.trap_end);
  result.seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  return result;
}

std::vector<std::string> outcomes(const Program &program, const Setting &setting) {
  Search search(program, setting, Goal::kAllOutcomes);
  search.run();
  return {search.outcomes().begin(), search.outcomes().end()};
}

}  // namespace litmus
