"""Script in a process of its own: converts CUDA C++ to HIP with PyTorch's hipify, and answers in JSON.

hipify is plain Python. The script loads it alone, because importing PyTorch takes seconds.
"""

import importlib.util
import io
import json
import sys
from contextlib import redirect_stdout
from pathlib import Path


def main() -> None:
    request = json.load(sys.stdin)
    said = io.StringIO()
    with redirect_stdout(said):
        text = converted(request["source"], Path(request["hipify"]))
    sys.stdout.write("\n\x1e" + json.dumps({"text": text, "said": said.getvalue()}))


def converted(source: str, folder: Path) -> str:
    spec = importlib.util.spec_from_file_location(
        "hipify", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["hipify"] = package
    spec.loader.exec_module(package)
    from hipify import hipify_python

    project = Path.cwd() / "project"
    project.mkdir()
    (project / "kernel.cu").write_text(source, encoding="utf-8")
    made = hipify_python.hipify(
        project_directory=str(project),
        output_directory=str(Path.cwd() / "converted"),
        includes=["*"],
        show_detailed=True,
        is_pytorch_extension=True,
    )
    (result,) = made.values()
    return Path(result.hipified_path).read_text(encoding="utf-8")


if __name__ == "__main__":
    main()
