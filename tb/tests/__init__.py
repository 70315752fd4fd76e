"""Jobs: what a simulation does. One job a module; the registry finds them."""
