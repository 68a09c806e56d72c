"""Make realistic archives from a seed; nobody is real.

`World` is data in the contract's shapes, without files; `deliveries` are what a deployment sends of its
signatures; `write` writes everything to a folder. Whatever is made is valid input: what is odd in it is odd in
life. How it is distributed:

* Times: more is done in spring and autumn than in summer and winter, on weekdays than at weekends, at noon and in the
  evening of American clocks than at night (`times.lived`).
* Events: eight in a hundred in the year before June 2018, the others more and more over six years. RSVPs
  follow a power law (Pareto, exponent 1.1, at most 600) and come in until an event was last modified. One event in
  six has a capacity, and comes near it. Three events in four are in one of eight campaigns, which draw more people;
  each fades after its launch (to 1/e in two months). One in ten is virtual. Attendees of events of the last year are
  checked in, some do not come.
* Pulls: with embedded people in June 2018, and in each of the last five weeks, each with the events and RSVPs
  of its day; the last has the newest state of every event.
* Signatures: more and more over five years; a petition's share fades with time (to 1/e in three months).
  Sources are written as people write them, and follow a power law; those of newsletters have their month.
  Each optional part is there with its own chance, stated where it is drawn.
* Deliveries: see `deliveries`.
* Submissions, donations, outreaches, responses: one of each for thirty signatures, over two years; every other
  one by somebody who signs or attends. Tags are people's of these.

What is not imitated: bounces between petitions, people who move house.
"""

from osdi_frames.sample.deliveries import deliveries
from osdi_frames.sample.world import World
from osdi_frames.sample.writing import write

__all__ = ["World", "deliveries", "write"]
