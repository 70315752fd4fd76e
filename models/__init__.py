"""Reference models: plain Python and numpy, no simulator. They say what is right; the RTL is measured against them."""
