"""A run's folder copied into an object store, and its copy brought up to date while the run goes on writing."""

import errno
import logging
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from mf_ckpt import remote
from mf_ckpt.store.manifest import MANIFEST, is_complete, read_manifest
from mf_ckpt.store.run_folder import checkpoints as complete_checkpoints
from mf_config.problems import UserError

_log = logging.getLogger(__name__)

_Mark = tuple[int, int]
"""Size of a file and the time of its last change, in nanoseconds."""


class Mirror:
    """The copy of a folder in a store, of which `update` sends what is new or has changed.

    * A checkpoint travels by `remote.upload`: when it is complete, its manifest last. Those of the run lie directly in
      the remote folder, where `remote.latest` finds them; others, which are folders with a manifest as well, where they
      lie in the source.
    * Every other file has the same relative path there as in the source. It is sent where its size or the time of its
      last change differ from what this object has sent last. What is deleted here stays there.
    * Names that begin with a dot are left out: they are files that are still being written.

    Calls come from one thread at a time, which need not be the same.

    Example:
        mirror = Mirror("output", "s3://bucket/run", checkpoints="output/checkpoint", keep_last=True)
        mirror.update()
    """

    def __init__(
        self,
        source: str | Path,
        url: str,
        *,
        checkpoints: str | Path,
        keep_last: bool = False,
        leave_out: Sequence[str] = (),
    ):
        """Sends nothing yet, and takes the checkpoints that are there for those of this run.

        Args:
            source: the folder.
            url: the remote folder, such as `s3://bucket/run`.
            checkpoints: the folder of the run's checkpoints, `step-*` each; they are left out where it lies outside
                the source.
            keep_last: whether only the newest of them is sent, and older ones are deleted there once it is complete.
                Only those are deleted that this object found in `checkpoints`, which the manifest proves.
            leave_out: patterns, as of a shell, of absolute paths that are not sent, without symbolic links in them.

        Raises:
            UserError: nothing installed can reach the URL.
        """
        self._source = Path(source).resolve()
        self._checkpoints = Path(checkpoints).resolve()
        self._url = url.rstrip("/")
        self._store, self._root = remote.file_system(self._url)
        self._keep_last = keep_last
        self._leave_out = tuple(leave_out)
        self._made: set[str] = set()
        self._sent: dict[Path, _Mark] = {}
        self._arrived: dict[str, bytes] = {}
        self._own: dict[str, bytes] = {}
        self._take_note(self._run_checkpoints())

    def update(self) -> None:
        """Send what is new or has changed since the last call.

        Raises:
            OSError: something did not arrive or could not be deleted, or a checkpoint is damaged; everything else is
                done all the same. The next call tries it again.
        """
        failures = []
        for send in self._steps():
            try:
                send()
            except OSError as error:
                failures.append(error)
        if failures:
            more = f", and {len(failures) - 1} more" if len(failures) > 1 else ""
            raise OSError(f"{failures[0]}{more}") from failures[0]

    def _steps(self) -> Iterator[partial[None]]:
        """What an update does, one file or checkpoint after another; small files come first."""
        if not self._source.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._source))
        folders: list[Path] = []
        for root, names, files in os.walk(self._source):
            here = Path(root)
            names[:] = sorted(name for name in names if self._is_sent(here / name))
            found = [name for name in names if _is_checkpoint(here / name)]
            names[:] = [name for name in names if name not in found]
            if here != self._checkpoints:
                folders += [here / name for name in found]
            paths = (here / name for name in sorted(files))
            yield from (partial(self._send_file, path) for path in paths if self._is_sent(path))
        for folder in folders:
            yield partial(self._send_checkpoint, folder, self._remote(folder.parent, self._url))
        yield partial(self._send_run_checkpoints)

    def _is_sent(self, path: Path) -> bool:
        if path.name.startswith(".") or path == self._checkpoints:
            return False
        if any(fnmatch(str(path), pattern) for pattern in self._leave_out):
            return False
        # A copy on this machine may lie within its source.
        return str(path) != self._root

    def _remote(self, path: Path, root: str) -> str:
        """What corresponds to a path of the source below a remote folder."""
        relative = path.relative_to(self._source).as_posix()
        return root if relative == "." else f"{root}/{relative}"

    def _send_file(self, path: Path) -> None:
        try:
            status = path.stat()
        except FileNotFoundError:
            return
        # Noted before the file is read, so that what is written meanwhile is sent the next time.
        mark = (status.st_size, status.st_mtime_ns)
        if self._sent.get(path) == mark:
            return
        try:
            self._make(self._remote(path.parent, self._root))
            self._store.put_file(str(path), self._remote(path, self._root))
        except OSError as error:
            if path.exists():
                raise OSError(f"{path.relative_to(self._source)}: {error}") from error
        else:
            self._sent[path] = mark

    def _make(self, folder: str) -> None:
        """Make a remote folder once, where the store has such things."""
        if folder not in self._made:
            self._store.makedirs(folder, exist_ok=True)
            self._made.add(folder)

    def _run_checkpoints(self) -> list[Path]:
        """The run's complete checkpoints, oldest first."""
        return complete_checkpoints(self._checkpoints) if self._checkpoints.is_relative_to(self._source) else []

    def _take_note(self, folders: Sequence[Path]) -> None:
        """Keep in mind what the manifests of the run's checkpoints say; any of them may go at any moment."""
        for folder in folders:
            with suppress(FileNotFoundError):
                self._own[folder.name] = (folder / MANIFEST).read_bytes()

    def _send_run_checkpoints(self) -> None:
        found = self._run_checkpoints()
        self._take_note(found)
        for folder in found[-1:] if self._keep_last else found:
            self._send_checkpoint(folder, self._url)
        if self._keep_last and found and f"{self._url}/{found[-1].name}" in self._arrived:
            for name in [name for name in self._own if name != found[-1].name]:
                remote.remove(f"{self._url}/{name}", self._own[name])
                del self._own[name]

    def _send_checkpoint(self, folder: Path, root_url: str) -> None:
        """Upload a checkpoint that is complete and has not been uploaded yet."""
        if not is_complete(folder):
            return
        url, content = f"{root_url}/{folder.name}", (folder / MANIFEST).read_bytes()
        if self._arrived.get(url) == content:
            return
        try:
            remote.upload(folder, root_url)
        except (OSError, UserError) as error:
            if is_complete(folder):
                raise OSError(f"{folder.name}: {error}") from error
            # The run keeps few checkpoints, and has deleted this one meanwhile.
            _log.info("%s was deleted before it was uploaded", folder)
            remote.remove(url, content, is_interrupted=True)
            return
        self._arrived[url] = content


def _is_checkpoint(folder: Path) -> bool:
    """Whether a folder has the manifest of a checkpoint, and no file of another program by that name."""
    try:
        read_manifest(folder)
    except (UserError, OSError):
        return False
    return True
