"""For an exercise's `judge`: compare a run's values with the right ones, and raise `Wrong` for the first difference.

The functions here work on plain values. An exercise's `hints` replace the usual hints. Their keys are

- for kernels the kinds of `h2d.check`'s findings ("race", "out of bounds", "unwritten output", …), and "beyond";
- for results "nothing", "kind", "shape", "dtype", "device", "shared";
- for both "values", "nan", "unwritten", "inputs";
- for counts the names of the counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from host_to_device.exercises.definition import Wrong
from host_to_device.exercises.student_runs import FILLS, GUARD, filled
from host_to_device.exercises.values import Strange, said

Hints = Mapping[str, str]
USUAL = {
    "beyond": "Guard the access with the size of the array that the kernel writes.",
    "unwritten": "Does the launch have enough threads, and does each thread compute the index of its own element?",
    "inputs": "Write into an array of your own: the caller may need its inputs again.",
    "values": "Work out a small input by hand, and compare.",
    "nan": "Your code divides by zero, or it does not write this element.",
    "nothing": "End the function with return and the result.",
    "shape": "Give the result the shape that the task asks for.",
    "dtype": "Make the result with the dtype of the inputs: one 64-bit array among 32-bit ones makes the result 64-bit.",
    "shared": "Return a new array, not an argument or a view of an argument.",
    "device": "Copy it back to the host: copy_to_host() in Numba, get() in CuPy, cpu().numpy() in PyTorch.",
    "kind": "Return what the task asks for.",
}
# Relative tolerances by the size of an element in bytes; for complex numbers by the size of the real part.
TOLERANCES = {2: 4e-3, 4: 2e-5, 8: 1e-11}


def tolerance(dtype: np.dtype) -> float:
    """Return the relative tolerance for results of this dtype: 0 for integers."""
    if dtype.kind not in "fc":
        return 0.0
    return TOLERANCES.get(dtype.itemsize // (2 if dtype.kind == "c" else 1), 1e-11)


def number(value: Any, digits: int = 6) -> str:
    """Return an element as a learner would write it: rounded to `digits` digits, unless nine give it exactly."""
    value = value.item() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, float):
        short = f"{value:.9g}"
        return short if float(short) == value and abs(value) <= 1e15 else f"{value:.{digits}g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def unlike(one: Any, other: Any) -> tuple[str, str]:
    """Return two different elements as texts that differ; engines may disagree on the last digits of a float32."""
    for digits in (6, 9, 17):
        texts = number(one, digits), number(other, digits)
        if texts[0] != texts[1]:
            break
    return texts


def element(name: str, index: Sequence[int]) -> str:
    """Return an element as code names it: "out[3, 4]"; for a single number, the name alone."""
    return f"{name}[{', '.join(str(int(each)) for each in index)}]" if len(index) else name


def close(one: np.ndarray, other: np.ndarray, rtol: float | None = None, atol: float = 0.0) -> np.ndarray:
    """Return where two arrays of one shape agree within a relative tolerance.

    The tolerance is relative to the element of `other`, but at least to a thousandth of its largest finite element.
    """
    if other.dtype.kind not in "fc" and one.dtype.kind not in "fc":
        return one == other
    rtol = tolerance(other.dtype) if rtol is None else rtol
    finite = other[np.isfinite(other)]
    scale = float(np.abs(finite).max()) if finite.size else 0.0
    wide = np.complex128 if "c" in (one.dtype.kind, other.dtype.kind) else np.float64
    one, other = one.astype(wide), other.astype(wide)
    with np.errstate(all="ignore"):
        near = np.abs(one - other) <= atol + rtol * np.maximum(np.abs(other), 1e-3 * scale)
    near &= np.isfinite(other)  # an infinity's tolerance is infinite
    return near | (one == other) | (np.isnan(one) & np.isnan(other))


def as_numbers(result: Any, count: int) -> list[int | float] | None:
    """Return a result of `count` numbers as Python's numbers, for Python's and NumPy's numbers alike.

    Parameters
    ----------
    result
        From `run_function`: a list or tuple of Python's or NumPy's numbers, or a NumPy array.
    count
        The number of numbers that the result must have.

    Returns
    -------
    list or None
        The numbers, int or float; None if the result is anything else.
    """
    if isinstance(result, np.ndarray) and result.shape == (count,):
        result = result.tolist()
    if not isinstance(result, list) or len(result) != count:
        return None
    numbers = [each.item() if isinstance(each, np.ndarray) and each.ndim == 0 else each for each in result]
    return numbers if all(type(each) in (int, float) for each in numbers) else None


def judge_array(
    name: str,
    got: np.ndarray,
    expected: np.ndarray,
    *,
    hints: Hints | None = None,
    mistakes: Sequence[tuple[Any, str]] = (),
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Raise `Wrong` at the first element that differs.

    Parameters
    ----------
    name
        The array's name in the message.
    got, expected
        Arrays of the same shape.
    hints, mistakes, rtol, atol
        As for `judge_function`.
    """
    hints = {**USUAL, **(hints or {})}
    right = close(got, expected, rtol, atol)
    if right.all():
        return
    wrong = np.argwhere(~right)
    first = tuple(int(each) for each in wrong[0])
    value, wanted = got[first], expected[first]
    many = f" ({len(wrong):,} of {right.size:,} elements differ)" if right.size > 1 else ""
    is_nan = got.dtype.kind in "fc" and bool(np.isnan(value))
    is_now, should_be = unlike(value, wanted)
    text = f"{element(name, first)} is {is_now}, but {should_be} is right{many}"
    for mistaken, hint in mistakes:
        mistaken = np.asarray(mistaken)
        if mistaken.shape == got.shape and close(got, mistaken, rtol, atol).all():
            raise Wrong(text, hint)
    raise Wrong(text, hints["nan" if is_nan else "values"])


def judge_kernel(
    got: Mapping[str, Any],
    *expected: Any,
    inputs: Sequence[np.ndarray] | None = None,
    hints: Hints | None = None,
    mistakes: Sequence[tuple[Any, str]] = (),
    partly: Sequence[int] = (),
    rtol: float | None = None,
    atol: float = 0.0,
) -> None:
    """Judge the values that `run_kernel` returned.

    The order is: findings of the check, writes beyond the outputs, elements never written, values, inputs.

    Parameters
    ----------
    got
        From `run_kernel`.
    expected
        The right contents of each output, in the order of the outputs among the arguments; None skips an output.
    inputs
        The arrays among the arguments that are not outputs, as they were before; None skips them.
    hints
        Hints of the exercise, by the kind of mistake.
    mistakes
        Pairs of an array and a hint: the contents of the first output if a learner makes this mistake.
    partly
        Numbers, from 0, of the outputs of which not every element has to be written.
    rtol, atol
        Tolerances; by default those of the dtype's precision, and 0 for integers.

    Raises
    ------
    Wrong
        At the first mistake.
    """
    ours = dict(hints or {})
    written = " and ".join(map("`{}`".format, got["names"]))
    only_read = (
        f"The caller may need its inputs again. Keep the value in a variable, and write only into {written}."
    )
    usual = {**USUAL, "inputs": only_read, **ours}
    for finding in got["findings"][:1]:
        kind = str(finding["kind"])
        hint = ours.get(kind) or ours.get({"unwritten output": "unwritten"}.get(kind, kind))
        raise Wrong(f"{kind}: {finding['text']}", hint or str(finding["advice"]), finding["lines"])
    launches, names = got["whole"], got["names"]
    if len(launches) != len(FILLS) or any(len(wholes) != len(expected) for wholes in launches):
        raise ValueError("the values are not those of the kernel launches")
    for place, right in enumerate(expected):
        if right is None:
            continue
        right = np.asarray(right)
        wholes = [np.asarray(outputs[place]) for outputs in launches]
        for whole, fill in zip(wholes, FILLS, strict=True):
            if whole.shape != (right.size + 2 * GUARD,) or whole.dtype != right.dtype:
                raise ValueError("an output came back with another shape or dtype")
            nonsense = filled(GUARD, whole.dtype, fill)
            for guard, where in ((whole[-GUARD:], "beyond the end"), (whole[:GUARD], "before the beginning")):
                if guard.tobytes() != nonsense.tobytes():
                    raise Wrong(f"a thread wrote {where} of {names[place]}", usual["beyond"])
        parts = [whole[GUARD:-GUARD].reshape(right.shape) for whole in wholes]
        if place not in tuple(partly) and right.dtype.kind != "b":
            _judge_written(names[place], parts, usual)
        for part in parts:
            judge_array(
                names[place],
                part,
                right,
                hints=ours,
                mistakes=mistakes if place == 0 else (),
                rtol=rtol,
                atol=atol,
            )
    if inputs is not None:
        _judge_inputs(got, inputs, usual)


def _judge_written(name: str, parts: Sequence[np.ndarray], hints: Hints) -> None:
    left = np.ones(parts[0].shape, bool)
    for part, fill in zip(parts, FILLS, strict=True):
        bytewise = np.ascontiguousarray(part).view(np.uint8).reshape(*part.shape, part.dtype.itemsize)
        left &= (bytewise == fill).all(axis=-1)
    if left.any():
        missing = np.argwhere(left)
        many = f" ({len(missing):,} of {left.size:,} elements are missing)" if left.size > 1 else ""
        raise Wrong(f"the kernel does not write {element(name, missing[0])}{many}", hints["unwritten"])


def _judge_inputs(got: Mapping[str, Any], inputs: Sequence[np.ndarray], hints: Hints) -> None:
    after = got["inputs"]
    if len(after) != len(inputs):
        raise ValueError("not every input came back")
    for name, now, before in zip(got["input_names"], after, inputs, strict=True):
        before = np.asarray(before)
        if now.shape != before.shape or now.dtype != before.dtype or now.tobytes() != before.tobytes():
            where = ""
            if now.shape == before.shape and before.ndim:
                differ = np.argwhere(~close(now, before, 0.0))
                where = f" (first at {element(name, differ[0])})" if len(differ) else ""
            raise Wrong(f"your code changes {name}, which is an input{where}", hints["inputs"])


def judge_function(
    got: Mapping[str, Any],
    expected: Any,
    *,
    name: str = "the result",
    inputs: Sequence[np.ndarray] | None = None,
    hints: Hints | None = None,
    mistakes: Sequence[tuple[Any, str]] = (),
    rtol: float | None = None,
    atol: float = 0.0,
    own: bool = True,
) -> None:
    """Judge the values that `run_function` returned: kind, shape, dtype, inputs, values, memory shared with an argument.

    Parameters
    ----------
    got
        From `run_function`.
    expected
        The right result: a NumPy array, or a number.
    name
        The result's name in messages.
    inputs
        The arrays among the arguments as they were before; None skips them.
    hints
        Hints of the exercise, by the kind of mistake.
    mistakes
        Pairs of a result and a hint: the result if a learner makes this mistake.
    rtol, atol
        Tolerances; by default those of the dtype's precision, and 0 for integers.
    own
        Whether the result must share no memory with an argument.

    Raises
    ------
    Wrong
        At the first mistake.
    """
    usual = {**USUAL, **(hints or {})}
    result = got["result"]
    if result is None:
        raise Wrong("the function returns None", usual["nothing"])
    if isinstance(expected, np.ndarray) and expected.ndim:
        result = _judge_form(name, result, expected, usual, hints or {})
    else:
        result = _judge_number(name, result, usual)
        if isinstance(expected, np.generic | np.ndarray) and result.dtype.kind != expected.dtype.kind:
            raise Wrong(f"{name} is {result.dtype}, but {expected.dtype} is right", usual["dtype"])
    called = "result" if name == "the result" else name
    # Inputs come first: a result that was computed from overwritten inputs is wrong, too.
    if inputs is not None:
        _judge_inputs(got, inputs, usual)
    judge_array(called, result, np.asarray(expected), hints=hints, mistakes=mistakes, rtol=rtol, atol=atol)
    if own and got.get("shared"):
        raise Wrong(f"{name} shares its memory with {got['shared']}", usual["shared"])


def _judge_form(name: str, result: Any, expected: np.ndarray, usual: Hints, ours: Hints) -> np.ndarray:
    if isinstance(result, Strange):
        on_device = any(word in result.kind for word in ("device array", "CuPy", "PyTorch"))
        hint = ours.get("device") or ours.get("kind") or usual["device" if on_device else "kind"]
        raise Wrong(f"{name} is {result.kind}, but the task needs a NumPy array", hint)
    if not isinstance(result, np.ndarray):
        raise Wrong(f"{name} is {named(result)}, but the task needs a NumPy array", usual["kind"])
    if result.shape != expected.shape:
        raise Wrong(f"{name} has the shape {result.shape}, but {expected.shape} is right", usual["shape"])
    if result.dtype != expected.dtype:
        raise Wrong(f"{name} is {result.dtype}, but {expected.dtype} is right", usual["dtype"])
    return result


def _judge_number(name: str, result: Any, usual: Hints) -> np.ndarray:
    if isinstance(result, bool | int | float | complex):
        try:
            return np.asarray(result)
        except OverflowError:
            raise Wrong(f"{name} is a huge number", usual["values"]) from None
    if isinstance(result, np.ndarray) and result.ndim == 0:
        return result
    shape = f" of shape {result.shape}" if isinstance(result, np.ndarray) else ""
    raise Wrong(f"{name} is {named(result)}{shape}, but the task needs a single number", usual["kind"])


def named(value: Any) -> str:
    """Return what a run's value is, for a message: "a PyTorch tensor", "a NumPy number (float32)", "None"."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return f"a NumPy number ({value.dtype})"
    return value.kind if isinstance(value, Strange) else said(value)


def judge_choice(
    result: Any,
    expected: str,
    choices: Sequence[str],
    *,
    name: str = "the result",
    hints: Hints | None = None,
    tell: bool = True,
) -> None:
    """Judge a result that is one of a few texts.

    Parameters
    ----------
    result
        From `run_function`: a text of Python's or NumPy's.
    expected
        The right text.
    choices
        All texts that the task names.
    name
        The result's name in messages.
    hints
        Hints by the text that a learner returns.
    tell
        Whether the message names the right text. It does not where that would be the whole answer.

    Raises
    ------
    Wrong
        If the result is another text, or no text.
    """
    if isinstance(result, np.ndarray) and result.ndim == 0 and result.dtype.kind == "U":
        result = result.item()
    usual = {**USUAL, **(hints or {})}
    if result is None:
        raise Wrong(f"{name} is None", usual["nothing"])
    every = [f'"{each}"' for each in choices]
    wanted = f"{', '.join(every[:-1])} or {every[-1]}"
    if not isinstance(result, str):
        raise Wrong(f"{name} is {named(result)}, but the task needs a text", f"Return {wanted}.")
    if result not in choices:
        raise Wrong(
            f'{name} is "{result[:40]}", which is not in the task', f"Return {wanted}, letter by letter."
        )
    if result != expected:
        text = f'{name} is "{result}"' + (f', but "{expected}" is right' if tell else "")
        raise Wrong(text, usual.get(result, usual["values"]))


def judge_counts(
    got: Mapping[str, Any], *, hints: Hints | None = None, **wanted: int | tuple[int, int]
) -> None:
    """Judge the number of copies, waits, allocations or operations.

    Parameters
    ----------
    got
        From `run_function(…, counted=True)`.
    hints
        Hints by the name of the count.
    wanted
        For names of `Count.as_dict` the right number, or the smallest and the largest. A count that is unknown on this
        machine is not judged.

    Raises
    ------
    Wrong
        At the first count that is not right.
    """
    words = {
        "host_to_device": ("copy to the device", "copies to the device"),
        "device_to_host": ("copy back to the host", "copies back to the host"),
        "device_to_device": ("copy on the device", "copies on the device"),
        "waits": ("wait of the host", "waits of the host"),
        "allocations": ("allocation", "allocations"),
        "operations": ("operation of the device", "operations of the device"),
    }
    counts = got.get("counts") or {}
    for name, bounds in wanted.items():
        low, high = bounds if isinstance(bounds, tuple | list) else (bounds, bounds)
        seen = counts.get(name)
        if seen is None or low <= seen <= high:
            continue
        one, many = words.get(name, (name.replace("_", " "),) * 2)
        bound = low if seen < low else high
        enough = f"{bound:,} {'is' if bound == 1 else 'are'} {'needed' if seen < low else 'enough'}"
        enough = enough if bound else "none is needed"
        usual = (
            "Do the work on the device, and keep the arrays there."
            if seen > high
            else "Does your code do the work on the device?"
        )
        raise Wrong(f"{seen:,} {one if seen == 1 else many}, but {enough}", (hints or {}).get(name, usual))


def judge_sectors(got: Mapping[str, Any], most: float, hint: str = "") -> None:
    """Judge the average number of sectors in a memory request of a warp, for each array and access.

    Parameters
    ----------
    got
        From `run_notes`.
    most
        The largest average that is allowed. A sector is 32 bytes, so 4 sectors hold 32 elements of 4 bytes.
    hint
        What to look at.

    Raises
    ------
    Wrong
        For the array and the access with the largest average, if that is more than `most`.
    """
    worst = max(got["sectors"], key=lambda each: each["sectors"] / each["requests"], default=None)
    if worst is not None and worst["sectors"] > most * worst["requests"]:
        mean = number(round(worst["sectors"] / worst["requests"], 1))
        raise Wrong(
            f"the {worst['access']}s of {worst['name']} take {mean} sectors a memory request; at most {most:g} are allowed",
            hint or "Let neighbouring lanes of a warp access neighbouring elements in memory.",
        )


def judge_requests(
    got: Mapping[str, Any], place: int, access: str, most: int, hint: str = "", *, least: int = 0
) -> None:
    """Judge the number of memory requests that the warps of a kernel make for an array in global memory.

    Parameters
    ----------
    got
        From `run_notes`.
    place
        The array's position among the kernel's arguments.
    access
        "read", "write" or "atomic".
    most, least
        The largest and the smallest number of memory requests that are allowed. A warp that executes such an access
        once makes one memory request.
    hint
        What to look at.

    Raises
    ------
    Wrong
        If the number is larger or smaller.
    """
    mine = [each for each in got["sectors"] if each["place"] == place and each["access"] == access]
    count = sum(each["requests"] for each in mine)
    if least <= count <= most:
        return
    name = mine[0]["name"] if mine else f"argument {place + 1}"
    enough = f"{most:,} are enough" if count > most else f"{least:,} are needed"
    what = "atomics on" if access == "atomic" else f"{access}s of"
    raise Wrong(
        f"the {what} {name} make {count:,} memory requests, but {enough}",
        hint or "Load elements that several threads of a block need once, and keep them in shared memory.",
    )


def judge_banks(got: Mapping[str, Any], most: float = 1.0, hint: str = "") -> None:
    """Judge the average bank-conflict degree of a memory request, for each shared array and access.

    Parameters
    ----------
    got
        From `run_notes`.
    most
        The largest average that is allowed; 1 is no conflict.
    hint
        What to look at.

    Raises
    ------
    Wrong
        For the array and the access with the largest average, if that is more than `most`.
    """
    worst = max(got["banks"], key=lambda each: each["ways"] / each["requests"], default=None)
    if worst is not None and worst["ways"] > most * worst["requests"]:
        mean = number(round(worst["ways"] / worst["requests"], 1))
        raise Wrong(
            f"the {worst['access']}s of {worst['name']} in shared memory take {mean} turns a memory request on average, "
            + ("but 1 is enough" if most == 1 else f"but at most {most:g} are allowed")
            + ": they have bank conflicts",
            hint
            or "Work out the bank of each lane's word (its index modulo 32): lanes with different words of one bank conflict.",
        )


def judge_float32(name: str, types: Mapping[str, Any], hint: str = "") -> None:
    """Judge that a kernel or device function computes in float32.

    Parameters
    ----------
    name
        The name of the kernel or function in the message.
    types
        From `wide_operations`; types that are not known are not judged.
    hint
        What to look at.

    Raises
    ------
    Wrong
        At the first operation in more than 32 bits.
    """
    if not types["operations"]:
        return
    # Where float64 begins: an operation that has not been given one that was computed.
    begins = [each for each in types["operations"] if "float64" not in each["operands"]]
    first = (begins or types["operations"])[0]
    operands = sorted({each.removeprefix("constant ") for each in first["operands"]})
    of_numbers = not any(each.startswith("array") for each in operands)
    raise Wrong(
        f"{name} computes in {first['type']}" + f", from {' and '.join(operands)}" * of_numbers,
        hint
        or "In Numba, a float32 with a number of the source, such as `0` or `0.5`, gives a float64, and so does a "
        "variable that begins with one. Convert the number: `np.float32(0)`.",
        [first["line"]],
    )


def judge_ratio(got: Mapping[str, Any], most: float, hint: str = "") -> None:
    """Judge a time against that of a reference on the same device.

    Parameters
    ----------
    got
        From `run_ratio`.
    most
        The largest ratio of the student's time to the reference's that is allowed.
    hint
        What to look at.

    Raises
    ------
    Wrong
        If the ratio is larger.
    """
    ratio = float(got["ratio"])
    if not ratio <= most:
        raise Wrong(
            f"your code takes {ratio:.1f} times as long as the reference on this device; at most {most:g} times is allowed",
            hint or "Which step does your code repeat that it could do once?",
        )
