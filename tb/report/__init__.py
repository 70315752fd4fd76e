"""Characterization: measurement points as data, their results kept, and the report that is made of them."""
