"""Quantization-aware training: rounding as the device does it, with straight-through gradients."""

from tfdistil.quantization.engines import ENGINES, Engine, find_engine
from tfdistil.quantization.freezing import FreezeStatistics
from tfdistil.quantization.observers import RangeObserver

__all__ = ["ENGINES", "Engine", "FreezeStatistics", "RangeObserver", "find_engine"]
