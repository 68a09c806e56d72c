"""Receive signature webhooks durably.

200 is answered only after the delivery is on disk. The application needs the extra ``serve``; checking an archive and
erasing a person from it do not.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from osdi_frames.errors import MissingExtra
from osdi_frames.messages import quoted
from osdi_frames.receiver.erasure import erase
from osdi_frames.receiver.requeue import requeue
from osdi_frames.receiver.verification import verify

if TYPE_CHECKING:
    from osdi_frames.receiver.app import create_app, serve
    from osdi_frames.receiver.delivery_queue import ReceiverLimits

__all__ = ["ReceiverLimits", "create_app", "erase", "requeue", "serve", "verify"]


def __getattr__(name: str) -> Any:
    if name not in ("ReceiverLimits", "create_app", "serve"):
        raise AttributeError(f"module {quoted(__name__)} has no attribute {quoted(name)}")
    try:
        return getattr(import_module("osdi_frames.receiver.app"), name)
    except ModuleNotFoundError as error:
        raise MissingExtra.named("serve") from error
