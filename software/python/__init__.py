"""Python bindings of the C library and of the host emulator."""
