"""Runs one program and writes what it cost to a file: wall seconds, CPU seconds, peak MiB, exit code.

A process of its own, and a small one: Linux counts the memory of whoever starts a program to that program's peak.

    python -I -S measure.py RESULT SECONDS PROGRAM ARGUMENT...
"""

import os
import signal
import sys
import time


def main(result: str, limit: str, *command: str) -> int:
    began = time.perf_counter()
    child = os.posix_spawn(command[0], command, os.environ, setpgroup=0)

    def too_long(*_: object) -> None:
        os.killpg(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(int(limit))
    # What the program started and waited for itself counts with it.
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - began
    # Peaks are in KiB on Linux and in bytes on macOS.
    unit = 1024 * 1024 if sys.platform == "darwin" else 1024
    code = os.waitstatus_to_exitcode(status)
    with open(result, "w") as file:
        file.write(f"{wall} {used.ru_utime + used.ru_stime} {used.ru_maxrss / unit} {code}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
