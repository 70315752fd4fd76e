"""`prismem check`: many executions of a user's program on hosts without coherence, and the story of what went wrong."""
