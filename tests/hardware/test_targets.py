"""Compile targets: every name that means one, every GPU of the table, and what is said of an unknown name."""

import pytest

from host_to_device.hardware import gpus, targets
from host_to_device.hardware.targets import find


def test_names_that_mean_an_architecture():
    for name in ("sm_90", "SM90", "compute_90", "9.0", "90", (9, 0), "H100", "h200", "gh200", None):
        assert find(name, "NVIDIA").name == "sm_90", name
    assert find("RTX 3060 Ti", "NVIDIA").name == "sm_86" and find("sm_90a", "NVIDIA").capability == (9, 0)
    assert find("MI300X", "AMD").name == find(None, "AMD").name == "gfx942"


@pytest.mark.parametrize("gpu", gpus.GPUS, ids=lambda gpu: gpu.name)
def test_every_gpu_of_the_table_names_its_target(gpu):
    for name in (gpu.name, *gpu.aliases):
        found = find(name, gpu.vendor)
        assert (found.name, found.family) == (gpu.architecture.target, gpu.architecture.family)


def test_further_gpus_are_not_in_the_table_and_their_targets_exist():
    assert set(targets.FURTHER_GPUS.values()) <= set(targets.ALL)
    known = {name for gpu in gpus.GPUS for name in (gpu.name, *gpu.aliases)}
    assert not known & set(targets.FURTHER_GPUS)


def test_a_variant_has_the_family_of_its_base():
    assert find("sm_90a", "NVIDIA") == targets.Target("sm_90a", "NVIDIA", "Hopper")
    with pytest.raises(targets.UnknownTarget):
        find("sm_86a", "NVIDIA")


def test_an_unknown_name_is_a_value_error_of_one_line():
    with pytest.raises(ValueError, match="did you mean 'sm_90'") as caught:
        find("sm_91", "NVIDIA")
    assert caught.value.found is None and "\n" not in str(caught.value)
    assert caught.value._render_traceback_() == [f"host_to_device: {caught.value}"]


def test_the_other_vendor_s_target_comes_with_the_error():
    with pytest.raises(targets.UnknownTarget, match="gfx942 is AMD") as caught:
        find("MI300X", "NVIDIA")
    assert caught.value.found == targets.ALL["gfx942"]
