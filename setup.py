"""What pyproject.toml cannot say: the records of `measurements/` go into the library, where `h2d` finds them."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithRecords(build_py):
    """Copies the records beside the modules; an editable installation reads them where they are."""

    def records(self) -> list[str]:
        return sorted(path.as_posix() for path in Path("measurements").glob("*.json"))

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            folder = Path(self.build_lib, "host_to_device", "measurements")
            self.mkpath(str(folder))
            for record in self.records():
                self.copy_file(record, str(folder))

    def get_source_files(self) -> list[str]:  # what a source distribution has
        return [*super().get_source_files(), *self.records()]


setup(cmdclass={"build_py": WithRecords})
