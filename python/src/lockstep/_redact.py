"""What looks like a secret, by the rules of ``pkg/mpi/diagnose``: a comparison of jobs is passed on."""

from __future__ import annotations

import re

_OTHER = r"(?:key|secret|passwo?r?d|passphrase|credential|signature)"
_WORD = rf"(?:{_OTHER}|token)"
_NAME = (
    rf"(?:[\w.-]*(?:{_OTHER}[\w.-]*|token(?:(?:[a-hj-z\d_.-]|i[^z\s])[\w.-]*)?)"
    r"|(?:[\w.-]*[_.-]|\b)(?:pass|sig)(?:[_.-][\w.-]*)?|[\w.-]*[_.;-]pwd)"
)
_FLAG = rf"--?(?:[\w.-]*{_WORD}s?|(?:[\w.-]*[_.-])?(?:pass|pwd))"
_VALUE = r"""(?:([bru]?")(?:[^"\\]|\\.)+|([bru]?')(?:[^'\\]|\\.)+|[^\s"'&,;=][^\s"'&,;]*)"""
_QUOTED = r"""(\\+["'])[^"'\\]+|(")(?:[^"\\]|\\.)+|(')(?:[^'\\]|\\.)+"""
_ARGUMENT = rf"""(?:{_QUOTED}|[^\s"'&;=\\-](?:[^\s"'&;\\]|\\[^n"'])*)"""
#: The groups of a rule are what stands before the secret.
_RULES = [
    re.compile(find, re.ASCII)
    for find in (
        r"(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY.*",
        r"(?i)\b((?:bearer|basic)\s+)[\w+/=._~-]{8,}",
        r"""(://)[^/\s"']+@""",
        rf"(?i)({_FLAG}(?:=|(?:[ \t]|\\+(?:n|\n))+(?:- )?)){_ARGUMENT}",
        rf"(\b[A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWO?R?D|PASSPHRASE|CREDENTIAL)S?=){_ARGUMENT}",
        rf"""(?i)(["']{_FLAG}\\*["'](?:[\s,]|\\+n)+)(?:{_QUOTED})""",
        rf"""(?i)(["']name\\*["']\s*:\s*\\*["']{_NAME}\\*["']\s*,[^"'{{}}]*["']value\\*["']\s*:\s*){_ARGUMENT}""",
        rf"""(?i)({_NAME}["']?\s*=>?\s*){_VALUE}""",
        rf"""(?i)(["']{_NAME}\\*["']\s*:\s*\\*){_VALUE}""",
        rf"(?i)(\bpasswo?r?d:\s*){_VALUE}",
        r"\b(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|hf_\w{16,}|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{8,}"
        r"|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{30,}|sk-[\w-]{16,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)[\w-]*",
        rf"(?i)^(\s*(?:- )?[\w.-]*{_WORD}s?:\s*)\S+$",
        r"^\s*[A-Za-z0-9+/]{60,}={0,2}$",
    )
]


def redacted(text: str) -> str:
    """A text without what looks like a secret.

    >>> redacted("train --api-key abc HF_TOKEN=hf_x lr=0.1")
    'train --api-key *** HF_TOKEN=*** lr=0.1'
    >>> print(redacted('["--token", "abc", "--max-tokens", "4096", "--tokenizer=bert"]'))
    ["--token", "***", "--max-tokens", "4096", "--tokenizer=bert"]
    >>> redacted("DB_PASSWORD=--hunter2 NUM_TOKENS_PASSWORD=12 tokenid=x")
    'DB_PASSWORD=*** NUM_TOKENS_PASSWORD=*** tokenid=***'
    """
    for rule in _RULES:
        text = rule.sub(_hidden, text)
    return text


def _hidden(found: re.Match[str]) -> str:
    """What was found without the secret. A number of tokens is none, nor is the next flag. The @ of a URL stays."""
    text, start = found[0], max(0, 0, *(end - found.start() for _, end in found.regs[1:]))
    before, value = text[:start], text[start:].removesuffix("@")
    count = not value.strip("0123456789._") and before.lower().rstrip("=: \t\"'\\,").endswith("tokens")
    next_flag = before and not set(before) & set("=:") and value.startswith("--")
    return text if count or next_flag else f"{before}***{text[start + len(value) :]}"
