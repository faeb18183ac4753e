"""Times and durations as Kubernetes writes and shows them."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone


def now() -> datetime:
    """The present, with its zone."""
    return datetime.now(timezone.utc)


def parsed(text: str | None) -> datetime | None:
    """A time of Kubernetes' JSON, None for one that nobody has written."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")) if text else None


def human(duration: timedelta) -> str:
    """A duration as kubectl shows an age: ``18s``, ``5m10s``, ``3d4h`` (k8s.io/apimachinery, HumanDuration)."""
    seconds = max(0, int(duration.total_seconds()))
    minutes, hours = seconds // 60, seconds // 3600
    days = hours // 24
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return _two(minutes, "m", seconds % 60, "s")
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return _two(hours, "h", minutes % 60, "m")
    if hours < 48:
        return f"{hours}h"
    if days < 8:
        return _two(days, "d", hours % 24, "h")
    if days < 2 * 365:
        return f"{days}d"
    if days < 8 * 365:
        return _two(days // 365, "y", days % 365, "d")
    return f"{days // 365}y"


def _two(large: int, unit: str, small: int, small_unit: str) -> str:
    return f"{large}{unit}{small}{small_unit}" if small else f"{large}{unit}"


def precise(duration: timedelta) -> str:
    """A duration to the second, as Go writes it: ``1h0m5s``.

    >>> precise(timedelta(seconds=65)), precise(timedelta(hours=1))
    ('1m5s', '1h0m0s')
    """
    seconds = round(duration.total_seconds())
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    hours, minutes, seconds = seconds // 3600, seconds // 60 % 60, seconds % 60
    return sign + (f"{hours}h" if hours else "") + (f"{minutes}m" if hours or minutes else "") + f"{seconds}s"
