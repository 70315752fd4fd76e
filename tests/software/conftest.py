"""Modules of this folder may import each other's support code (`emu_support`, `lib_support`)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
