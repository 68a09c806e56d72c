"""Receive signature webhooks durably: 200 is answered only after the delivery is on disk.

The application needs the extra ``serve``; checking an archive and erasing a person from it do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from osdi_frames.errors import MissingExtra
from osdi_frames.receiver.erasure import erase
from osdi_frames.receiver.verification import verify

if TYPE_CHECKING:
    from osdi_frames.receiver.app import create_app
    from osdi_frames.receiver.delivery_queue import Limits
    from osdi_frames.receiver.server import serve

__all__ = ["Limits", "create_app", "erase", "serve", "verify"]


# Imported when it is asked for: checking an archive needs neither the web framework nor an event loop.
_LAZY = {"Limits": "delivery_queue", "create_app": "app", "serve": "server"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    except ModuleNotFoundError as error:
        raise MissingExtra.named("serve") from error
