"""The pyuvm environment of the CXL.mem ports and the lightpaths; docs/verification.md says how it is built."""
