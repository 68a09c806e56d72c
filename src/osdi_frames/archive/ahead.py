"""Work done in threads, some of it before its result is asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(
    function: Callable[[Item], Result], items: Iterable[Item], count: int
) -> Iterator[Callable[[], Result]]:
    """Call a function on so many items at once, ahead of what is asked for; yield what returns each result, in order.

    >>> [result() for result in ahead(len, ["a", "bc", ""], 2)]
    [1, 2, 0]
    """
    waiting: deque[Callable[[], Result]] = deque()
    pool = ThreadPoolExecutor(count, thread_name_prefix="osdi-frames-ahead")
    try:
        for item in items:
            waiting.append(pool.submit(function, item).result)
            if len(waiting) > count:
                yield waiting.popleft()
        while waiting:
            yield waiting.popleft()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
