"""Make realistic archives from a seed; nobody is real.

`World` is data in the contract's shapes, without files; `deliveries` are what a deployment sends of its
signatures; `write` writes everything to a folder. Whatever is made is valid input: what is odd in it is odd in
life. How it is distributed:

* Events: eight in a hundred in the year before June 2018, the others more and more over six years. RSVPs
  follow a power law (Pareto, exponent 1.1) and come in evenly until an event was last modified. One event in
  six has a capacity, and comes near it. Three events in four are in a campaign, which draws more people; few
  campaigns have most events, and each fades after its launch (to 1/e in two months). One in ten is virtual,
  one title in eleven is a hostile label. Attendees of events of the last year are checked in, some do not come.
* Pulls: with embedded people in June 2018, and in each of the last five weeks, each with the events and RSVPs
  of its day; the last has the newest state of every event.
* Signatures: more and more over five years; a petition's share fades with time (to 1/e in three months).
  Sources follow a power law. Each optional part is there with its own chance, stated where it is drawn.
* Deliveries: see `deliveries`.
* Submissions, donations, outreaches, responses: one of each for thirty signatures, evenly over two years; every other
  one by somebody who signs or attends. Tags are people's of these.

What is not imitated: nights and weekends, bounces between petitions, people who move house.
"""

from osdi_frames.sample.deliveries import deliveries
from osdi_frames.sample.world import World
from osdi_frames.sample.writing import write

__all__ = ["World", "deliveries", "write"]
