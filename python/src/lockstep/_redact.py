"""What looks like a secret, by the rules of ``pkg/mpi/diagnose``: a comparison of jobs is passed on."""

from __future__ import annotations

import re

_WORD = r"(?:key|token|secret|passwo?r?d|passphrase|credential|signature)"
_NAME = rf"(?:[\w.-]*{_WORD}[\w.-]*|(?:[\w.-]*[_.-]|\b)(?:pass|sig)(?:[_.-][\w.-]*)?|[\w.-]*[_.;-]pwd)"
_VALUE = r"""(?:([bru]?")(?:[^"\\]|\\.)+|([bru]?')(?:[^'\\]|\\.)+|[^\s"'&,;=][^\s"'&,;]*)"""
_HIDDEN = r"\1\2\3***"
_RULES = [
    (re.compile(find, re.ASCII), hidden)
    for find, hidden in (
        (r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*", "***"),
        (r"(?i)\b((?:bearer|basic)\s+)[\w+/=._~-]{8,}", r"\1***"),
        (r"""://[^/\s"']+@""", "://***@"),
        (rf"""(?i)({_NAME}["']?\s*=>?\s*){_VALUE}""", _HIDDEN),
        (rf"""(?i)(["']{_NAME}\\*["']\s*:\s*\\*){_VALUE}""", _HIDDEN),
        (rf"(?i)(\bpasswo?r?d:\s*){_VALUE}", _HIDDEN),
        (rf"""(?i)(--?(?:[\w-]*{_WORD}s?|(?:[\w-]*-)?(?:pass|pwd))\s+)(?:(")[^"]+|(')[^']+|[^\s"'&,;-][^\s"'&,;]*)""", _HIDDEN),
        (
            r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{16,}|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{8,}"
            r"|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)[\w-]*",
            "***",
        ),
        (rf"(?i)^(\s*(?:- )?[\w.-]*{_WORD}s?:\s*)\S+$", r"\1***"),
        (r"^\s*[A-Za-z0-9+/]{60,}={0,2}$", "***"),
    )
]


def redacted(text: str) -> str:
    """A text without what looks like a secret.

    >>> redacted("train --api-key abc HF_TOKEN=hf_x lr=0.1")
    'train --api-key *** HF_TOKEN=*** lr=0.1'
    """
    for find, hidden in _RULES:
        text = find.sub(hidden, text)
    return text
