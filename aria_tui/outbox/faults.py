"""What an error of SQLite or of the file system means for the queue's user: a reason in words and a way out."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
from pathlib import Path

_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_NETWORK = (
    "nfs nfs4 cifs smb3 smbfs 9p afs ncpfs coda davfs ceph lustre beegfs gpfs ocfs2 gfs2 orangefs pvfs2 glusterfs"
    " virtiofs vboxsf vmhgfs prl_fs drvfs fuse.sshfs fuse.rclone fuse.ceph fuse.glusterfs fuse.s3fs fuse.gcsfuse"
    " fuse.juicefs fuse.mfs fuse.curlftpfs fuse.gvfsd-fuse fuse.vmhgfs-fuse"
)
"""Kinds of file systems, as the system's table of mounts names them, that other machines share."""
_UNPRINTED = re.compile(r"\\([0-7]{3})")
"""A blank, a tab, a line's end or a backslash of a folder's name, as that table writes it."""
_NO_LOCKS = {
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_RDLOCK,
    sqlite3.SQLITE_IOERR_UNLOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
}
ELSEWHERE = "set ARIA_HOME to a folder on a local disk"


class Damaged(Exception):
    """The file is not a sound SQLite database."""


def is_damage(error: Exception) -> bool:
    """True where SQLite says that the file itself is broken (not locked, not full, not forbidden).

    Names of tables and columns that are gone or no text, in a file that had them, were changed by a broken page.
    """
    if isinstance(error, Damaged | UnicodeDecodeError):
        return True
    code = getattr(error, "sqlite_errorcode", None)
    lost = code == sqlite3.SQLITE_ERROR and str(error).startswith(("no such table", "no such column", "malformed"))
    return lost or (code is not None and code & 0xFF in _DAMAGE)


def is_busy(error: Exception) -> bool:
    """True where another program holds the file's lock."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def explain(error: Exception, path: Path) -> tuple[str, str]:
    """Reason and way out for an error met while opening or writing the queue."""
    if isinstance(error, OSError):
        return _explain_os(error)
    extended = getattr(error, "sqlite_errorcode", 0)
    code = extended & 0xFF
    if code == sqlite3.SQLITE_READONLY and (shut := unwritable(path)):
        return _explain_os(shut)
    if extended in _NO_LOCKS or (is_busy(error) and not locks_files(path.parent)):
        return "the file system does not lock files", ELSEWHERE
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _no_space(path)):
        return "disk full", "free some space and save again"
    if os.path.exists(path) and not os.path.isfile(path):  # noqa: PTH110, PTH113 - which raise nothing
        return "it is no file", "move it away, or set ARIA_HOME"
    reasons = {
        sqlite3.SQLITE_BUSY: ("another program holds the queue's lock", "close it, or see `aria doctor`"),
        sqlite3.SQLITE_LOCKED: ("another program holds the queue's lock", "close it, or see `aria doctor`"),
        sqlite3.SQLITE_READONLY: ("the file can't be written", "check its permissions, or set ARIA_HOME"),
        sqlite3.SQLITE_CANTOPEN: ("the file can't be opened", "check its folder's permissions, or set ARIA_HOME"),
        sqlite3.SQLITE_PERM: ("permission denied", "check its permissions, or set ARIA_HOME"),
        sqlite3.SQLITE_PROTOCOL: ("the file system does not lock files", ELSEWHERE),
    }
    if code == sqlite3.SQLITE_IOERR:
        if network := network_file_system(path):
            return f"the network file system ({network}) failed", ELSEWHERE
        return f"the disk failed ({error})", "check the disk"
    return reasons.get(code, (str(error), "see `aria doctor`"))


def _explain_os(error: OSError) -> tuple[str, str]:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "disk full", "free some space and save again"
        case errno.EROFS:
            return "the file system is read-only", "set ARIA_HOME to a folder that can be written"
        case errno.ENOLCK | errno.ENOTSUP | errno.ENOSYS:
            return "the file system does not lock files", ELSEWHERE
        case errno.EACCES | errno.EPERM:
            return "permission denied", "make it yours, or set ARIA_HOME to a folder of yours"
        case errno.EISDIR:
            return "a folder stands in its place", "move that folder away, or set ARIA_HOME"
        case errno.ENOTDIR | errno.EEXIST:
            return "its folder is a file", "move that file away, or set ARIA_HOME"
        case _:
            return error.strerror or str(error), "set ARIA_HOME to another folder"


def locks_files(folder: Path) -> bool:
    """Whether a lock as SQLite's can be had at all: where the lock service of a network file system is away, SQLite
    only says that the file is busy. Tried on a file of its own, for closing a file gives up every lock on it."""
    import fcntl  # rarely asked, and every command loads this

    trial = folder / "queue.db.trial"
    try:
        handle = os.open(trial, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError:
        return True  # that can't be told, and is another fault
    try:
        fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in (errno.EAGAIN, errno.EACCES)  # another process tries it, too
    else:
        return True
    finally:
        os.close(handle)
        trial.unlink(missing_ok=True)


def unwritable(path: Path) -> OSError | None:
    """Why a file that is there, or its folder, in which SQLite makes the journal, can't be written."""
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK):
        return None
    try:
        read_only = os.statvfs(path).f_flag & os.ST_RDONLY
    except OSError:
        return None  # it is not there
    return OSError(errno.EROFS if read_only else errno.EACCES, "not writable")


def _no_space(path: Path) -> bool:
    import shutil  # a disk that is full is rare, and every command loads this

    try:
        return shutil.disk_usage(path.parent).free < 64 * 1024
    except OSError:
        return False


def network_file_system(path: Path) -> str | None:
    """The kind of network file system that the path is on, or None (also where that can't be told)."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
        place = str(path.resolve())
    except OSError:
        return None
    best, kind = "", ""
    for line in mounts:
        fields = line.split(" ")
        where = _UNPRINTED.sub(lambda octal: chr(int(octal[1], 8)), fields[1])
        if (place == where or place.startswith(where.rstrip("/") + "/")) and len(where) >= len(best):
            best, kind = where, fields[2]
    return kind if kind in _NETWORK.split() else None
