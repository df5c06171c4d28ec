"""A handler that tries to outlive its tenure, in the way that its key names (NAME-…). While it lives, each of its
processes writes the time to a separate file. escapes.py judges these files.

Usage: escape.py FOLDER. Only the first tenure of a key attacks; the later ones are its successors.
"""

import ctypes
import os
import signal
import subprocess
import sys
import time

FOLDER = sys.argv[1]
KEY = os.environ["TENURE_KEY"]
EPOCH = os.environ["TENURE_EPOCH"]
LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
PTRACE_SEIZE, PTRACE_INTERRUPT = 0x4206, 0x4207


def beat():
    """Until somebody ends it. The clock is read before it is written: a time in the file was lived to see."""
    file = os.open(f"{FOLDER}/beats/{EPOCH}.{os.urandom(6).hex()}", os.O_CREAT | os.O_WRONLY, 0o600)
    first = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    while True:
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        os.pwrite(file, b"%020d %020d %08d\n" % (first, now, os.getpid()), 0)
        time.sleep(0.003)


def deaf():
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD, 32, 33):
            signal.signal(number, signal.SIG_IGN)


def free():
    """Nothing ties this process to its parent any more."""
    LIBC.prctl(PR_SET_PDEATHSIG, 0)
    deaf()


def parent_of(process):
    with open(f"/proc/{process}/stat") as file:
        return int(file.read().rsplit(") ", 1)[1].split()[1])


def daemon(work):
    """Runs the work in a session of its own, below nobody, without a descriptor of ours."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        free()
        os.closerange(0, 1024)
        work()
        os._exit(0)
    os.wait()


def ready():
    open(f"{FOLDER}/ready", "w").close()


KEEPER = os.getppid()
GUARD = parent_of(KEEPER)
WORKER = parent_of(GUARD)


def send(number, *processes):
    for process in processes:
        os.kill(process, number)


def kill(*processes):
    """All of them are stopped first, so that none acts on the death of another."""
    send(signal.SIGSTOP, *processes)
    send(signal.SIGKILL, *processes)


def trace():
    """Holds the keeper still. Refused where it may not be traced, and then there is only a daemon."""
    if LIBC.ptrace(PTRACE_SEIZE, KEEPER, 0, 0) == 0:
        LIBC.ptrace(PTRACE_INTERRUPT, KEEPER, 0, 0)


def stop_for_ever(*processes):
    def work():
        while True:
            for process in processes:
                try:
                    os.kill(process, signal.SIGSTOP)
                except OSError:
                    pass
            time.sleep(0.0002)
    return work


def bomb():
    """At most a hundred at once, and some thousands in all; each dies young and leaves another one behind."""
    left = 3000
    for _ in range(100):
        if os.fork() == 0:
            os.setsid()
            free()
            while left > 0:
                left -= 100
                if os.fork() != 0:
                    os._exit(0)
            beat()


def spawned():
    """posix_spawn is a vfork."""
    here = [sys.executable, __file__, FOLDER, "beat"]
    os.posix_spawn(here[0], here, os.environ, setsid=True)


def away():
    """Into user and pid namespaces of its own, where that is permitted."""
    subprocess.Popen(["unshare", "--user", "--map-root-user", "--pid", "--fork", sys.executable, __file__, FOLDER, "beat"],
                     start_new_session=True)


def other_cgroup():
    for procs in ("/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs"):
        try:
            with open(procs, "w") as file:
                file.write(str(os.getpid()))
        except OSError:
            pass
    daemon(beat)


def clean_up():
    os.chdir("/")
    subprocess.run(["rm", "-rf", os.path.dirname(os.environ["TENURE_DIR"])], check=False)
    daemon(beat)


def reaper():
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1)
    daemon(beat)


# What each of them does. The daemon beats meanwhile, and so does the program itself, unless it is killed.
DEEDS = {
    "daemon": lambda: daemon(beat),
    "subreaper": reaper,
    "bomb": lambda: daemon(bomb),
    "spawned": spawned,
    "namespaces": away,
    "cgroup": other_cgroup,
    "folder": clean_up,
    "stops_itself": lambda: (daemon(beat), ready(), send(signal.SIGSTOP, os.getpid())),
    "stops_keeper": lambda: (daemon(beat), send(signal.SIGSTOP, KEEPER)),
    "stops_keeper_for_ever": lambda: (daemon(beat), daemon(stop_for_ever(KEEPER))),
    "traces_keeper": lambda: (daemon(beat), trace()),
    "stops_guard": lambda: (daemon(beat), send(signal.SIGSTOP, GUARD)),
    "stops_guard_and_worker": lambda: (daemon(beat), send(signal.SIGSTOP, GUARD, WORKER)),
    "stops_all": lambda: (daemon(beat), send(signal.SIGSTOP, KEEPER, GUARD, WORKER)),
    "kills_keeper": lambda: (daemon(beat), kill(KEEPER)),
    "kills_guard": lambda: (daemon(beat), kill(GUARD)),
    "kills_worker": lambda: (daemon(beat), kill(WORKER)),
    "kills_keeper_and_guard": lambda: (daemon(beat), kill(KEEPER, GUARD)),
    "kills_keeper_and_worker": lambda: (daemon(beat), kill(KEEPER, WORKER)),
    "kills_guard_and_worker": lambda: (daemon(beat), kill(GUARD, WORKER)),
    "stops_guard_kills_keeper": lambda: (daemon(beat), send(signal.SIGSTOP, GUARD), kill(KEEPER)),
    "stops_keeper_kills_guard": lambda: (daemon(beat), send(signal.SIGSTOP, KEEPER), kill(GUARD)),
    "stops_keeper_kills_others":
        lambda: (daemon(beat), send(signal.SIGSTOP, KEEPER), kill(GUARD, WORKER)),
    "kills_all": lambda: (daemon(beat), kill(KEEPER, GUARD, WORKER)),
}


def main():
    if sys.argv[2:] == ["beat"]:
        free()
        beat()
    try:
        os.close(os.open(f"{FOLDER}/done", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        beat()
    free()
    if os.fork() == 0:
        beat()
    DEEDS[KEY.split("-")[0]]()
    ready()
    beat()


main()
