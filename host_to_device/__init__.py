"""Host to Device: run the kernels of the book on this machine, with or without a GPU.

>>> import host_to_device as h2d
>>> h2d.start()
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# The public names by the module that defines them. A module is imported when one of its names is first used, so that
# importing the library is quick and imports nothing else.
_NAMES = {
    "checking": ["check"],
    "counting": ["count"],
    "counting.memory_timelines": ["memory_timeline"],
    "counting.timelines": ["timeline"],
    "diagnosing": ["doctor"],
    "diagnosing.compatibility": ["runs_on"],
    "diagnosing.machine_code": ["code_in", "known_wheels"],
    "exercises": ["answer", "progress"],
    "exploring.allocator": ["explore_allocator"],
    "exploring.banks": ["explore_banks"],
    "exploring.convolutions": ["explore_convolution"],
    "exploring.costs": ["explore_cost"],
    "exploring.epochs": ["explore_epoch"],
    "exploring.grid": ["explore_grid"],
    "exploring.lanes": ["explore_lanes"],
    "exploring.latency": ["explore_latency"],
    "exploring.placement": ["explore_placement"],
    "exploring.requests": ["explore_requests"],
    "exploring.sharing": ["explore_sharing"],
    "exploring.strides": ["explore_strides"],
    "exploring.versions": ["explore_compatibility"],
    "inspecting.comparing": ["compare"],
    "inspecting.occupancy": ["occupancy"],
    "inspecting.showing": ["show"],
    "inspecting.stack": ["stack"],
    "measuring.experiments": ["experiment"],
    "measuring.predicting": ["predict", "records"],
    "measuring.timing": ["time"],
    "rendering.animation": ["animate"],
    "standins.numba_cuda.settings": ["stand_in"],
    "standins.warp_sizes": ["with_warp_size"],
    "starting.devices": ["device"],
    "starting.in_children": ["in_child"],
    "starting.machine": ["size", "start", "stop"],
    "support.installed": ["SetUpError"],
}
_MODULE_OF = {name: f"{__name__}.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)
__version__ = "0.10.0"

if TYPE_CHECKING:  # the same names for type checkers and editors
    from host_to_device.checking import check as check
    from host_to_device.counting import count as count
    from host_to_device.counting.memory_timelines import memory_timeline as memory_timeline
    from host_to_device.counting.timelines import timeline as timeline
    from host_to_device.diagnosing import doctor as doctor
    from host_to_device.diagnosing.compatibility import runs_on as runs_on
    from host_to_device.diagnosing.machine_code import code_in as code_in
    from host_to_device.diagnosing.machine_code import known_wheels as known_wheels
    from host_to_device.exercises import answer as answer
    from host_to_device.exercises import progress as progress
    from host_to_device.exploring.allocator import explore_allocator as explore_allocator
    from host_to_device.exploring.banks import explore_banks as explore_banks
    from host_to_device.exploring.convolutions import explore_convolution as explore_convolution
    from host_to_device.exploring.costs import explore_cost as explore_cost
    from host_to_device.exploring.epochs import explore_epoch as explore_epoch
    from host_to_device.exploring.grid import explore_grid as explore_grid
    from host_to_device.exploring.lanes import explore_lanes as explore_lanes
    from host_to_device.exploring.latency import explore_latency as explore_latency
    from host_to_device.exploring.placement import explore_placement as explore_placement
    from host_to_device.exploring.requests import explore_requests as explore_requests
    from host_to_device.exploring.sharing import explore_sharing as explore_sharing
    from host_to_device.exploring.strides import explore_strides as explore_strides
    from host_to_device.exploring.versions import explore_compatibility as explore_compatibility
    from host_to_device.inspecting.comparing import compare as compare
    from host_to_device.inspecting.occupancy import occupancy as occupancy
    from host_to_device.inspecting.showing import show as show
    from host_to_device.inspecting.stack import stack as stack
    from host_to_device.measuring.experiments import experiment as experiment
    from host_to_device.measuring.predicting import predict as predict
    from host_to_device.measuring.predicting import records as records
    from host_to_device.measuring.timing import time as time
    from host_to_device.rendering.animation import animate as animate
    from host_to_device.standins.numba_cuda.settings import stand_in as stand_in
    from host_to_device.standins.warp_sizes import with_warp_size as with_warp_size
    from host_to_device.starting.devices import device as device
    from host_to_device.starting.in_children import in_child as in_child
    from host_to_device.starting.machine import size as size
    from host_to_device.starting.machine import start as start
    from host_to_device.starting.machine import stop as stop
    from host_to_device.support.installed import SetUpError as SetUpError
else:

    def __getattr__(name: str) -> Any:
        """Import a public name, or a package of the library, when it is first used (PEP 562)."""
        if name in {module.partition(".")[0] for module in _NAMES}:
            return import_module(f"{__name__}.{name}")
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "start":  # in the first cell: the shelter records NumPy before a learner's code changes it
            import_module(f"{__name__}.exercises")
        thing = getattr(import_module(_MODULE_OF[name]), name)
        thing.__module__ = __name__  # its public place: in help(), in messages, and when it is pickled
        globals()[name] = thing
        return thing

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
