# How to build the litmus explorer, build/sw/prismem_litmus: a program of its own, without the emulator and without any
# library. Include it after setting ROOT and OUT.
LITMUS_DIR := $(ROOT)/software/emu/litmus
LITMUS_BUILD := $(OUT)/litmus
LITMUS := $(OUT)/prismem_litmus
LITMUS_SRCS := $(sort $(wildcard $(LITMUS_DIR)/*.cpp))
LITMUS_OBJS := $(patsubst $(LITMUS_DIR)/%.cpp,$(LITMUS_BUILD)/%.o,$(LITMUS_SRCS))
LITMUS_CXXFLAGS := -std=c++20 -O2 -g -Wall -Wextra -Werror -Wconversion -Wshadow

$(LITMUS_BUILD)/%.o: $(LITMUS_DIR)/%.cpp $(LITMUS_DIR)/litmus.mk
	@mkdir -p $(@D)
	@echo "  CXX $(@:$(OUT)/%=%)"
	@$(CXX) $(LITMUS_CXXFLAGS) -MMD -MP -c $< -o $@

$(LITMUS): $(LITMUS_OBJS)
	@echo "  LD $(@:$(OUT)/%=%)"
	@$(CXX) -o $@.new $^
	@mv $@.new $@

-include $(LITMUS_OBJS:.o=.d)
