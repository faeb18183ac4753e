"""What runs a function as one rank. This text travels in the command of the job: it needs Python 3.7 and nothing else."""

import base64
import importlib.util
import json
import linecache
import logging
import os
import socket
import sys
import traceback
import types
import zlib
from typing import Any

#: What begins the line by which a rank says what it raised. The rest of it is not for people: nobody shall take it for a message of its own.
MARK = "lockstep-raised "
#: How long that line may be. A pipe takes 4096 bytes at once: longer lines of several ranks could mix.
MOST = 3800
_RANKS = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HOROVOD_RANK", "RANK")


def run(source: str, filename: str, first: int, name: str, arguments: "dict[str, Any]") -> None:
    """Runs a function of the text of its file, which begins in line `first`, and ends this process at once when it raises.

    At once: whatever ends MPI in order would wait for the ranks that wait for this one.
    """
    for stream in (sys.stdout, sys.stderr):
        # Lines come at once, and whole: pieces of those of several ranks would mix.
        stream.reconfigure(line_buffering=True, write_through=False)  # type: ignore[union-attr]
    text = "\n" * (first - 1) + source
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope = sys.modules["__main__"].__dict__
    try:
        exec(compile(text, filename, "exec", dont_inherit=True), scope)
        scope[name](**arguments)
    except Exception as e:  # noqa: BLE001 # whatever a program raises
        _tell(e)
        logging.shutdown()
        sys.stdout.flush()
        os._exit(1)


def beside(text: str) -> None:
    """Makes `from lockstep import progress` work where the image has no such package."""
    if importlib.util.find_spec("lockstep") is None:
        module = types.ModuleType("lockstep")
        exec(compile(text, "lockstep", "exec", dont_inherit=True), module.__dict__)
        sys.modules["lockstep"] = module


def _tell(e: Exception) -> None:
    """Prints the line for the client, and below it what Python prints of an exception."""
    below = e.__traceback__.tb_next if e.__traceback__ else None
    text = "".join(traceback.format_exception(type(e), e, below))
    sys.stderr.flush()
    os.write(2, (_line(e, text) + "\n").encode("ascii"))
    sys.stderr.write(text)
    sys.stderr.flush()


def _line(e: Exception, text: str) -> str:
    """What was raised, in one line. Of a long traceback it has the end."""
    rank = next((int(os.environ[v]) for v in _RANKS if os.environ.get(v, "").isdigit()), None)
    said = {"rank": rank, "host": socket.gethostname(), "type": type(e).__name__, "message": str(e)[:500]}
    while True:
        line = MARK + base64.b64encode(zlib.compress(json.dumps(dict(said, traceback=text)).encode())).decode()
        if len(line) <= MOST or not text:
            return line
        text = text[len(text) // 8 + 1 :]
