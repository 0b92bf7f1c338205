"""groups.py - what the algorithms of ranks in N groups of L are, with their standard parts.

Rank i of group a is a * L + i.
"""
import math

from algorithms import ring_scatter
from rounds import *  # all of it


def inside(N, L, part):
    """The same in each group."""
    return beside(*(among([a * L + i for i in range(L)], part) for a in range(N)))


def across(N, L, part):
    """The same among the ranks of each index."""
    return beside(*(among([a * L + i for a in range(N)], part) for i in range(L)))


@define("allreduce", "hier", grouped=True)
def _(N, L, n, **parts):
    return inside(N, L, mesh(L, n // L)) + across(N, L, 2 * ring(N, n // L // N)) + inside(N, L, mesh(L, n // L))


@define("allgather", "hier", grouped=True)
def _(N, L, n, **parts):
    return inside(N, L, mesh(L, n)) + across(N, L, ring(N, L * n))


@define("reduce_scatter", "hier", grouped=True)
def _(N, L, n, **parts):
    return across(N, L, ring(N, L * n)) + inside(N, L, mesh(L, n))


@define("allreduce", "hier-leader", grouped=True, parts=3)
def _(N, L, n, **parts):
    leaders, tree = [a * L for a in range(N)], down(L, knomial(L, 2), n)
    return inside(N, L, backwards(tree)) + among(leaders, 2 * ring(N, n // N)) + inside(N, L, tree)


@define("broadcast", "hier-leader", grouped=True, parts=2)
def _(N, L, n, root, **parts):
    a, i = divmod(root, L)
    leaders = [c * L + i for c in range(N)]
    return among(leaders, down(N, knomial(N, 2), n, a)) + inside(N, L, down(L, knomial(L, 2), n, i))


@define("reduce", "hier-leader", grouped=True, parts=2)
def _(N, L, n, root, **parts):
    a, i = divmod(root, L)
    leaders = [c * L + i for c in range(N)]
    return (inside(N, L, backwards(down(L, knomial(L, 2), n, i)))
            + among(leaders, backwards(down(N, knomial(N, 2), n, a))))


@define("allreduce", "ahc", grouped=True, parts=3)
def _(N, L, n, **parts):
    return inside(N, L, nb_rs(L, n // L)) + across(N, L, 2 * ring(N, n // L // N)) + inside(N, L, nb_ag(L, n // L))


@define("allreduce", "ahc-broke", grouped=True, parts=3)
def _(N, L, n, **parts):
    return inside(N, L, ring(L, n // L)) + across(N, L, 2 * ring(N, n // L // N)) + inside(N, L, ring(L, n // L))


@define("allgather", "ahc", grouped=True, parts=2)
def _(N, L, n, **parts):
    return across(N, L, ring(N, n)) + inside(N, L, nb_ag(L, N * n))


@define("reduce_scatter", "ahc", grouped=True, parts=2)
def _(N, L, n, **parts):
    return inside(N, L, nb_rs(L, N * n)) + across(N, L, ring(N, n))


def pipeline_rs(N, L, n):
    hop = [[]] + [shift(N * L, -L, n) for _ in range(N - 1)]
    return beside(hop, [messages for _ in range(N) for messages in inside(N, L, mesh(L, n))])


def pipeline_ag(N, L, n):
    hop = [shift(N * L, L, n) for _ in range(N - 1)]
    return beside(hop, [messages for _ in range(N) for messages in inside(N, L, mesh(L, n))])


@define("allreduce", "pipeline", grouped=True)
def _(N, L, n, **parts):
    return pipeline_rs(N, L, n // (N * L)) + pipeline_ag(N, L, n // (N * L))


define("reduce_scatter", "pipeline", grouped=True)(lambda N, L, n, **parts: pipeline_rs(N, L, n))
define("allgather", "pipeline", grouped=True)(lambda N, L, n, **parts: pipeline_ag(N, L, n))


@define("broadcast", "hier", grouped=True)
def _(N, L, n, root, **parts):
    a, i = divmod(root, L)
    here = [a * L + j for j in range(L)]
    return (among(here, rotated(L, i, ring_scatter(L, n // L))) + across(N, L, down(N, knomial(N, 2), n // L, a))
            + inside(N, L, ring(L, n // L)))


@define("reduce", "hier", grouped=True)
def _(N, L, n, root, **parts):
    a, i = divmod(root, L)
    here = [a * L + j for j in range(L)]
    return (inside(N, L, ring(L, n // L)) + across(N, L, backwards(down(N, knomial(N, 2), n // L, a)))
            + among(here, backwards(rotated(L, i, ring_scatter(L, n // L)))))


def scatter(N, L, n, root):
    """The blocks of a group to its rank of the root's index, and from there to each."""
    a, i = divmod(root, L)
    rail = [c * L + i for c in range(N)]
    return among(rail, blocks_down(N, knomial(N, 2), L * n, a)) + inside(N, L, down(L, star(L), n, i))


define("scatter", "hier", grouped=True)(lambda N, L, n, root, **parts: scatter(N, L, n, root))
define("gather", "hier", grouped=True)(lambda N, L, n, root, **parts: backwards(scatter(N, L, n, root)))


@define("alltoall", "staged", grouped=True, fences=1)
def _(N, L, n, **parts):
    return (inside(N, L, [shift(L, k, N * n) for k in range(1, L)])
            + across(N, L, [shift(N, k, L * n) for k in range(1, N)]))


@define("alltoall", "pipeline", grouped=True)
def _(N, L, n, **parts):
    hop = [shift(N * L, (1 + k) * L, L * n) for k in range(N - 1)]
    return beside(hop, [messages for _ in range(N) for messages in inside(N, L, mesh(L, n))])


@define("alltoall", "hier-relay", grouped=True)
def _(N, L, n, **parts):
    """The blocks for another group go over one rank of each."""
    def relay(a, c):
        return a * L + (c if a > c else c - 1) % L
    near, far, last = [], [], []
    for a in range(N):
        members = range(a * L, a * L + L)
        others = [c for c in range(N) if c != a]
        near += [(r, a * L + (r + k) % L, n) for k in range(1, L) for r in members]
        near += [(r, relay(a, c), L * n) for c in others for r in members if r != relay(a, c)]
        far += [(relay(a, c), relay(c, a), L * L * n) for c in others]
        last += [(relay(a, c), a * L + (relay(a, c) + k) % L, L * n) for c in others for k in range(1, L)]
    return [near, far, last]


@define("alltoall", "nccl-p2p", grouped=True, fences="concurrency")
def _(N, L, n, concurrency, **parts):
    """Groups of at most 8, at distances that grow by 1, 2, 3, ..."""
    each = math.gcd(8, L)
    count = N * L // each
    power, d, distances = 1 << log2_up(count), 0, []
    for k in range(1, power + 1):
        distances += [d] if d < count else []
        d = (d + k) % power

    def ahead(r, d, e):
        return (r // each + d) % count * each + (r % each + e) % each
    return [[(r, ahead(r, d, e), n) for r in range(N * L)] for d in distances for e in range(each) if d or e]
