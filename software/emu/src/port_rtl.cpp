#include "port_rtl.hpp"
namespace prismem {
bool RtlPort::submit(Request*) { return false; }
std::unique_ptr<RtlPort> make_rtl_port() { return std::make_unique<RtlPort>(); }
}
