"""The `prismem` command."""
