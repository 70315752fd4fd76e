"""Agent of a CXL.mem port: items, sequencer, driver, monitor."""
