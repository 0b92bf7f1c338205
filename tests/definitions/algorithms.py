"""algorithms.py - what the algorithms of allreduce, reduce_scatter, allgather, and of a root are."""
import math

from rounds import *  # all of it

@define("allreduce", "linear")
def _(p, n):
    return backwards(down(p, star(p), n)) + down(p, star(p), n)


@define("allreduce", "mesh")
def _(p, n):
    return 2 * mesh(p, n // p)


@define("allreduce", "oneshot")
def _(p, n):
    return mesh(p, n)


@define("allreduce", "ring")
def _(p, n):
    return 2 * ring(p, n // p)


@define("allreduce", "ring-bidir", lanes=2)
def _(p, n):
    return 2 * beside(ring(p, n // p // 2), ring(p, n // p // 2, -1))


@define("allreduce", "ring-multi", lanes="channels")
def _(p, n, channels):
    strides = [s for s in range(1, p) if math.gcd(s, p) == 1][:channels]
    return 2 * beside(*(ring(p, n // p // channels, s) for s in strides))


@define("allreduce", "torus2d")
def _(p, n, columns, channels):
    X = columns or next(x for x in range(math.isqrt(p - 1) + 1 if p > 1 else 1, p + 1) if p % x == 0)
    Y = p // X
    rows = [[y * X + x for x in range(X)] for y in range(Y)]
    cols = [list(c) for c in zip(*rows)]
    along = beside(*(among(row, ring(X, n // X)) for row in rows))
    return along + beside(*(among(col, 2 * ring(Y, n // p)) for col in cols)) + along


@define("allreduce", "nhr-v1")
def _(p, n):
    """Rings along rows of about sqrt(p) ranks, and along their columns. The last rank of a longer row owns nothing."""
    wide = [(p // a, a) for a in range(1, math.isqrt(p) + 1) if p % a == 0 and p // a - a < 5]
    s = math.isqrt(p)
    columns, height = wide[-1] if wide else (s, s + (p - s * s >= s))
    rows, at = [], 0
    for y in range(height):
        length = columns + (y < p - columns * height)
        rows.append(range(at, at + length))
        at += length

    def along(first):
        """Ring rounds in which position i begins with chunk i + first."""
        return beside(*([[(row[i], row[(i + 1) % len(row)], n // columns if (i + first - k) % len(row) < columns else 0)
                          for i in range(len(row))] for k in range(len(row) - 1)] for row in rows))
    in_columns = 2 * ring(height, n // columns // height)
    return along(-1) + beside(*(among([row[x] for row in rows], in_columns) for x in range(columns))) + along(0)


for _name, _tree in {"binomial": lambda p: knomial(p, 2), "knomial": lambda p, radix: knomial(p, radix),
                     "tree": nccl_tree, "binary-tree": binary}.items():
    define("allreduce", _name, large=True)(
        lambda p, n, tree=_tree, **o: backwards(down(p, tree(p, **o), n)) + down(p, tree(p, **o), n))


@define("allreduce", "dbt", large=True, lanes=2)
def _(p, n):
    _, second = second_tree(p)
    return beside(*(backwards(down(p, tree, n // 2)) + down(p, tree, n // 2) for tree in (nccl_tree(p), second)))


@define("allreduce", "recursive-doubling", large=True)
def _(p, n):
    return doubling(p, n) + Fold(p).unfold(n)


for _name, _far in {"rabenseifner": False, "rhd-far": True}.items():
    define("allreduce", _name, large=True)(lambda p, n, far=_far: Fold(p).fold(n) + halving(p, n, far)
                                           + backwards(halving(p, n, far)) + Fold(p).unfold(n))


@define("allreduce", "recexch", large=True)
def _(p, n, radix):
    f = FoldK(p, radix)
    return f.fold(n) + [f.level(w, lambda v, o: n) for w in f.weights()] + backwards(f.fold(n))


@define("allreduce", "sra-knomial", large=True)
def _(p, n, radix):
    f = FoldK(p, radix)
    levels = f.parts(n, f.weights())
    return f.fold(n) + levels + levels[::-1] + backwards(f.fold(n))


KERNELS = {"ring": (ring, ring), "nb": (nb_rs, nb_ag), "nhr": (nhr_rs, nhr_ag), "pat": (nb_rs, pat_ag),
           "circulant": (circulant_rs, circulant_ag), "swing": (swing_rs, swing_ag)}
for _name, (_rs, _ag) in KERNELS.items():
    _large = _name not in ("ring", "swing")
    if _name != "ring":
        define("allreduce", _name, large=_large)(lambda p, n, rs=_rs, ag=_ag, **o: rs(p, n // p) + ag(p, n // p))
    define("reduce_scatter", _name, large=_large)(lambda p, n, rs=_rs, **o: rs(p, n))
    define("allgather", _name, large=_large)(lambda p, n, ag=_ag, **o: ag(p, n))


@define("allreduce", "swing-lat")
def _(p, n):
    return [pairs(range(p), lambda r: swing_peer(p, r, s), n) for s in range(log2_up(p))]


@define("allgather", "mesh")
def _(p, n, concurrency):
    return mesh(p, n)


@define("allgather", "ring-bidir", lanes=2)
def _(p, n):
    return beside([shift(p, 1, n)] * (p // 2), [shift(p, -1, n)] * ((p - 1) // 2))


@define("allgather", "neighbor")
def _(p, n):
    return neighbor(p, n)


@define("allgather", "bruck", large=True)
def _(p, n, radix):
    return bruck_ag(p, n, radix)


@define("allgather", "recursive-doubling", large=True)
def _(p, n):
    return doubling_ag(p, n)


@define("allgather", "gather-bcast", large=True)
def _(p, n):
    return backwards(blocks_down(p, knomial(p, 2), n)) + down(p, knomial(p, 2), p * n)


@define("reduce_scatter", "mesh")
def _(p, n):
    return mesh(p, n)


@define("reduce_scatter", "ring-bidir", lanes=2)
def _(p, n):
    return beside(ring(p, n // 2), ring(p, n // 2, -1))


@define("reduce_scatter", "pairwise", fences=1)
def _(p, n):
    return [shift(p, k, n) for k in range(1, p)]


@define("reduce_scatter", "linear")
def _(p, n):
    return backwards(down(p, star(p), p * n)) + down(p, star(p), n)


@define("reduce_scatter", "rec-doubling", large=True)
def _(p, n):
    return doubling(p, p * n) + Fold(p).unfold(n)


@define("reduce_scatter", "rec-halving", large=True)
def _(p, n):
    return rec_halving(p, n)


@define("reduce_scatter", "butterfly", large=True)
def _(p, n):
    f = Fold(p)
    q, rounds = log2_up(f.P), []
    turned = lambda v: int(format(v, f"0{q}b")[::-1], 2) if q else 0
    for k in range(q):  # a window of blocks, halved by the lowest bits first
        def given(v):
            low, size = 0, f.P
            for i in range(k + 1):
                size //= 2
                low += size * (v >> i & 1)
            return n * f.within(low ^ size, size)
        rounds.append(f.meet(1 << k, given))
    final = []
    for v in range(f.P):
        block = turned(v)
        if f.blocks[block] == 2:
            final.append((f.ranks[v], f.ranks[block] - 1, n))
        if block != v:
            final.append((f.ranks[v], f.ranks[block], n))
    return f.fold(p * n) + rounds + ([final] if final else [])


# ---- broadcast and reduce, scatter and gather, on ranks relative to the root ----

TREES = {"linear": star, "chain": lambda p: chains(p, 1), "chain-k": lambda p, fanout: chains(p, fanout),
         "binomial": lambda p: knomial(p, 2), "knomial": lambda p, radix: knomial(p, radix),
         "binomial-near": near_first,
         "binary": binary}


for _name, _tree in TREES.items():
    _large = _name not in ("linear", "chain")
    if _name != "linear":
        define("broadcast", _name, large=_large)(lambda p, n, root, tree=_tree, **o: down(p, tree(p, **o), n, root))
    if _name not in ("chain-k", "binomial-near"):
        define("reduce", _name, large=_large)(
            lambda p, n, root, tree=_tree, **o: backwards(down(p, tree(p, **o), n, root)))
    if _name in ("linear", "binomial", "knomial"):
        define("scatter", _name)(lambda p, n, root, tree=_tree, **o: blocks_down(p, tree(p, **o), n, root))
        define("gather", _name)(lambda p, n, root, tree=_tree, **o: backwards(blocks_down(p, tree(p, **o), n, root)))


@define("broadcast", "linear")
def _(p, n, root, concurrency):
    return [[(root, (root + v) % p, n) for v in range(1, p)]]


@define("broadcast", "mesh")
def _(p, n, root):
    b = n // p
    return [[(root, r, b) for r in range(p) if r != root],
            [(r, (r + k) % p, b) for k in range(1, p) for r in range(p) if (r + k) % p != root]]


def near_scatter(p, n, way):
    """Every holder of the first 2^k sends the blocks of the other half of what it has."""
    return [[(way * o % p, way * (o + (1 << k)) % p, n * len(range(o + (1 << k), p, 2 << k)))
             for o in range(1 << k) if o + (1 << k) < p] for k in range(log2_up(p))]


# The allgather is one of ranks, not of relative ranks.
for _name, _ag in {"scatter-ring": ring, "scatter-rd": doubling_ag}.items():
    define("broadcast", _name)(lambda p, n, root, ag=_ag: blocks_down(p, knomial(p, 2), n // p, root) + ag(p, n // p))


@define("broadcast", "scatter-circulant")
def _(p, n, root):
    return rotated(p, root, circulant_scatter(p, n // p)) + circulant_ag(p, n // p)


for _name, _way in {"nb": 1, "nhr": -1}.items():
    _rs, _ag = KERNELS[_name]

    @define("broadcast", _name)
    def _(p, n, root, way=_way, ag=_ag):
        return rotated(p, root, near_scatter(p, n // p, way) + ag(p, n // p))

    @define("reduce", _name)
    def _(p, n, root, way=_way, rs=_rs):
        return rotated(p, root, rs(p, n // p) + backwards(near_scatter(p, n // p, way)))
    define("scatter", _name)(lambda p, n, root, way=_way: rotated(p, root, near_scatter(p, n, way)))
    define("gather", _name)(lambda p, n, root, way=_way: rotated(p, root, backwards(near_scatter(p, n, way))))


def ring_scatter(p, n):
    """The farthest block first, so that all arrive in the last round."""
    return [[(v, v + 1, n) for v in range(p - 1) if t >= v and v + 1 <= p - 1 - t + v <= p - 1] for t in range(p - 1)]


define("scatter", "ring")(lambda p, n, root: rotated(p, root, ring_scatter(p, n)))
define("gather", "ring")(lambda p, n, root: rotated(p, root, backwards(ring_scatter(p, n))))


@define("broadcast", "dbt", lanes=2, large=True)
def _(p, n, root):
    return beside(*(down(p, tree, n // 2, root) for tree in (nccl_tree(p), second_below(p))))


@define("reduce", "dbt", lanes=2, large=True)
def _(p, n, root):
    return beside(*(backwards(down(p, tree, n // 2, root)) for tree in (nccl_tree(p), second_below(p))))


@define("broadcast", "swing")
def _(p, n, root):
    have, rounds = {0}, []
    for s in range(log2_up(p)):
        rounds.append([(r, swing_peer(p, r, s), n) for r in sorted(have)])
        have |= {d for _, d, _ in rounds[-1]}
    return rotated(p, root, rounds)


@define("reduce", "mesh")
def _(p, n, root):
    return mesh(p, n // p) + [[(r, root, n // p) for r in range(p) if r != root]]


@define("reduce", "ring-gather")
def _(p, n, root):
    return ring(p, n // p) + backwards(blocks_down(p, knomial(p, 2), n // p, root))


@define("reduce", "circulant-rsg")
def _(p, n, root):
    return circulant_rs(p, n // p) + rotated(p, root, backwards(circulant_scatter(p, n // p)))


@define("broadcast", "split-binary")
def _(p, n, root):
    """Odd ranks carry one half, even ones the other. Then each swaps with its neighbour."""
    swap = [(v, v + d, n // 2) for v, d in [m for v in range(1, p - 1, 2) for m in ((v, 1), (v + 1, -1))]]
    last = [(0, p - 1, n // 2)] if p % 2 == 0 else []
    return down(p, level(p), n // 2, root) + rotated(p, root, [swap + last])


@define("broadcast", "rhd", large=True)
def _(p, n, root):
    f = Fold(p, root)
    have, rounds = {f.ranks.index(root)}, []
    for mask in masks(f.P, True):
        rounds.append([(f.ranks[v], f.ranks[v ^ mask], n) for v in sorted(have)])
        have |= {v ^ mask for v in have}
    return rounds + f.unfold(n)


for _name, _far in {"rabenseifner": False, "rhd": True}.items():
    @define("reduce", _name, large=True)
    def _(p, n, root, far=_far):
        """Halving, then a gather on the way back."""
        f = Fold(p, root)
        at, order, back = f.ranks.index(root), masks(f.P, far), []
        for i, mask in reversed(list(enumerate(order))):
            senders = [v for v in range(f.P) if (v ^ at) & mask and not (v ^ at) & sum(order[i + 1:])]
            back.append([(f.ranks[v], f.ranks[v ^ mask], (n // f.P) << len(back)) for v in senders])
        return f.fold(n) + halving(p, n, far, root) + back


@define("broadcast", "sag-knomial", large=True)
def _(p, n, root, radix):
    f = FoldK(p, radix, root)
    far_first = f.weights()[::-1]
    return f.spreading(f.ranks.index(root), n, far_first) + f.parts(n, far_first)[::-1] + backwards(f.fold(n))


@define("reduce", "srg-knomial", large=True)
def _(p, n, root, radix):
    f = FoldK(p, radix, root)
    return f.fold(n) + f.parts(n, f.weights()) + backwards(f.spreading(f.ranks.index(root), n, f.weights()))


def in_segments(p, n, segments):
    return [[(s, d, n // segments) for s, d, _ in messages] for messages in circulant_segments(p, segments)]


define("broadcast", "circulant", large=True)(lambda p, n, root, segments: rotated(p, root, in_segments(p, n, segments)))
define("reduce", "circulant", large=True)(
    lambda p, n, root, segments: rotated(p, root, backwards(in_segments(p, n, segments))))


@define("allgather", "circulant-pipe")
def _(p, n, segments):
    """A broadcast of every rank at once: the segments of a round are one message."""
    return [shift(p, (messages[0][1] - messages[0][0]) % p, len(messages) * n // segments)
            for messages in circulant_segments(p, segments)]


@define("reduce", "in-order-binary")
def _(p, n, root):
    """The tree is one of ranks: its root p-1 sends the result to the collective's."""
    return backwards(down(p, in_order(p), n)) + ([[(p - 1, root, n)]] if root != p - 1 else [])


@define("reduce_scatter", "knomial", large=True)
def _(p, n, radix):
    f = FoldK(p, radix)
    return f.fold(p * n) + f.scattering(n) + backwards(f.fold(n))


@define("allgather", "knomial", large=True)
def _(p, n, radix):
    f = FoldK(p, radix)
    return f.fold(n) + f.gathering(n) + backwards(f.fold((p - 1) * n))
