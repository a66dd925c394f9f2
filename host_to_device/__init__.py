"""Host to Device: run the kernels of the book on this machine, with or without a GPU.

>>> import host_to_device as h2d
>>> h2d.start()
"""

from host_to_device.checking import check
from host_to_device.counting import count
from host_to_device.counting.timelines import timeline
from host_to_device.exercises import answer, progress
from host_to_device.exploring.banks import explore_banks
from host_to_device.exploring.convolutions import explore_convolution
from host_to_device.exploring.costs import explore_cost
from host_to_device.exploring.grid import explore_grid
from host_to_device.exploring.lanes import explore_lanes
from host_to_device.exploring.latency import explore_latency
from host_to_device.exploring.placement import explore_placement
from host_to_device.exploring.requests import explore_requests
from host_to_device.exploring.strides import explore_strides
from host_to_device.inspecting.comparing import compare
from host_to_device.inspecting.occupancy import occupancy
from host_to_device.inspecting.showing import show
from host_to_device.measuring.experiments import experiment
from host_to_device.measuring.predicting import predict, records
from host_to_device.measuring.timing import time
from host_to_device.rendering.animation import animate
from host_to_device.standins.numba_cuda.launching import stand_in
from host_to_device.standins.warp_sizes import with_warp_size
from host_to_device.starting.devices import device
from host_to_device.starting.machine import size, start, stop
from host_to_device.support.installed import SetUpError

__all__ = [
    "SetUpError",
    "animate",
    "answer",
    "check",
    "compare",
    "count",
    "device",
    "experiment",
    "explore_banks",
    "explore_convolution",
    "explore_cost",
    "explore_grid",
    "explore_lanes",
    "explore_latency",
    "explore_placement",
    "explore_requests",
    "explore_strides",
    "occupancy",
    "predict",
    "progress",
    "records",
    "show",
    "size",
    "stand_in",
    "start",
    "stop",
    "time",
    "timeline",
    "with_warp_size",
]
__version__ = "0.1.0"
