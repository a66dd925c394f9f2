"""Devices themselves: names, numbers that are not there, the current one, `torch.accelerator`, streams, autocast."""

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

DEVICE = documentation("tensor_attributes", "torch.device")
ACCELERATOR = documentation("accelerator", "torch.accelerator")
PARSE = source("c10/core/Device.cpp", "parse_type, Device::Device")
ORDINAL = source("c10/cuda/CUDAFunctions.cpp", "SetDevice")


@program(("cuda:0", "device(type='cuda', index=0)", "cuda", 0), DEVICE, "devices")
def a_device_has_a_name_a_type_and_an_index(torch, first):
    return str(first), repr(first), first.type, first.index


@program((True, True, False, False), DEVICE, "devices")
def devices_are_compared(torch, first):
    same = torch.device(first.type, 0), torch.device(f"{first.type}:0")
    return same[0] == first, same[1] == first, torch.device(first.type) == first, torch.device("cpu") == first


@program(("cuda", None, True), DEVICE, "devices")
def a_device_without_number_has_no_index(torch, first):
    device = torch.device(first.type)
    return str(device), device.index, {first: 1}[torch.device(first.type, 0)] == 1


@program(("cuda:1", "cuda:0", False), DEVICE, "devices", "two devices")
def two_devices_are_two(torch, first, second):
    return str(second), str(first), first == second


@program("cuda:99", DEVICE, "devices")
def a_device_that_is_not_there_can_be_named(torch, first):
    return str(torch.device(first.type, 99))


@program((True, True), ORDINAL, "devices", "refused")
def a_device_that_is_not_there_holds_no_tensor(torch, first):
    found = []
    for make in (lambda device: torch.ones(2, device=device), lambda device: torch.ones(2).to(device)):
        try:
            make(torch.device(first.type, 99))
        except RuntimeError as error:
            found.append("invalid device ordinal" in str(error))
    return tuple(found)


@program(True, ORDINAL, "devices", "refused")
def a_device_that_is_not_there_does_not_become_current(torch):
    try:
        torch.accelerator.set_device_index(99)
    except RuntimeError as error:
        return "invalid device ordinal" in str(error)
    return "it did"


@program([1.0, 1.0], ORDINAL, "devices")
def the_device_works_on_after_a_refusal(torch, first):
    try:
        torch.ones(2, device=torch.device(first.type, 99))
    except RuntimeError:
        return torch.ones(2, device=first).tolist()
    return "it was there"


@program(
    Raises(
        "RuntimeError", matching=r"^Expected one of cpu, cuda, .* device type at start of device string: gpu$"
    ),
    PARSE,
    "devices",
    "refused",
)
def gpu_is_no_name_of_a_device(torch):
    return torch.device("gpu")


@program(("Invalid device string: 'cuda:x'", "Invalid device string: 'cuda:-1'"), PARSE, "devices", "refused")
def wrong_numbers_in_the_name_of_a_device(torch, first):
    said = []
    for number in ("x", "-1"):
        try:
            torch.device(f"{first.type}:{number}")
        except RuntimeError as error:
            said.append(str(error))
    return tuple(said)


@program(("cuda", True, True), ACCELERATOR, "accelerator")
def the_accelerator_is_found(torch, first):
    accelerator = torch.accelerator.current_accelerator()
    return str(accelerator), accelerator == torch.device(first.type), torch.accelerator.is_available()


@program((True, 0), ACCELERATOR, "accelerator")
def devices_are_counted_from_zero(torch):
    return torch.accelerator.device_count() >= 1, torch.accelerator.current_device_index()


@program((1, "cuda:1", "cuda:0"), ACCELERATOR, "accelerator", "two devices")
def another_device_becomes_current(torch, first, second):
    torch.accelerator.set_device_index(1)
    now, made = torch.accelerator.current_device_index(), torch.ones(2, device=first.type)
    torch.accelerator.set_device_index(0)
    return now, str(made.device), str(torch.ones(2, device=first.type).device)


@program(
    ("cuda:1", "cuda:0"),
    documentation("generated/torch.accelerator.device_index", "device_index"),
    "accelerator",
    "two devices",
)
def a_device_is_current_within_with(torch, first, second):
    with torch.accelerator.device_index(1):
        inside = torch.ones(2, device=first.type).device
    return str(inside), str(torch.ones(2, device=first.type).device)


@program((["cuda:0"], "cuda:0"), documentation("notes/cuda", "CUDA semantics"), "accelerator", "two devices")
def results_stay_with_their_operands_whatever_is_current(torch, first, second):
    x = torch.ones(2, device=first)
    torch.accelerator.set_device_index(1)
    return [str((x + x).device)], str(torch.zeros_like(x).device)


@program((None, None), ACCELERATOR, "accelerator")
def the_accelerator_is_waited_for(torch, first):
    return torch.accelerator.synchronize(), torch.accelerator.synchronize(first)


@program(
    ("cuda:0", True), documentation("generated/torch.get_device_module", "torch.get_device_module"), "devices"
)
def a_device_has_a_module(torch, first, gpu):
    module = torch.get_device_module(first)
    return f"{first.type}:{module.current_device()}", module is gpu and module.is_available()


@program(("cuda:0", True), documentation("generated/torch.Stream", "torch.Stream"), "streams")
def a_stream_belongs_to_a_device(torch, first):
    stream = torch.Stream(device=first)
    with stream:
        x = torch.ones(2, device=first) + 1
    stream.synchronize()
    return str(stream.device), x.tolist() == [2.0, 2.0] and stream.query()


@program((True, True), documentation("generated/torch.Event", "torch.Event"), "streams")
def time_passes_between_events(torch, first):
    start, end = (torch.Event(device=first, enable_timing=True) for _ in range(2))
    start.record()
    torch.ones(1000, device=first).sum()
    end.record()
    end.synchronize()
    return end.query(), start.elapsed_time(end) >= 0


@program(("torch.bfloat16", "torch.float32", "cuda:0"), documentation("amp", "torch.autocast"), "autocast")
def products_are_rounded_under_autocast(torch, first):
    x = torch.ones(4, 4, device=first)
    with torch.autocast(first.type, dtype=torch.bfloat16):
        inside = x @ x
    return str(inside.dtype), str((x @ x).dtype), str(inside.device)
