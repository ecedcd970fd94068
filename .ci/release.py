"""Install the built wheel as a stranger would, and run the README there (``make release``).

For each Python that is found, with the newest and with the oldest dependencies that pyproject.toml allows, the wheel is
installed by its name into an empty environment, and what the README shows is run away from the checkout.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13")  #: those that pyproject.toml names
RESOLUTIONS = {"newest": "highest", "oldest": "lowest-direct"}  #: words of uv


def readme_python(markdown: str) -> tuple[str, str]:
    """Return the first Python block, and the block of text after it, which is what it prints."""
    found = re.search(r"^```python\n(.*?)^```\s*^```text\n(.*?)^```$", markdown, re.MULTILINE | re.DOTALL)
    assert found, "the README has no Python block with its output"
    return found[1], found[2]


def readme_commands(markdown: str) -> list[list[str]]:
    """Return the words of each command."""
    lines = re.findall(r"^ {4}(plausibly .*)$", markdown.replace("\\\n", ""), re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def uv(*words: object) -> subprocess.CompletedProcess[str]:
    """Run uv from the environment of this interpreter; it downloads no Python."""
    command = [str(Path(sys.executable).with_name("uv")), "--quiet", "--no-python-downloads", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True)


def require(done: subprocess.CompletedProcess[str]) -> str:
    """Return the output of a process, or end with its errors."""
    if done.returncode:
        sys.exit(f"{shlex.join(map(str, done.args))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def check(dist: Path, python: str, resolution: str) -> None:
    """Install into an empty environment and run the README there, in a temporary folder."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as away:
        environment = Path(away, "venv")
        require(uv("venv", "--python", python, environment))
        install = ("pip", "install", "--python", environment)
        strategy = ("--resolution", RESOLUTIONS[resolution], "--only-binary", ":all:")
        require(uv(*install, *strategy, "--requirements", ROOT / "pyproject.toml"))
        # Without an index, the wheel's own metadata must be satisfied by what is installed, and no namesake is found.
        require(uv(*install, "--no-index", "--find-links", dist, f"plausibly=={version}"))
        require(uv("pip", "check", "--python", environment))

        def run(*words: str) -> str:
            given = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            given["XDG_CACHE_HOME"] = str(Path(away, "cache"))  # no program that another version compiled
            command = [environment / "bin" / words[0], *words[1:]]
            return require(subprocess.run(command, cwd=away, env=given, capture_output=True, text=True))

        assert run("plausibly", "--version").split() == ["plausibly", version]
        code, printed = readme_python(readme)
        found = run("python", "-W", "error::FutureWarning", "-c", code)
        if found != printed:
            sys.exit(f"The README's Python printed, instead of its output:\n{found}")
        for words in readme_commands(readme):
            run(*words)
        assert Path(away, "results", "report.html").stat().st_size
    print(f"Python {python} with the {resolution} dependencies: the README runs", flush=True)


def main() -> None:
    """Check each Python that is found with each resolution of the dependencies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", choices=PYTHONS, action="append", help="Only this Python (repeatable).")
    parser.add_argument("--dependencies", choices=RESOLUTIONS, action="append", help="Only these (repeatable).")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="Folder of the sdist and the wheel.")
    options = parser.parse_args()
    suffixes = sorted(path.name[-7:] for path in options.dist.iterdir())
    if suffixes != [".tar.gz", "any.whl"]:
        sys.exit(f"{options.dist} must hold one sdist and one wheel: run make site")
    pythons = [one for one in options.python or PYTHONS if not uv("python", "find", one).returncode]
    if not pythons:
        sys.exit(f"none of Python {', '.join(options.python or PYTHONS)} was found")
    for python in pythons:
        for resolution in options.dependencies or RESOLUTIONS:
            check(options.dist, python, resolution)


if __name__ == "__main__":
    main()
