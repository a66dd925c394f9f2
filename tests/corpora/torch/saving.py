"""Files: which device they name, and where their tensors come back to."""

import io
import zipfile

from tests.corpora.cupy.case import Raises
from tests.corpora.torch.case import documentation, program, source

SAVE = documentation("generated/torch.save", "torch.save")
LOAD = documentation("generated/torch.load", "torch.load, map_location")
TAG = source("torch/serialization.py", "location_tag")


@program(("cuda:0", "cpu"), TAG, "saving")
def a_storage_has_a_location(torch, first):
    tag = torch.serialization.location_tag
    return tag(torch.ones(2, device=first).untyped_storage()), tag(torch.ones(2).untyped_storage())


@program((True, False), TAG, "saving")
def the_name_of_the_device_is_in_the_file(torch, first):
    found = []
    for device in (first, "cpu"):
        file = io.BytesIO()
        torch.save(torch.ones(2, device=device), file)
        with zipfile.ZipFile(file) as archive:
            (name,) = (name for name in archive.namelist() if name.endswith("data.pkl"))
            found.append(str(first).encode() in archive.read(name))
    return tuple(found)


@program(("cuda:0", [1.0, 2.0]), LOAD, "saving")
def a_tensor_is_loaded_to_where_it_was(torch, first):
    file = io.BytesIO()
    torch.save(torch.tensor([1.0, 2.0], device=first), file)
    file.seek(0)
    x = torch.load(file)
    return str(x.device), x.tolist()


@program([("cpu", [1.0, 2.0])] * 4, LOAD, "saving")
def four_ways_to_load_to_the_host(torch, first):
    file = io.BytesIO()
    torch.save(torch.tensor([1.0, 2.0], device=first), file)
    loaded = []
    for place in ("cpu", torch.device("cpu"), {str(first): "cpu"}, lambda storage, location: storage):
        file.seek(0)
        x = torch.load(file, map_location=place)
        loaded.append((str(x.device), x.tolist()))
    return loaded


@program(["cuda:0", "cuda:0", "cuda:0"], LOAD, "saving")
def three_ways_to_load_to_the_device(torch, first):
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    loaded = []
    for place in (str(first), first, first.type):
        file.seek(0)
        loaded.append(str(torch.load(file, map_location=place).device))
    return loaded


@program("cuda:1", LOAD, "saving", "two devices")
def a_dictionary_maps_one_device_to_another(torch, first, second):
    file = io.BytesIO()
    torch.save(torch.ones(2, device=first), file)
    file.seek(0)
    return str(torch.load(file, map_location={str(first): str(second)}).device)


@program([("cpu", "cuda:0"), ("cpu", "cpu")], LOAD, "saving")
def a_function_sees_storage_and_location(torch, first):
    file, seen = io.BytesIO(), []
    torch.save({"device": torch.ones(2, device=first), "host": torch.ones(2)}, file)
    file.seek(0)

    def place(storage, location):
        seen.append((str(storage.device), location))
        return storage

    torch.load(file, map_location=place)
    return seen


@program(
    Raises(
        "RuntimeError",
        matching=r"^Attempting to deserialize object on CUDA device 99 but "
        r"torch\.cuda\.device_count\(\) is \d+\. Please use torch\.load with map_location to map your storages "
        "to an existing device",
    ),
    source("torch/serialization.py", "_validate_device"),
    "saving",
    "refused",
)
def a_device_that_is_not_there_is_not_loaded_to(torch, first):
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    torch.load(file, map_location=f"{first.type}:99")


@program(
    (["cuda:0", "cuda:0"], ["cpu", "cpu"], True),
    documentation("notes/serialization", "Saving and loading torch.nn.Modules"),
    "saving",
    "state",
)
def a_model_is_saved_on_the_device_and_loaded_on_the_host(torch, first):
    model, file = torch.nn.Linear(3, 2).to(first), io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    saved = torch.load(file)
    file.seek(0)
    other = torch.nn.Linear(3, 2)
    mapped = torch.load(file, map_location="cpu")
    other.load_state_dict(mapped)
    same = torch.equal(other.weight.detach(), model.weight.detach().cpu())
    return [str(x.device) for x in saved.values()], [str(x.device) for x in mapped.values()], same


@program(
    (True, "cuda:0"), documentation("notes/serialization", "Preserve storage sharing"), "saving", "views"
)
def views_share_memory_after_loading_too(torch, first):
    x, file = torch.arange(4.0, device=first), io.BytesIO()
    torch.save([x, x[1:]], file)
    file.seek(0)
    y, z = torch.load(file)
    z[0] = 9.0
    return y[1].item() == 9.0, str(z.device)


@program((True, "cuda:0", "cuda:0"), documentation("optim", "Optimizer.state_dict"), "saving", "optimizers")
def training_goes_on_from_a_file(torch, first):
    model, file = torch.nn.Linear(3, 2).to(first), io.BytesIO()
    optimizer = torch.optim.Adam(model.parameters())

    def step(model, optimizer):
        optimizer.zero_grad()
        loss = model(torch.ones(4, 3, device=first)).square().mean()
        loss.backward()
        optimizer.step()
        return loss.item()

    step(model, optimizer)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    file.seek(0)
    checkpoint = torch.load(file)
    again = torch.nn.Linear(3, 2).to(first)
    again.load_state_dict(checkpoint["model"])
    other = torch.optim.Adam(again.parameters())
    other.load_state_dict(checkpoint["optimizer"])
    same = [step(model, optimizer) for _ in range(3)] == [step(again, other) for _ in range(3)]
    return same, str(again.weight.device), str(other.state[again.weight]["exp_avg"].device)
