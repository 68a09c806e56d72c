"""Addresses: the links and names of one request."""

from dataclasses import dataclass

from osdi_frames.tables.fields import Field

Link = dict[str, str]


@dataclass(frozen=True, slots=True)
class Site:
    """One version of the service at one origin."""

    origin: str
    prefix: str
    version: str

    @property
    def base_url(self) -> str:
        """Return the root of this version of the API."""
        return f"{self.origin}/api/{self.version}"

    def link(self, *segments: str) -> Link:
        """Return a link below the base address."""
        return {"href": "/".join((self.base_url, *segments)).rstrip("/")}

    def prefixed(self, name: str) -> str:
        """Write the prefix where a name has ``<p>``."""
        return name.replace("<p>", self.prefix)

    def field(self, field: Field) -> str | None:
        """Return a field's name here, if it has one."""
        name = field.named(self.version)
        return self.prefixed(name) if name else None

    def native(self, resource_id: str) -> str:
        """Return the service's own identifier of a resource (interface 2.1)."""
        return f"{self.prefix}:{resource_id}"

    def curies(self) -> list[dict[str, object]]:
        """Return the curies of this version (interface 2.5, 2.8)."""
        docs_url = f"{self.origin}/docs/{self.version}/{{rel}}"
        return [{"name": name, "href": docs_url, "templated": True} for name in ("osdi", self.prefix)]
