"""exchanges.py - what the algorithms of alltoall, sendrecv and barrier are."""
from rounds import *  # all of it


@define("alltoall", "linear")
def _(p, n):
    return mesh(p, n)


@define("alltoall", "pairwise", fences=1)
def _(p, n):
    return [shift(p, k, n) for k in range(1, p)]


@define("alltoall", "pairwise-xor", fences=1)
def _(p, n):
    return [pairs(range(p), lambda r: r ^ k, n) for k in range(1, p)]


@define("alltoall", "pairwise-factor", fences=1)
def _(p, n):
    M = p - 1 + p % 2

    def meet(r, k):
        if r == M:
            return k * (p // 2) % M
        w = (k - r) % M
        return M if w == r and p % 2 == 0 else w
    return [pairs(range(p), lambda r: meet(r, k), n) for k in range(M)] if p > 1 else []


@define("alltoall", "fullmesh", fences=1)
def _(p, n, concurrency):
    half = concurrency // 2
    return [[(r, x, n) for g in range(t + 1, min(t + half, p // 2) + 1)
             for r in range(p) for x in dict.fromkeys(((r + g) % p, (r - g) % p))] for t in range(0, p // 2, half)]


@define("alltoall", "scattered", fences=1)
def _(p, n, concurrency):
    return [shifts(p, n, range(-t - 1, -min(t + concurrency, p - 1) - 1, -1)) for t in range(0, p - 1, concurrency)]


@define("alltoall", "nccl-p2p", fences="concurrency")
def _(p, n, concurrency):
    return [shift(p, k, n) for k in range(1, p)]


@define("alltoall", "ring")
def _(p, n):
    return [shift(p, 1, (p - 1 - k) * n) for k in range(p - 1)]


@define("alltoall", "bruck", large=True)
def _(p, n, radix):
    def slots(w, j):
        return sum(s // w % radix == j for s in range(p))
    return [sum((shift(p, j * w, n * slots(w, j)) for j in range(1, radix) if j * w < p), [])
            for w in (radix ** i for i in range(log_up(p, radix)))]


@define("alltoall", "bruck-zero", large=True)
def _(p, n):
    return [shift(p, -1 << k, n * sum(s >> k & 1 for s in range(p))) for k in range(log2_up(p))]


define("alltoallv", "padded-bruck")(lambda p, n, radix: DEFINITIONS["alltoall", "bruck", False][0](p, n, radix))


@define("alltoall", "ring-bidir", lanes=2)
def _(p, n):
    """Each block goes the shorter way round, and forwards if both are as long."""
    far = p // 2, (p - 1) // 2
    return beside(*([shift(p, way, (most - k) * n) for k in range(most)] for way, most in zip((1, -1), far)))


# ---- partners, and barriers ----

@define("sendrecv", "ring-shift")
def _(p, n, stride):
    return [shift(p, stride, n)]


@define("sendrecv", "pingpong", fences=lambda rank: rank == 1)
def _(p, n):
    return [[(0, 1, n)], [(1, 0, n)]]


@define("sendrecv", "uni")
def _(p, n, window):
    return [[(0, 1, n // window)] * window]


@define("sendrecv", "bidir")
def _(p, n, window):
    return [[(0, 1, n // window), (1, 0, n // window)] * window]


@define("sendrecv", "pairs")
def _(p, n, window):
    return [[m for r in range(p // 2) for m in ((r, r + p // 2, n // window), (r + p // 2, r, n // window))] * window]


@define("barrier", "dissemination", large=True)
def _(p, n, radix):
    return [[(r, (r + j * radix ** i) % p, n) for j in range(1, radix) if j * radix ** i < p for r in range(p)]
            for i in range(log_up(p, radix))]


@define("barrier", "central")
def _(p, n):
    return backwards(down(p, star(p), n)) + down(p, star(p), n)


@define("barrier", "tree", large=True)
def _(p, n):
    return backwards(down(p, knomial(p, 2), n)) + down(p, knomial(p, 2), n)


@define("barrier", "recursive-doubling", large=True)
def _(p, n):
    return doubling(p, n) + Fold(p).unfold(n)


@define("barrier", "double-ring")
def _(p, n):
    return [[(k % p, (k + 1) % p, n)] for k in range(2 * p)]
