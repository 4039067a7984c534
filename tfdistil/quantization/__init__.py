"""Quantization-aware training: rounding as the device does it, with straight-through gradients."""

from tfdistil.quantization.engines import ENGINES, Engine, find_engine
from tfdistil.quantization.observers import RangeObserver

__all__ = ["ENGINES", "Engine", "RangeObserver", "find_engine"]
