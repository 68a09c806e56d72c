"""Read a sandbox with osdi's ActionNetworkService, and print what it gave: address and key are the arguments."""

import json
import sys

from osdi.action_network.person import ANPerson
from osdi.action_network.service import ActionNetworkService

service = ActionNetworkService(*sys.argv[1:])
made = service.create_person("Ada", "Baker", "ada@example.org")
found = service.find_person(email="ada@example.org", model=ANPerson)
service.add_tagging(found, "volunteer")
again = service.find_person(an_id=found.id, model=ANPerson)
again.update_field("shirt", "XL")
again.update()

print(
    json.dumps(
        {
            "tags": sorted(service.tags_by_name),
            "people": service.get_model_raw("people", "osdi:people"),
            "made": made,
            "found": found.id,
            "tagged": sorted(again.tags),
            "after": service.person_by_id(found.id),
        }
    )
)
