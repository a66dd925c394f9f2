"""Checks of solutions/08-device-placement.ipynb: made by `make exercises`, edit them there."""

import contextlib
import io

import numpy as np
import torch

from host_to_device.counting import count
from host_to_device.exercises import Exercise, Wrong, inputs, judge_array, judge_counts
from host_to_device.starting.devices import device as device_of
from host_to_device.support.installed import SetUpError

TITLE = "Device placement"


class Homes(Exercise):
    """Where things are."""

    number, points, minutes = "08.1", 2, 10
    needs = ("function homes(model)",)
    hints = (
        "A module hands out what it knows of: its parameters with one method, its buffers with another. Each of them "
        "is a tensor, and a tensor knows its device.",
        "`tensor.numel()` is how many numbers there are, `tensor.element_size()` how many bytes each takes. Not every "
        "tensor of a model is float32.",
        "Go through `[*model.parameters(), *model.buffers()]`, and add `numel() * element_size()` to the entry of "
        "`str(tensor.device)`, which begins at 0: `found.get(place, 0)`.",
    )

    def cases(self, seed):
        width = 5 + seed % 7
        return [
            {"model": name, "width": width}
            for name in ("linear", "batch norm", "split", "half", "tied", "mask")
        ]

    def says(self, case):
        return f"a model of the kind {case['model']!r}"

    def made(self, case, first, second):
        nn, width = torch.nn, case["width"]
        if case["model"] == "linear":
            return nn.Linear(3, width)
        if case["model"] == "batch norm":
            return nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width)).to(first)
        if case["model"] == "split":
            return nn.Sequential(
                nn.Linear(3, width).to(first), nn.Linear(width, 2).to(second), nn.Linear(2, 2)
            )
        if case["model"] == "half":
            return nn.Linear(3, width).to(first, torch.float16)
        if case["model"] == "tied":
            one, two = nn.Linear(width, width), nn.Linear(width, width)
            two.weight = one.weight
            return nn.Sequential(one, two).to(first)
        model = nn.Linear(width, 2).to(first)
        model.register_buffer("mask", torch.ones(width, dtype=torch.bool, device=first), persistent=False)
        return model

    def run(self, student, case):
        first = device_of()
        second = device_of(1) if torch.accelerator.device_count() > 1 else torch.device("cpu")
        model = self.made(case, first, second)
        got, counted = {"where": [str(first), str(second)]}, None
        with contextlib.ExitStack() as around:
            with contextlib.suppress(SetUpError):  # no profiler on this GPU: judged by the values alone
                counted = around.enter_context(count())
            result = student.homes(model)
        if isinstance(result, dict):  # a Counter and a defaultdict are dicts, too
            got["texts"] = all(isinstance(key, str) for key in result)
            whole = {key: hasattr(type(value), "__index__") for key, value in result.items()}
            result = {str(key): int(value) if whole[key] else value for key, value in result.items()}
        got["result"] = result
        got["copies"] = counted.device_to_host.count if counted is not None else None
        tensors = {id(each): each for each in [*model.parameters(), *model.buffers()]}.values()
        got["each"] = [[str(each.device), each.numel(), each.element_size()] for each in tensors]
        got["parameters"] = len(list(model.parameters()))
        got["again"] = sum(each.nbytes for each in model.state_dict().values())
        return got

    def judge(self, case, got):
        result, right, each = got["result"], {}, got["each"]
        for place, numbers, size in each:
            right[place] = right.get(place, 0) + numbers * size
        if not isinstance(result, dict):
            raise Wrong("homes returns no dict", "Return a dict from the device's name to a number of bytes.")
        if not got["texts"]:
            raise Wrong(
                "the keys of the dict are no texts",
                "A device's name is a text: take str(tensor.device) as the key.",
            )
        if result == right:
            if got["copies"]:
                raise Wrong(
                    f"{got['copies']} copies to the host, and none is needed",
                    "You have fetched the numbers to find out how large they are. A tensor knows its size and its "
                    "device without being moved.",
                )
            return
        text = f"you return {result}, and {right} is right"
        known = [row for place, row in enumerate(each) if place < got["parameters"]]
        only = {}
        for place, numbers, size in known:
            only[place] = only.get(place, 0) + numbers * size
        if len(known) < len(each) and result == only:
            raise Wrong(
                text,
                "The buffers are missing: running means, masks, whatever a module keeps and does not train.",
            )
        if len(right) > 1 and list(result.values()) == [sum(right.values())]:
            raise Wrong(
                text,
                "One parameter does not speak for all of them: layers of one model may live in different places.",
            )
        if result == {place: 2 * size for place, size in right.items()}:
            raise Wrong(
                text,
                "Everything is counted twice: parameters() goes through the modules inside a module by itself.",
            )
        kinds, four = {}, {}
        for place, numbers, size in each:
            kind = place.partition(":")[0]
            kinds[kind] = kinds.get(kind, 0) + numbers * size
            four[place] = four.get(place, 0) + 4 * numbers
        if result == kinds:
            raise Wrong(
                text,
                "A kind of device is no place yet: two cards are of one kind. The whole name has a number.",
            )
        if result == four:
            raise Wrong(text, "Not every number takes four bytes: ask the tensor for its element_size().")
        if list(result.values()) == [got["again"]]:
            raise Wrong(
                text,
                "A state dict is what goes into a file: it names a shared weight twice, and leaves out buffers that are "
                "not to be saved.",
            )
        raise Wrong(text, "Print each tensor's device, numel() and element_size(), and add them up by hand.")


class Standard(Exercise):
    """What a module takes along."""

    number, points, minutes = "08.2", 3, 15
    needs = ("class Standardised",)
    hints = (
        "Three kinds of things live in a module: what is trained, what is only kept, and what the module does not know "
        "of. Which of them goes along with `.to`?",
        "`register_buffer(name, tensor)` makes an attribute of that name, which moves and is saved.",
        'In `__init__`: `self.register_buffer("mean", mean)`, and the same for `spread`. In `forward` use `self.mean` '
        "and `self.spread` as they are.",
    )
    raised = (
        (
            "Expected all tensors to be on the same device",
            "The module went to another device, and mean and spread did not: a plain attribute is nothing that a module "
            "knows of.",
        ),
    )

    def cases(self, seed):
        return [
            {"way": way, "width": 6 + seed % 5, "seed": seed * 100 + place}
            for place, way in enumerate(
                (["first"], ["cpu"], ["second"], ["first", "second"], ["first", "cpu"])
            )
        ]

    def says(self, case):
        return f"moved to {', then to '.join(case['way'])}"

    def arrays(self, case):
        width, seed = case["width"], case["seed"]
        x = inputs.distinct((4, width), seed=seed)
        return x, inputs.distinct(width, seed=seed + 1), np.abs(inputs.distinct(width, seed=seed + 2))

    def run(self, student, case):
        places = {"cpu": torch.device("cpu"), "first": device_of(), "second": torch.device("cpu")}
        if torch.accelerator.device_count() > 1:
            places["second"] = device_of(1)
        x, mean, spread = map(torch.from_numpy, self.arrays(case))
        model = student.Standardised(mean.clone(), spread.clone())
        for name in case["way"]:
            model = model.to(places[name])
        x, counted = x.to(places[case["way"][-1]]), None
        with contextlib.ExitStack() as around:
            with contextlib.suppress(SetUpError):
                counted = around.enter_context(count())
            result = model(x)
        c = counted
        return {
            "result": result.detach().cpu().numpy(),
            "names": sorted(model.state_dict()),
            "copies": None if c is None else (c.host_to_device.count or 0) + (c.device_to_device.count or 0),
            "trained": sum(each.requires_grad for each in model.parameters()),
            "parameters": len(list(model.parameters())),
            "where": str(result.device) == str(x.device),
        }

    def judge(self, case, got):
        x, mean, spread = self.arrays(case)
        judge_array("result", got["result"], (x - mean) / spread, rtol=1e-5)
        if got["copies"]:
            raise Wrong(
                f"{got['copies']} {'copy' if got['copies'] == 1 else 'copies'} in the forward pass, and none is needed",
                "You carry mean and spread over in every forward pass. Let the module take them along once, when it "
                "moves.",
            )
        if got["parameters"]:
            raise Wrong(
                f"an optimizer would find {got['parameters']} parameters in the module",
                "A parameter is what an optimizer gets to change. What is only to be kept is a buffer."
                if got["trained"]
                else "It is frozen until somebody calls model.requires_grad_(), and then it is trained. A buffer never "
                "is.",
            )
        if got["names"] != ["mean", "spread"]:
            text = f"the state dict has the names {got['names']}, and ['mean', 'spread'] is right"
            raise Wrong(
                text,
                "What can be computed from the two again need not be saved: persistent=False."
                if {"mean", "spread"} <= set(got["names"])
                else "What is not in the state dict is not saved, and a model that is loaded would not have it.",
            )
        if not got["where"]:
            raise Wrong(
                "the result is on another device than x", "Compute where x is, and leave the result there."
            )


class OneLoop(Exercise):
    """One loop for every machine."""

    number, points, minutes = "08.3", 4, 20
    needs = ("function train(model, batches, device)",)
    hints = (
        "Put the lines in the order in which things have to be there: first the model on the device, then the optimizer "
        "that is built from its parameters, then, for each batch, the data.",
        "`.to(device)` of a tensor gives another tensor, so take what it returns; it copies only if it must. A sum of "
        "losses can stay on the device as a tensor without dimensions.",
        "Before the loop `total = torch.zeros((), device=device)`, in it `total += loss.detach()`, after it "
        "`return total.item() / len(batches)`. In the loop `x, y = x.to(device), y.to(device)` comes first.",
    )
    raised = (
        (
            "not compiled with CUDA",
            "cuda() means NVIDIA or AMD and nothing else. You were told where to go: use the argument.",
        ),
        (
            "Expected all tensors to be on the same device",
            "A tensor does not move: .to gives you another one. Take what it returns.",
        ),
    )

    def cases(self, seed):
        places = ("first", "cpu", "second", "first")
        kinds = ("on the host", "on the host", "mixed", "on the host, where a move makes new parameters")
        return [
            {"place": place, "batches": kind, "steps": 4 + seed % 3, "seed": 10 * seed + number}
            for number, (place, kind) in enumerate(zip(places, kinds, strict=True))
        ]

    def says(self, case):
        return f"device {case['place']}, batches {case['batches']}"

    def made(self, case):
        torch.manual_seed(case["seed"])
        model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        rng = np.random.default_rng(case["seed"])
        batches = []
        for _ in range(case["steps"]):
            x = rng.normal(size=(16, 5)).astype(np.float32)
            batches.append((torch.from_numpy(x), torch.from_numpy(x[:, :3].argmax(1))))
        return model, batches

    def run(self, student, case):
        place = {"cpu": torch.device("cpu"), "first": device_of(), "second": torch.device("cpu")}[
            case["place"]
        ]
        if case["place"] == "second" and torch.accelerator.device_count() > 1:
            place = device_of(1)
        model, batches = self.made(case)
        if case["batches"] == "mixed":
            batches = [
                (x.to(place), y.to(place)) if number % 2 else (x, y) for number, (x, y) in enumerate(batches)
            ]
        tensors = [*(each for pair in batches for each in pair), *model.parameters()]
        away = [each.nbytes for each in tensors if each.device != place]
        future, counted = torch.__future__, None
        before = future.get_overwrite_module_params_on_conversion()
        try:
            future.set_overwrite_module_params_on_conversion("new parameters" in case["batches"])
            with contextlib.ExitStack() as around:
                with contextlib.suppress(SetUpError):
                    counted = around.enter_context(count())
                mean = student.train(model, batches, place)
        finally:
            future.set_overwrite_module_params_on_conversion(before)
        return {
            "mean": mean,
            "weights": [each.detach().cpu().numpy() for each in model.parameters()],
            "placed": all(each.device == place for each in model.parameters()),
            "counts": None if counted is None else counted.as_dict(),
            "away": away,
        }

    def judge(self, case, got):
        model, batches = self.made(case)
        untrained = [each.detach().clone().numpy() for each in model.parameters()]
        optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), []
        for x, y in batches:
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        if not got["placed"]:
            raise Wrong(
                "the model is not on the device afterwards", "Move the model itself: model.to(device)."
            )
        if all(np.array_equal(a, b) for a, b in zip(got["weights"], untrained, strict=True)):
            raise Wrong(
                "the model was not trained",
                "The optimizer was built from other parameters than those that the model has now: move first, then build.",
            )
        for mine, right in zip(got["weights"], model.parameters(), strict=True):
            asked = "Read the task again: for each batch one step, begun with gradients of zero, momentum included."
            now = right.detach().numpy()
            judge_array("parameter", mine, now, hints={"values": asked}, rtol=1e-3, atol=1e-5)
        if not isinstance(got["mean"], float):
            raise Wrong(
                "train returns no Python number", "`.item()`, once and at the end, makes one of a tensor."
            )
        mistakes = (
            (np.array(losses[-1]), "That is the loss of the last batch, and the mean of all is asked for."),
            (np.array(np.sum(losses)), "That is the sum of the losses. How many batches were there?"),
        )
        right = np.array(np.mean(losses))
        judge_array("the mean loss", np.array(got["mean"]), right, mistakes=mistakes, rtol=1e-4)
        if case["place"] == "cpu":
            return
        counts = got["counts"] or {}
        back = counts.get("device_to_host") or 0
        if back > 1 and (counts.get("device_to_host_bytes") or 0) > 4 * back:
            raise Wrong(
                f"{back} copies back to the host with {counts['device_to_host_bytes']:,} bytes, and 1 of 4 bytes is enough",
                "Something goes back and forth in every step. Is the loss computed where the outputs are? The labels "
                "have to come to them, not the outputs to the labels.",
            )
        each = "You ask for the loss in every step, and each time the host waits. Let the sum stay on the device."
        away = got["away"]
        there, size = counts.get("host_to_device") or 0, counts.get("host_to_device_bytes") or 0
        if there > len(away) and size - sum(away) <= 8 * (there - len(away)):
            raise Wrong(
                f"{there} copies to the device, and {len(away)} are enough",
                "A number of the host's was sent. torch.tensor(0.0, device=device) does that; torch.zeros((), "
                "device=device) makes its zero where it is to be.",
            )
        judge_counts(
            got,
            host_to_device=len(away),
            device_to_host=1,
            hints={
                "device_to_host": each,
                "host_to_device": "Each tensor that is elsewhere has to move once, and no other tensor at all.",
            },
        )


class Parameters(Exercise):
    """Reading and writing parameters."""

    number, points, minutes = "08.4", 5, 30
    needs = (
        "function read(model, name)",
        "function write(model, name, values)",
        "function take_over(target, source, prefix)",
    )
    hints = (
        "For reading: leave the graph, come to the host, become NumPy, and ask yourself at each step whether something "
        "was copied. For writing: change what is in the tensor, and leave the tensor where it is.",
        "`model.get_parameter(name)` finds it. `tensor.copy_(other)` writes into a tensor, also from another device. "
        "Autograd has to be told to look away: `with torch.no_grad():`.",
        'read: `.detach().to("cpu", copy=True).numpy()`. write: `copy_(torch.from_numpy(values))` under no_grad. '
        "take_over: the tensors of `target.state_dict()` are the model's own; copy_ into those whose name begins right.",
    )
    raised = (
        (
            "requires grad is being used in an in-place operation",
            "Autograd keeps account of what is done to a parameter, and refuses to have it changed in passing. Write "
            "under torch.no_grad().",
        ),
        (
            "Can't call numpy() on Tensor that requires grad",
            "A parameter is part of a graph, and NumPy knows of none: detach() first.",
        ),
        (
            "device type tensor to numpy",
            "NumPy's arrays are in the host's memory, and this tensor is not: .cpu() copies it there.",
        ),
        (
            "BatchNorm1d has no attribute",
            "A prefix is the beginning of names and need not be a module: two names begin with '1.running'.",
        ),
    )

    def cases(self, seed):
        ways = (
            ("first", "second", "1."),
            ("cpu", "first", "1."),
            ("second", "cpu", "1.running"),
            ("first", "first", ""),
        )
        return [
            {"target": one, "source": other, "prefix": prefix, "seed": 10 * seed + number}
            for number, (one, other, prefix) in enumerate(ways)
        ]

    def says(self, case):
        return f"a model on {case['target']}, another one on {case['source']}, prefix {case['prefix']!r}"

    def made(self, case):
        models = []
        for number in (0, 1):
            torch.manual_seed(100 * case["seed"] + number)
            model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
            model.add_module("21", torch.nn.Linear(2, 2))  # a name with "1." in it, and not at its beginning
            with torch.no_grad():  # nothing is the same in both, or nobody would see that it was left out
                for name, tensor in model.state_dict().items():
                    tensor.copy_(1 + torch.rand(4) if name.startswith("1.") and tensor.ndim else tensor)
                model[1].num_batches_tracked.fill_(3 + number)
            models.append(model)
        return models

    def run(self, student, case):
        places = {"cpu": torch.device("cpu"), "first": device_of(), "second": torch.device("cpu")}
        if torch.accelerator.device_count() > 1:
            places["second"] = device_of(1)
        target, source = self.made(case)
        target.to(places[case["target"]]), source.to(places[case["source"]])
        before = {name: each for name, each in target.named_parameters()}
        got = {"far": places[case["target"]] != places[case["source"]]}

        def counted(name, action):
            counts = None
            with contextlib.ExitStack() as around:
                with contextlib.suppress(SetUpError):
                    counts = around.enter_context(count())
                result = action()
            got[f"{name} counts"] = None if counts is None else counts.as_dict()
            return result

        read = counted("read", lambda: student.read(target, "0.weight"))
        got["read"] = read.copy() if isinstance(read, np.ndarray) else read
        home = places[case["target"]]
        got["moved by read"] = any(each.device != home for each in target.state_dict().values())
        with torch.no_grad():
            target[0].weight.mul_(2)
        got["read later"] = read
        values = inputs.distinct((2, 4), seed=case["seed"])
        counted("write", lambda: student.write(target, "2.weight", values))
        got["written"] = target[2].weight.detach().cpu().numpy().copy()
        values += 1
        got["written later"] = target[2].weight.detach().cpu().numpy().copy()
        counted("take over", lambda: student.take_over(target, source, case["prefix"]))
        got["state"] = {name: each.detach().cpu().numpy() for name, each in target.state_dict().items()}
        got["theirs"] = {name: each.detach().cpu().numpy() for name, each in source.state_dict().items()}
        after = {name: each for name, each in target.named_parameters()}
        got["kept"] = [name for name in before if after.get(name) is before[name]]
        got["learns"] = all(each.requires_grad and each.is_leaf for each in after.values())
        got["moved"] = [str(each.device) for each in target.state_dict().values()]
        got["source moved"] = any(
            each.device != places[case["source"]] for each in source.state_dict().values()
        )
        got["at home"] = str(places[case["target"]])
        owned = {each.data_ptr() for each in source.state_dict().values() if each.numel()}
        got["shared"] = any(each.data_ptr() in owned for each in target.state_dict().values() if each.numel())
        return got

    def judge(self, case, got):
        target, source = self.made(case)
        weight = target[0].weight.detach().numpy()
        if not isinstance(got["read"], np.ndarray):
            raise Wrong("read returns no NumPy array", "`.numpy()` makes one of a tensor on the host.")
        if got["read"].dtype != weight.dtype:
            raise Wrong(
                f"what read returns is {got['read'].dtype}, and {weight.dtype} is right",
                "Take the dtype as it is.",
            )
        judge_array('read(model, "0.weight")', got["read"], weight, rtol=0)
        if not np.array_equal(got["read later"], weight):
            raise Wrong(
                "what read has returned changes when the model is trained",
                "On the CPU .cpu() has nothing to copy, and .numpy() shares its memory. Ask for a copy in any case.",
            )
        if got["moved by read"]:
            raise Wrong(
                "the model is somewhere else after read",
                "Module.cpu() moves the module itself, and an optimizer may be at work on it. Fetch the tensor, and "
                "leave the model where it is.",
            )
        values = inputs.distinct((2, 4), seed=case["seed"])
        if np.array_equal(got["written"], target[2].weight.detach().numpy()):
            raise Wrong(
                "2.weight is after write what it was before",
                "Nothing has reached the model. An entry of a state dict that gets another tensor, or a copy that is "
                "written into, is not the model's memory: copy_ writes into the tensor that is there.",
            )
        judge_array("after write 2.weight", got["written"], values, rtol=0)
        if "2.weight" not in got["kept"]:
            raise Wrong(
                "2.weight is another object after write",
                "You have put a new parameter in the old one's place, and an optimizer still holds the old one. Copy "
                "into what is there.",
            )
        if set(got["moved"]) == {got["at home"]} and not np.array_equal(got["written later"], values):
            raise Wrong(
                "2.weight changes when the array does that write was given",
                "The parameter shares its memory with the caller's array. Copy the values into the memory that it has.",
            )
        if set(got["moved"]) != {got["at home"]}:
            raise Wrong(
                f"parts of the model on {case['target']} are somewhere else afterwards",
                "Writing must not move anything. To give a parameter other data gives it another home as well.",
            )
        if got["source moved"]:
            raise Wrong(
                "the source was moved",
                "Module.to moves the module itself, and somebody else may be using it. Copy the tensors, one by one.",
            )
        mine = {name: each.detach().numpy() for name, each in target.state_dict().items()}
        mine["0.weight"], mine["2.weight"] = 2 * weight, values
        theirs = {name: each.detach().numpy() for name, each in source.state_dict().items()}
        buffers = {name for name, _ in target.named_buffers()}
        for name, now in got["state"].items():
            meant = name.startswith(case["prefix"])
            right = theirs[name] if meant else mine[name]
            if not meant and np.array_equal(now, theirs[name]):
                raise Wrong(
                    f"{name} was taken over as well", "Only names that begin with the prefix are meant."
                )
            if meant and name in buffers and not np.array_equal(now, right):
                raise Wrong(
                    f"{name} was not taken over", "Buffers have names, too: running means, for example."
                )
            if meant and np.array_equal(now, mine[name]):
                raise Wrong(
                    f"{name} was not taken over",
                    "The values go from source into target. copy_ changes the tensor before the dot; a dict that was "
                    "changed still has to be loaded.",
                )
            judge_array(name, now, right, rtol=0)
        if got["shared"]:
            raise Wrong(
                "the two models share memory now",
                "What you have assigned is the other model's own tensor: training one trains both. Copy the values.",
            )
        if len(got["kept"]) != len(list(target.parameters())) or not got["learns"]:
            raise Wrong(
                "a parameter of the target is not what it was",
                "After take_over an optimizer has to find its parameters: the same objects, still to be trained.",
            )
        if case["target"] == "cpu" and case["source"] == "cpu":
            return
        on_device = case["target"] != "cpu"
        judge_counts({"counts": got["read counts"]}, device_to_host=int(on_device), host_to_device=0)
        judge_counts({"counts": got["write counts"]}, host_to_device=int(on_device), device_to_host=0)
        if got["far"] and "cpu" not in (case["target"], case["source"]):
            judge_counts(
                {"counts": got["take over counts"]},
                hints={
                    "device_to_host": "From device to device there is no need to go by the host: copy_ knows the way."
                },
                device_to_host=0,
                host_to_device=0,
            )


class Checkpoint(Exercise):
    """Stop here, go on there."""

    number, points, minutes = "08.5", 8, 60
    needs = (
        "function fit(model, optimizer, x, y, start, stop)",
        "function save(file, model, optimizer)",
        "function resume(file, model, device)",
    )
    hints = (
        "Write down what a run consists of besides its weights: what does Adam remember of the steps before? And write "
        "down in which order model, device and optimizer have to come together.",
        "Save two state dicts. When loading, let map_location decide, not the file. In fit, move x and y before the "
        "loop, and keep a tensor on the device with room for all losses.",
        'resume: torch.load with map_location="cpu", model.to(device), model.load_state_dict, then Adam of '
        "model.parameters(), then optimizer.load_state_dict. fit: losses[step - start] = loss.detach().",
    )
    raised = (
        (
            "Weights only load failed",
            "You have saved objects, and torch.load opens only files of tensors unless it is told to trust them. A state "
            "dict is enough.",
        ),
        (
            "PytorchStreamReader failed",
            "torch.load wants one file with one object in it. What belongs together goes into one torch.save.",
        ),
        (
            "Expected all tensors to be on the same device",
            "Adam's memory is where the parameters were when it got it. First the model has to be where it will stay.",
        ),
        (
            "Can't call numpy() on Tensor that requires grad",
            "A loss that you keep holds the graph of its whole step. Keep loss.detach().",
        ),
    )

    def cases(self, seed):
        ways = (("first", "cpu"), ("cpu", "first"), ("first", "second"), ("cpu", "cpu"))
        return [
            {"begins": one, "ends": other, "steps": [4, 9 + seed % 4], "seed": 10 * seed + number}
            for number, (one, other) in enumerate(ways)
        ]

    def says(self, case):
        return f"begun on {case['begins']}, ended on {case['ends']}"

    def made(self, case, other=0):
        torch.manual_seed(case["seed"] + 1000 * other)
        layers = torch.nn.BatchNorm1d(6), torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3)
        return torch.nn.Sequential(*layers)

    def data(self, case):
        rng = np.random.default_rng(case["seed"])
        x = rng.normal(size=(32 * (case["steps"][1] + 1), 6)).astype(np.float32)
        return torch.from_numpy(x), torch.from_numpy(x[:, :3].argmax(1))

    def run(self, student, case):
        places = {"cpu": torch.device("cpu"), "first": device_of(), "second": torch.device("cpu")}
        if torch.accelerator.device_count() > 1:
            places["second"] = device_of(1)
        (half, whole), got = case["steps"], {}
        x, y = self.data(case)

        def counted(name, action):
            counts = None
            with contextlib.ExitStack() as around:
                with contextlib.suppress(SetUpError):
                    counts = around.enter_context(count())
                result = action()
            got[f"{name} counts"] = None if counts is None else counts.as_dict()
            return result

        model = self.made(case).to(places[case["begins"]])
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        got["losses"] = counted("fit", lambda: student.fit(model, optimizer, x, y, 0, half))
        file = io.BytesIO()
        student.save(file, model, optimizer)
        saved = {name: each.detach().cpu().numpy().copy() for name, each in model.state_dict().items()}
        file.seek(0)
        other = self.made(case, other=1)
        optimizer = counted("resume", lambda: student.resume(file, other, places[case["ends"]]))
        got["adam"] = isinstance(optimizer, torch.optim.Adam)
        mine = {name: each.detach().cpu().numpy() for name, each in other.state_dict().items()}
        same = {name for name in saved if np.array_equal(saved[name], mine[name])}
        got["loaded"] = all(name in same for name, _ in other.named_parameters())
        got["buffers"] = all(name in same for name, _ in other.named_buffers())
        got["placed"] = all(each.device == places[case["ends"]] for each in other.state_dict().values())
        held = (
            {id(each) for group in optimizer.param_groups for each in group["params"]}
            if got["adam"]
            else set()
        )
        got["held"] = held == {id(each) for each in other.parameters()}
        got["remembers"] = got["adam"] and len(optimizer.state) > 0
        if got["loaded"] and got["buffers"] and got["placed"] and got["held"]:
            got["more"] = student.fit(other, optimizer, x, y, half, whole)
            got["weights"] = [each.detach().cpu().numpy() for each in other.state_dict().values()]
        return got

    def trained(self, case, x, y, batches):
        model, losses = self.made(case), []
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for batch in batches:
            rows = slice(32 * batch, 32 * batch + 32)
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return model, np.array(losses, np.float32)

    def judge(self, case, got):
        half, whole = case["steps"]
        x, y = self.data(case)
        model, losses = self.trained(case, x, y, range(whole))
        _, again = self.trained(case, x, y, [*range(half), *range(whole - half)])
        asked = "Read the task again: which rows has step s, and what belongs to a step?"
        self.judge_losses("losses", got["losses"], losses[:half], asked)
        if not got["adam"]:
            raise Wrong(
                "resume returns no torch.optim.Adam", "Build it anew, and give it the state that was saved."
            )
        if not got["placed"]:
            raise Wrong(
                "after resume the model is not on the device",
                "model.to(device) moves the model itself; with assign=True, load_state_dict then puts the file's tensors "
                "in the place of those that have moved.",
            )
        if not got["loaded"]:
            raise Wrong(
                "after resume the model has other weights than were saved", "load_state_dict fills the model."
            )
        if not got["buffers"]:
            raise Wrong(
                "after resume the model has other running statistics than were saved",
                "A run has buffers, too, and parameters do not include them. The model's state dict has both.",
            )
        if not got["held"]:
            raise Wrong(
                "the optimizer holds other parameters than the model has", "Build it from model.parameters()."
            )
        if not got["remembers"]:
            raise Wrong(
                "the optimizer that resume returns has forgotten everything",
                "Adam remembers a mean of the gradients and of their squares for each parameter. Without them the run "
                "begins again, with old weights.",
            )
        begun = "The second part begins with the data of the first. Which rows are those of step `start`?"
        asked = "The run has to go on as if nothing had happened: the next rows, Adam's memory, a model in training mode."
        self.judge_losses("resumed losses", got["more"], losses[half:], asked, [(again[half:], begun)])
        for name, mine, right in zip(
            model.state_dict(), got["weights"], model.state_dict().values(), strict=True
        ):
            judge_array(f"{name} at the end", mine, right.numpy(), rtol=2e-2, atol=2e-4)
        if case["begins"] != "cpu":
            batch = "You move a batch in every step. These data fit on the device: move them whole, before the loop."
            each = "The host fetches a loss in every step, and waits for it. Let them lie on the device until the end."
            judge_counts(
                {"counts": got["fit counts"]},
                host_to_device=2,
                device_to_host=1,
                hints={"host_to_device": batch, "device_to_host": each},
            )
        if case["ends"] == "cpu":
            judge_counts(
                {"counts": got["resume counts"]},
                host_to_device=0,
                hints={
                    "host_to_device": "Loading went by the device that the file names, and on another machine that "
                    "device may not exist. Say where to with map_location."
                },
            )

    def judge_losses(self, name, got, right, asked, mistakes=()):
        if not isinstance(got, np.ndarray) or got.shape != right.shape:
            raise Wrong(
                f"the {name} are no array of {len(right)} numbers",
                "One loss for each step, as a NumPy array.",
            )
        if got.dtype != np.float32:
            raise Wrong(
                f"the {name} are {got.dtype}, and float32 is right",
                "Keep them as they are: a loss is float32.",
            )
        judge_array(name, got, right, hints={"values": asked}, mistakes=mistakes, rtol=1e-2, atol=1e-4)
