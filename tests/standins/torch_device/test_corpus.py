"""What holds of the programs for PyTorch without any device."""

import json
import re

import pytest

from tests.corpora.cupy import collecting
from tests.corpora.cupy.case import Raises
from tests.corpora.torch import case, corpus
from tests.corpora.torch.case import Place, as_on_cuda, found_two, got, needs
from tests.corpora.torch.corpus import ALL, COUNTING_PROGRAMS, PLACEMENT_PROGRAMS
from tests.standins.torch_device import test_parity

GIVEN = {"torch", "h2d", "first", "gpu", *case.LACKING}


def test_there_are_enough_programs_of_every_kind():
    assert len(PLACEMENT_PROGRAMS) >= 80
    assert len(COUNTING_PROGRAMS) >= 25
    asked = {
        "accelerator",
        "autograd",
        "copies",
        "counts",
        "CuPy",
        "creation",
        "data-dependent shapes",
        "default device",
        "devices",
        "identity",
        "indexing",
        "joining",
        "layers",
        "losses",
        "memory",
        "modules",
        "Numba",
        "numpy",
        "optimizers",
        "out of memory",
        "pinned memory",
        "printing",
        "products",
        "random",
        "saving",
        "state",
        "streams",
        "training",
        "two devices",
        "views",
        "waits",
        "0-d",
    }
    assert asked <= {kind for program in ALL for kind in program.kinds}


def test_every_name_is_used_once():
    names = [program.name for program in ALL]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("program", ALL, ids=lambda program: program.name)
def test_a_program_is_whole(program):
    assert re.match(r"https://\S+\.html: \S|(PyTorch|CuPy) source, [\w/.]+: \S", program.reference)
    assert program.kinds
    assert set(needs(program)) <= GIVEN
    assert "second" not in needs(program) or "two devices" in program.kinds
    if isinstance(program.outcome, Raises):
        assert program.outcome.message or program.outcome.matching
        assert "refused" in program.kinds


def test_outcomes_name_no_stand_in():
    assert not [program.name for program in ALL if case.NAME in repr(program.outcome)]


def test_known_differences_are_of_programs():
    assert set(test_parity.KNOWN) <= {program.name for program in ALL}


def test_names_of_the_stand_in_become_those_of_cuda():
    assert as_on_cuda(("standin:0", ["torch.standin.FloatTensor"])) == ("cuda:0", ["torch.cuda.FloatTensor"])
    assert as_on_cuda({"standin": 1}) == {"cuda": 1}
    assert as_on_cuda("STANDIN device 99") == "CUDA device 99"
    assert as_on_cuda(3.5) == 3.5


def test_the_wrapper_of_the_dispatcher_is_left_out():
    words = (
        "Expected all tensors to be on the same device, but got mat2 is on standin:0, different from other tensors "
        "on cpu (when checking argument in method wrapper_CUDA_mm)"
    )
    assert as_on_cuda(words) == got("mat2", "cuda:0", "cpu").message
    assert found_two().message.endswith("found at least two devices, cuda:0 and cpu!")


class Device:
    type = "cuda"


class NoTorch:
    """A torch with one device, and just what a place asks of it."""

    class accelerator:
        @staticmethod
        def device_count():
            return 1

        @staticmethod
        def set_device_index(index):
            pass

    def get_device_module(self, device):
        return self

    def empty_cache(self):
        pass

    def set_default_device(self, device):
        pass

    def manual_seed(self, seed):
        pass


class NoLibrary:
    @staticmethod
    def device(index=0):
        return Device()


def test_what_a_machine_lacks_is_said():
    place = Place(NoTorch(), NoLibrary())
    two = next(program for program in ALL if "second" in needs(program))
    both = next(program for program in ALL if {"cp", "cuda"} <= set(needs(program)))
    assert place.lacks(two) == "a second device"
    assert place.lacks(both) == "CuPy and numba.cuda"
    assert place.difference(two) == "there is not a second device"


def test_outcomes_are_compared_in_cuda_s_words():
    place = Place(NoTorch(), NoLibrary())

    def refuse(torch):
        raise RuntimeError("no room on standin:0")

    right = case.program(Raises("RuntimeError", "no room on cuda:0"), "none", "memory")(refuse)
    assert place.difference(right) is None
    wrong = case.program(Raises("RuntimeError", "no room on cuda:1"), "none", "memory")(refuse)
    assert "says 'no room on cuda:0'" in place.difference(wrong)
    plain = case.program("cuda:0", "none", "devices")(lambda first: "standin:0")
    assert place.difference(plain) is None


def test_a_record_holds_what_was_right(tmp_path):
    path, (one, two, three) = tmp_path / "seen.json", ALL[:3]
    collecting.write(path, [one, two, three], [one, two, three], "a GPU")
    collecting.write(path, [one, two], [one], "another GPU")
    record = json.loads(path.read_text())
    assert {name: entry["where"] for name, entry in record.items()} == {
        one.name: "another GPU",
        three.name: "a GPU",
    }


def test_a_program_that_has_changed_was_never_seen():
    one, two = corpus.memory, corpus.moving
    programs = collecting.programs_of([one, two], {})
    record = {programs[0].name: {"where": "a GPU", "digest": programs[0].digest()}}
    record[programs[1].name] = {"where": "a GPU", "digest": "of another text"}
    again = collecting.programs_of([one, two], record)
    assert (again[0].seen_on_gpu, again[1].seen_on_gpu) == ("a GPU", None)
