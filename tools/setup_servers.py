"""Unpack a Debian package, with all that it needs: `python tools/setup_servers.py suite package folder`.

Nothing is installed, no root is needed. A program of a newer Debian than this system's comes with its own C
library, and is started through that one's loader.
"""

from __future__ import annotations

import getpass
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = "Types: deb\nURIs: {mirror}\nSuites: {suite}\nComponents: main\nSigned-By: {keys}\n"


def main() -> None:
    suite, package, folder = sys.argv[1:]
    if not Path(folder).is_dir():
        unpack(suite, package, Path(folder).resolve())


def unpack(suite: str, package: str, folder: Path) -> None:
    """Put a package into the folder, whole or not at all; if that fails, say so, and nobody stops."""
    print(f"Unpacking {package} of {suite} into .servers/{folder.name} (400 MB, once) ...", flush=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".fetch-") as scratch:
        packages = _download(suite, package, Path(scratch))
        unpacked = [
            subprocess.run(["dpkg", "-x", file, Path(scratch, "unpacked")], check=False).returncode == 0
            for file in packages
        ]
        if packages and all(unpacked):
            os.replace(Path(scratch, "unpacked"), folder)
        else:
            print(f"{package} could not be fetched.", flush=True)


def _download(suite: str, package: str, scratch: Path) -> list[Path]:
    """Let apt fetch into a state of its own, where nothing is installed: so it fetches all of the closure."""
    mirror = _mirror()
    if mirror is None:
        return []
    for name in ("sources", "lists/partial", "cache/archives/partial"):
        (scratch / name).mkdir(parents=True)
    (scratch / "status").touch()
    (scratch / "sources" / "only.sources").write_text(SOURCES.format(mirror=mirror, suite=suite, keys=KEYS))
    options = {
        "Dir::Etc::sourcelist": "/dev/null", "Dir::Etc::sourceparts": scratch / "sources",
        "Dir::State::lists": scratch / "lists", "Dir::State::status": scratch / "status",
        "Dir::Cache": scratch / "cache", "APT::Sandbox::User": getpass.getuser(), "Debug::NoLocking": "1",
    }  # fmt: skip
    apt = [
        "apt-get",
        "-qq",
        "-y",
        *(part for name, value in options.items() for part in ("-o", f"{name}={value}")),
    ]
    for command in (["update"], ["install", "--no-install-recommends", "--download-only", package]):
        if subprocess.run([*apt, *command], stdin=subprocess.DEVNULL, check=False).returncode:
            return []
    return sorted((scratch / "cache" / "archives").glob("*.deb"))


def _mirror() -> str | None:
    """The mirror that this system's own packages come from."""
    if not (shutil.which("apt-get") and shutil.which("dpkg") and Path(KEYS).is_file()):
        return None
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = subprocess.run(targets, capture_output=True, text=True, check=False).stdout.split()
    return next((address for address in found if address.rstrip("/").endswith("/debian")), None)


if __name__ == "__main__":
    main()
