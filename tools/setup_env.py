"""Set a checkout of this repository up: virtual environment, pinned packages, Java, jars.

`make` calls it before every other target, so the second run has to be quick and needs no network: what is
done leaves a stamp with the hash of the files that it was done from. Only the standard library, as it runs
before there is anything else; started with `python -I path`, because its folder must not shadow that library.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
JARS = ROOT / ".jars"
OLDEST, NEWEST = (3, 10), (3, 13)  # what dbt-core 1.11 and PySpark 4.1 both run on
JAVA = 17
JAVA_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless")  # newer Debians have only the second
REQUIREMENTS = {"demo": "requirements.txt", "test": "requirements-dev.txt"}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Set this checkout up.")
    parser.add_argument("purpose", choices=["demo", "e2e", "test"], nargs="?", default="demo")
    asked = parser.parse_args(argv).purpose
    purpose = "demo" if asked == "demo" else "test"

    install_packages(purpose)
    java = require_java()
    (ROOT / os.environ.get("SPARK_CDC_LAKE", ".lake")).mkdir(parents=True, exist_ok=True)
    JARS.mkdir(exist_ok=True)
    # Side by side: the jars wait for the network, the archive computes.
    with ThreadPoolExecutor() as working:
        begun = [working.submit(fetch_jars, asked), working.submit(offer_servers, asked)]
        if purpose == "test":
            begun.append(working.submit(archive_java_classes, java))
    for done in begun:
        done.result()


def fetch_jars(purpose: str) -> None:
    fetched = subprocess.run([PYTHON, ROOT / "tools" / "setup_jars.py", JARS, purpose], check=False)
    if fetched.returncode:  # it has said why
        sys.exit(fetched.returncode)


def offer_servers(purpose: str) -> None:
    """One after the other, because apt-get runs alone."""
    if purpose == "test" and os.environ.get("CI") == "true":
        offer_chromium()
        offer_databases("postgresql")
    if purpose == "e2e":
        offer_databases("postgresql", "mariadb-server-core")
        offer_mysql()


def install_packages(purpose: str) -> None:
    """Make the virtual environment and install the pinned packages and this one (editable) into it."""
    if is_installed(purpose):
        return

    if not ((VENV / "bin" / "pip").exists() and PYTHON.exists()):
        make_venv()
    say(f"Installing the Python packages of {REQUIREMENTS[purpose]} into .venv (about 500 MB, once) ...")
    pip = [PYTHON, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    again = "pip could not install the packages: see the lines above, then run the same command again."
    run([*pip, "--requirement", ROOT / REQUIREMENTS[purpose]], again)
    run([*pip, "--no-deps", "--editable", ROOT], again)
    stamp(purpose).write_text(fingerprint(purpose))
    if purpose == "test":  # its packages contain the demo's
        stamp("demo").write_text(fingerprint("demo"))


def is_installed(purpose: str) -> bool:
    return stamp(purpose).is_file() and stamp(purpose).read_text() == fingerprint(purpose)


def stamp(purpose: str) -> Path:
    return VENV / f".spark_cdc_{purpose}"


def fingerprint(purpose: str) -> str:
    """A hash of all that an installation depends on; settings of ruff and pytest are none of it."""
    package = (ROOT / "pyproject.toml").read_text().partition("\n[tool.ruff]")[0]
    names = ["constraints.txt", REQUIREMENTS["demo"], REQUIREMENTS[purpose]]
    pins = "".join((ROOT / name).read_text() for name in names)
    return hashlib.sha256((package + pins).encode()).hexdigest()


def make_venv() -> None:
    this = "{}.{}".format(*sys.version_info)
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        stop(f"Python 3.10 to 3.13 is needed and this is {this}: type `make PYTHON=/path/to/python3.11 ...`.")
    if find_spec("ensurepip") is None:  # Debian ships Python without this half of venv
        name = f"python{this}-venv"
        if not apt_install([name, "python3-venv"]):
            stop(f"Python's venv module is missing: type `sudo apt-get install {name}`, then run this again.")
    run([sys.executable, "-m", "venv", VENV], "Remove the folder .venv, then run the same command again.")


def what_java_says() -> str:
    """The lines of `java -version` of the Java that Spark will start; none if there is none."""
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else "java"
    try:
        return subprocess.run([java, "-version"], capture_output=True, text=True, check=True).stderr
    except (OSError, subprocess.CalledProcessError):
        return ""


def version_in(lines: str) -> int | None:
    """Its major version."""
    found = re.search(r'version "(?:1\.)?(\d+)', lines)
    return int(found.group(1)) if found else None


def require_java() -> str:
    """Give what Java says, if it is there or could be installed; else stop with what to type."""
    lines = what_java_says()
    version = version_in(lines)
    if version is not None and version >= JAVA:
        return lines
    home = os.environ.get("JAVA_HOME")
    found = f"Java {version} was found" if version else "none was found"
    if home:
        stop(f"Java {JAVA} or newer is needed and {found} in JAVA_HOME: set JAVA_HOME to one, or unset it.")
    if apt_install(JAVA_PACKAGES) and (version_in(lines := what_java_says()) or 0) >= JAVA:
        return lines
    if shutil.which("apt-get"):
        command = f"sudo apt-get install {JAVA_PACKAGES[0]}"
    elif shutil.which("brew"):
        command = 'brew install openjdk@17 && export JAVA_HOME="$(brew --prefix openjdk@17)"'
    else:
        command = "export JAVA_HOME=/path/to/a/java/17"
    stop(f"Java {JAVA} or newer is needed and {found}: type `{command}`, then run this again.")


def archive_java_classes(java: str) -> None:
    """Keep the classes that Java has read and checked for a short Spark run: the tests start Spark from them.

    They start it dozens of times, and save 3 to 5 CPU seconds each time.
    """
    archive = JARS / f"spark-{fingerprint_of_java(java)}.jsa"
    failed = archive.with_suffix(".failed")
    if archive.is_file() or failed.is_file():
        return
    say("Archiving Spark's Java classes in .jars (150 MB, once) ...")
    messages = sorted((ROOT / "examples" / "library" / "captured").glob("*.jsonl"))
    with tempfile.TemporaryDirectory(dir=JARS, prefix=".archive-") as scratch:
        made = Path(scratch, archive.name)
        options = f"-XX:ArchiveClassesAtExit={made} -Xlog:disable"
        # Java writes the archive when the command has ended. `quietly` waits for that: Java has its output.
        done = quietly(
            [VENV / "bin" / "spark-cdc", "decode", *messages], os.environ | {"SPARK_SUBMIT_OPTS": options}
        )
        if not made.is_file():
            print("\n".join(done.stdout.strip().splitlines()[-5:]), file=sys.stderr)
            say("They could not be archived: the tests take some minutes longer.")
            failed.touch()
            return
        os.replace(made, archive)
    for other in JARS.glob("spark-*.jsa"):
        if other != archive:
            other.unlink(missing_ok=True)


def fingerprint_of_java(java: str) -> str:
    """A hash of what Java compares before it uses an archive: its version, and the jars with their times."""
    files = sorted(VENV.glob("lib/python*/site-packages/pyspark/jars/*.jar"))
    times = "".join(f"{file} {file.stat().st_mtime_ns} {file.stat().st_size}\n" for file in files)
    return hashlib.sha256(f"{java}{times}".encode()).hexdigest()[:12]


def offer_chromium() -> None:
    """A browser for the tests of the docs page; they are skipped without one, so a failure stops nothing."""
    there = any(shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    if not there and not apt_install(["chromium"]):
        say("No chromium could be installed: the tests that need a browser are skipped.")


def offer_databases(*packages: str) -> None:
    """Servers for the test of a real database, which is skipped without, and for `make e2e`."""
    programs = {
        "postgresql": "usr/lib/postgresql/*/bin/postgres",
        "mariadb-server-core": "usr/sbin/mariadbd",
    }
    for package in packages:
        if not any(Path("/").glob(programs[package])) and not apt_install([package]):
            say(f"{package} could not be installed.")


def offer_mysql() -> None:
    """Debian has none; a newer one's is unpacked, and not installed."""
    program = ROOT / "tools" / "setup_servers.py"
    subprocess.run([PYTHON, program, "sid", "mysql-server-core", ROOT / ".servers" / "mysql"], check=False)


def apt_install(names: list[str] | tuple[str, ...]) -> bool:
    """Install the first of these packages that the system knows; False where that is not ours to do."""
    if not shutil.which("apt-get"):
        return False
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if sudo and not (shutil.which("sudo") and quietly([*sudo, "true"]).returncode == 0):
        return False
    say(f"Installing {names[0]} with apt-get (once) ...")
    apt = [*sudo, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]
    update_packages(*apt)
    for name in names:
        done = quietly([*apt, "install", "-y", "--no-install-recommends", name])
        if done.returncode == 0:
            return True
    print(done.stdout.strip(), file=sys.stderr)
    return False


@cache
def update_packages(*apt: str) -> None:
    """Let apt-get fetch its lists, which is enough once."""
    quietly([*apt, "update"])


def run(command: list[object], advice: str) -> None:
    done = quietly(command)
    if done.returncode:
        print("\n".join(done.stdout.strip().splitlines()[-20:]), file=sys.stderr)
        stop(advice)


def quietly(
    command: list[object], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def say(sentence: str) -> None:
    print(sentence, flush=True)


def stop(sentence: str) -> NoReturn:
    sys.exit(f"spark-cdc setup: {sentence}")


if __name__ == "__main__":
    main()
