"""Everything that runs inside or drives a simulation."""
