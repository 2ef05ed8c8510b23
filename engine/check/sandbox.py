"""Runs a program that a model wrote, in a process of its own with limits, to see whether its tests pass.

It contains accidents: endless loops, too much memory, files written or removed, processes and connections opened,
an early exit taken for success. It is no wall against code that means harm: whoever runs a benchmark of untrusted
problems does so in a container. The idea, and the list of what to deny, follow the guard of OpenAI's human-eval.
"""

from __future__ import annotations

import contextlib
import enum
import os
import secrets
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

TIMEOUT_S = 5.0
MEMORY_MB = 1536
FILE_MB = 16

# Tells the harness to answer only after the program has run to its end. RLIMIT_NPROC is not set, as it does not
# bind root and counts all processes of anyone else; the hook denies new processes alike to all.
_HARNESS = """
import os, sys
def harness(answer, token, seconds, memory, file_size):
    try:
        import resource
    except ImportError:
        resource = None
    if resource:
        wanted = {"CPU": seconds, "AS": memory, "FSIZE": file_size, "CORE": 0}
        for name, value in wanted.items():
            try:
                resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
            except (AttributeError, ValueError, OSError):
                pass
    with open("program.py", encoding="utf-8", errors="surrogatepass", newline="") as file:
        source = file.read()
    code = compile(source, "program.py", "exec")
    home, realpath, fspath = os.getcwd(), os.path.realpath, os.fsdecode
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    denied = ("os.fork", "os.exec", "os.posix_spawn", "os.spawn", "os.system", "os.startfile", "os.kill",
        "os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.chflags", "os.link",
        "os.symlink", "os.truncate", "os.utime", "os.setxattr", "os.removexattr", "subprocess.", "pty.", "socket.",
        "shutil.", "ctypes.", "resource.setrlimit", "resource.prlimit", "signal.pthread_kill")
    def hook(event, arguments):
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & writing and not isinstance(path, int):
                if os.path.commonpath([home, realpath(fspath(path))]) != home:
                    raise PermissionError("writing outside the folder is denied")
        elif event.startswith(denied):
            raise PermissionError(event + " is denied")
    sys.addaudithook(hook)
    exec(code, {"__name__": "__main__", "__builtins__": __builtins__})
    os.write(answer, token)
    os._exit(0)
harness(int(sys.argv[1]), os.read(0, 64), *map(int, sys.argv[2:]))
"""


class Outcome(enum.StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"


def run_program(source: str, timeout_s: float = TIMEOUT_S, memory_mb: int = MEMORY_MB) -> Outcome:
    """Runs Python source as `__main__`, with only the standard library, in a folder that is removed afterwards.

    PASSED: it ran to its end within `timeout_s` of wall time. Anything else that ends it (an exception, `sys.exit(0)`,
    `os._exit(0)`, a signal, a limit) is FAILED. Whatever is left of its process group is killed. Hashes are seeded,
    so that a program that leans on the order of a set is judged alike each time.
    """
    token = secrets.token_hex(16).encode()
    answer, write_end = os.pipe()
    with tempfile.TemporaryDirectory(prefix="midfill-", ignore_cleanup_errors=True) as folder, os.fdopen(answer, "rb"):
        try:
            (Path(folder) / "program.py").write_bytes(source.encode("utf-8", "surrogatepass"))
            process = _start(folder, write_end, timeout_s, memory_mb)
        finally:
            os.close(write_end)
        try:
            process.communicate(token, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return Outcome.TIMED_OUT
        finally:
            kill_group(process)
        os.set_blocking(answer, False)
        with contextlib.suppress(BlockingIOError):
            if process.returncode == 0 and os.read(answer, len(token) + 1) == token:
                return Outcome.PASSED
        return Outcome.FAILED


def _start(folder: str, write_end: int, timeout_s: float, memory_mb: int) -> subprocess.Popen[bytes]:
    limits = [int(timeout_s) + 1, memory_mb << 20, FILE_MB << 20]
    # -P -s -S and an environment of our own are what -I -S would be, except that -I also ignores the hash seed.
    return subprocess.Popen(
        [sys.executable, "-P", "-s", "-S", "-B", "-c", _HARNESS, str(write_end), *map(str, limits)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={"PYTHONHASHSEED": "0", "PYTHONUTF8": "1", "HOME": folder, "TMPDIR": folder, "LC_ALL": "C.UTF-8"},
        pass_fds=(write_end,),
        start_new_session=True,
    )


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Ends the process and all of its group, and waits for it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
