"""The sandbox: the whole service, on this machine."""

from osdi_frames.errors import MissingExtra

try:
    import starlette  # noqa: F401 (is it there?)
    import uvicorn  # noqa: F401 (is it there?)
except ImportError as error:
    raise MissingExtra.named("serve") from error

from osdi_frames.sandbox.app import create_app
from osdi_frames.sandbox.demo import fill_demo
from osdi_frames.sandbox.serve import Running, bind, run, serve

__all__ = ["Running", "bind", "create_app", "fill_demo", "run", "serve"]
