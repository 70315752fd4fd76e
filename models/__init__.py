"""Reference models: plain Python and numpy, no simulator. They say what the right value is; the RTL is measured against them."""
