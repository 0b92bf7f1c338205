"""rounds.py - schedules as rounds of messages, and the parts that algorithms are made of.

A schedule is a list of rounds. A round is a list of messages (from, to, elements), those of one rank in the order in
which it sends them. The definitions are written from the sources that algorithms/*.c name, and not from cctest's code.
A definition takes the number of ranks, the elements (of a block; of the vector, where there are no blocks), the root if
the collective has one, and the algorithm's options.
"""
import collections
import itertools

DEFINITIONS = {}  # by collective, name, and whether ranks are in groups: the function, and what else is true


def define(collective, name, grouped=False, **more):
    """fences: after how many rounds each rank has a fence, or the option or the function of the rank that says so;
    lanes, or the option that says so: of a rank's messages; parts, that have epochs of their own: as many as lanes, if
    not given; large: it is quick for many ranks.
    """
    def note(function):
        DEFINITIONS[collective, name, grouped] = function, more
        return function
    return note


def log2_up(x):
    return (x - 1).bit_length()


def log_up(x, k):
    return next(i for i in itertools.count() if k ** i >= x)


def power_down(x, k):
    return k ** next(i for i in itertools.count() if k ** (i + 1) > x)


# ---- combinations of schedules ----

def beside(*parts):
    """Parts that run side by side."""
    return [sum(rounds, []) for rounds in itertools.zip_longest(*parts, fillvalue=[])]


def among(ranks, part):
    """A schedule of some ranks, by their index."""
    return [[(ranks[s], ranks[d], n) for s, d, n in messages] for messages in part]


def backwards(part):
    """The same reversed in time."""
    return [[(d, s, n) for s, d, n in messages] for messages in reversed(part)]


def rotated(p, root, part):
    """Ranks become relative to the root."""
    return among([(root + v) % p for v in range(p)], part)


def shift(p, d, n):
    return [(r, (r + d) % p, n) for r in range(p) if n > 0]


def shifts(p, n, distances):
    """One round, in which each rank sends to several."""
    return [(r, (r + d) % p, n) for d in distances for r in range(p)]


def pairs(ranks, meet, n):
    """Both of each pair send."""
    return [(r, meet(r), n) for r in ranks if meet(r) != r]


# ---- trees: parent(v) and the round of the message down ----

def chains(p, k):
    each, longer = divmod(p - 1, k)
    runs, at = [], 1
    for i in range(k):
        runs.append(range(at, at + each + (i < longer)))
        at = runs[-1].stop
    return {v: (0 if v == run.start else v - 1, v - run.start) for run in runs for v in run}


def knomial(p, k):
    tree, top = {}, log_up(p, k)
    for v in range(1, p):
        w = next(i for i in itertools.count() if v // k ** i % k)
        tree[v] = v - v % k ** (w + 1), top - 1 - w
    return tree


def star(p):
    return {v: (0, 0) for v in range(1, p)}


def near_first(p):
    return {v: (v - (1 << v.bit_length() - 1), v.bit_length() - 1) for v in range(1, p)}


def by_depth(p, parent, root=0):
    depth = {root: 0}
    for v in range(p):
        way = []
        while v not in depth:
            way.append(v)
            v = parent(v)
        for below, u in enumerate(reversed(way), depth[v] + 1):
            depth[u] = below
    return {v: (parent(v), depth[v] - 1) for v in range(p) if v != root}


def level(p):
    tree = {}
    for v in range(p):
        step = 1 << (v + 1).bit_length() - 1
        tree.update({c: v for c in (v + step, v + 2 * step) if c < p})
    return by_depth(p, tree.get)


def binary(p, layout):
    return level(p) if layout == "level" else by_depth(p, lambda v: (v - 1) // 2)


def in_order(p):
    def parents(low, high, above):
        if low == high:
            return {}
        half = low + (high - low) // 2
        return {high - 1: above, **parents(low, half, high - 1), **parents(half, high - 1, high - 1)}
    tree = parents(0, p, None)
    return by_depth(p, tree.get, p - 1)


def nccl_parent(p):
    def parent(v):
        bit = v & -v
        up = (v ^ bit) | 2 * bit
        return up if up < p else v ^ bit
    return parent


def nccl_tree(p):
    return by_depth(p, nccl_parent(p))


def second_tree(p):
    """Mirrored, or shifted for odd p. Returns its root, too."""
    def to(v):
        return p - 1 - v if p % 2 == 0 else (v - 1) % p

    def back(v):
        return p - 1 - v if p % 2 == 0 else (v + 1) % p
    first = nccl_tree(p)
    return back(0), {v: (back(first[to(v)][0]), first[to(v)][1]) for v in range(p) if to(v)}


def second_below(p):
    """Rank 0 is its root: it sends to the second tree's, whose own place in that tree stays empty."""
    top, tree = second_tree(p)
    below = {v: (up, step + 1) for v, (up, step) in tree.items() if v}
    return {**below, top: (0, 0)} if top else below


def down(p, tree, n, root=0):
    """`n`: of each rank, or the same for all. A rank sends to the farthest of a round first."""
    rounds = [[] for _ in range(1 + max((step for _, step in tree.values()), default=-1))]
    real = lambda v: (root + v) % p
    for v in sorted(tree, key=lambda v: (abs(real(v) - real(tree[v][0])), real(v) < real(tree[v][0])), reverse=True):
        up, step = tree[v]
        rounds[step].append((real(up), real(v), n(v) if callable(n) else n))
    for messages in rounds:
        far = lambda m: (-abs(m[1] - m[0]), m[1] < m[0])
        messages.sort(key=far)
    return rounds


def blocks_down(p, tree, n, root=0):
    """Each rank gets the blocks of its subtree."""
    count = collections.Counter()
    for v in tree:
        while v:
            count[v] += 1
            v = tree[v][0]
    return down(p, tree, lambda v: n * count[v], root)


# ---- powers of two and of k, and the ranks beyond them ----

class Fold:
    """The first ranks pair up, and the odd one of each pair stays; with a root, that of its parity."""

    def __init__(self, p, root=None):
        self.P = power_down(p, 2)
        self.rem = p - self.P
        self.stays = 1 if root is None else root % 2 if root < 2 * self.rem else 0
        self.ranks = [2 * v + self.stays if v < self.rem else v + self.rem for v in range(self.P)]
        self.blocks = [2 if v < self.rem else 1 for v in range(self.P)]

    def fold(self, n):
        return [[(2 * j + 1 - self.stays, 2 * j + self.stays, n) for j in range(self.rem)]] if self.rem else []

    def unfold(self, n):
        return backwards(self.fold(n))

    def meet(self, mask, n):
        """`n`: of a rank v of the power of two."""
        return [(self.ranks[v], self.ranks[v ^ mask], n(v)) for v in range(self.P)]

    def within(self, first, size):
        return sum(self.blocks[first:first + size])


def masks(P, far):
    near = [1 << k for k in range(log2_up(P))]
    return near[::-1] if far else near


class FoldK:
    """A power of k of groups, in each of which the last of at most k ranks stays; with a root, that of its place."""

    def __init__(self, p, k, root=None):
        self.P, self.k = power_down(p, k), k
        rest, r, self.groups = p - self.P, 0, []
        for _ in range(self.P):
            extra = min(k - 1, rest)
            self.groups.append(list(range(r, r + extra + 1)))
            rest, r = rest - extra, r + extra + 1
        place = next((g.index(root) for g in self.groups if root in g), k)
        self.ranks = [g[min(place, len(g) - 1)] for g in self.groups]

    def fold(self, n):
        messages = [(x, r, n) for g, r in zip(self.groups, self.ranks) for x in g if x != r]
        return [messages] if messages else []

    def level(self, w, n):
        """The ranks that differ in one digit only, from its own on; n(v, other)."""
        messages = []
        for v in range(self.P):
            digit = v // w % self.k
            others = [v + ((digit + j) % self.k - digit) * w for j in range(1, self.k)]
            messages += [(self.ranks[v], self.ranks[o], n(v, o)) for o in others]
        return messages

    def gathering(self, n):
        """Each rank has the blocks of its group, then of all that differ in the digits so far."""
        return [self.level(w, lambda v, o, w=w: n * self.blocks(v, w)) for w in self.weights()]

    def scattering(self, n):
        """Of its window, each rank keeps the part of its digit, the highest digit first."""
        return [self.level(w, lambda v, o, w=w: n * self.blocks(o, w)) for w in self.weights()[::-1]]

    def blocks(self, v, w):
        return sum(len(g) for g in self.groups[v - v % w:v - v % w + w])

    def spreading(self, at, n, weights):
        """From one: the holders of parts are those that differ from it in the digits so far."""
        def digits(v, rest):
            return [v // w % self.k for w in rest]
        levels = []
        for i in range(len(weights)):
            have = {self.ranks[v] for v in range(self.P) if digits(v, weights[i:]) == digits(at, weights[i:])}
            levels.append(sorted(m for m in self.parts(n, weights)[i] if m[0] in have))
        return levels

    def parts(self, n, weights):
        """Exchanges of the parts of a window, which has a k-th of the elements each time."""
        return [self.level(w, lambda v, o, i=i: n // self.k ** (i + 1)) for i, w in enumerate(weights)]

    def weights(self):
        return [self.k ** i for i in range(log_up(self.P, self.k))]


# ---- reduce_scatter and allgather ----

def ring(p, n, d=1):
    return [shift(p, d, n) for _ in range(p - 1)]


def mesh(p, n):
    return [shifts(p, n, range(1, p))] if p > 1 else []


def of_bit(p, k):
    """How many of 1 .. p-1 have bit k as their lowest."""
    return (p - 1 + (1 << k)) >> (k + 1)


def nb_rs(p, n, way=1):
    return [shift(p, way << k, of_bit(p, k) * n) for k in range(log2_up(p))]


def nb_ag(p, n):
    return [shift(p, 1 << k, min(1 << k, p - (1 << k)) * n) for k in range(log2_up(p))]


def nhr_rs(p, n):
    return nb_rs(p, n, -1)


def nhr_ag(p, n):
    return backwards(nhr_rs(p, n))


def pat_ag(p, n):
    return backwards(nb_rs(p, n))


def circulant_rs(p, n):
    skips = [p]
    while skips[-1] > 1:
        skips.append((skips[-1] + 1) // 2)
    return [shift(p, low, (high - low) * n) for high, low in zip(skips, skips[1:])]


def circulant_scatter(p, n):
    """A rank keeps the blocks below each skip, and sends the others that far ahead."""
    rounds, have = [], {0: p}
    for messages in circulant_rs(p, 1):
        skip = messages[0][1] if messages else 0
        rounds.append([(v, v + skip, (count - skip) * n) for v, count in sorted(have.items()) if count > skip])
        have.update({d: count // n for _, d, count in rounds[-1]})
        have.update({s: skip for s, _, _ in rounds[-1]})
    return rounds


def circulant_ag(p, n):
    return backwards(circulant_rs(p, n))


def swing_peer(p, r, s):
    rho = sum((-2) ** i for i in range(s + 1))
    return (r + (rho if r % 2 == 0 else -rho)) % p


def swing_rs(p, n):
    even, q = p - p % 2, log2_up(p - p % 2)
    count = collections.Counter()
    for c in range(even):
        sends = {}
        for s in reversed(range(q)):
            for r in range(even):
                w = swing_peer(even, r, s)
                if r != c and r not in sends and (w == c or sends.get(w, -1) > s):
                    sends[r] = s
        count.update((s, r) for r, s in sends.items())
    rounds = [[(r, swing_peer(even, r, s), count[s, r] * n) for r in range(even)] for s in range(q)]
    last = p - 1
    return rounds + ([[(last, r, n) for r in range(last)] + [(r, last, n) for r in range(last)]] if p % 2 else [])


def swing_ag(p, n):
    """The direct exchange of an odd rank is the last round here, too."""
    rounds = swing_rs(p, n)
    return backwards(rounds[:-1]) + rounds[-1:] if p % 2 else backwards(rounds)


def halving(p, n, far=True, root=None):
    """Recursive halving of a vector of P parts."""
    f = Fold(p, root)
    size = {mask: n * mask // f.P if far else n // (2 * mask) for mask in masks(f.P, far)}
    return [f.meet(mask, lambda v, mask=mask: size[mask]) for mask in masks(f.P, far)]


def rec_halving(p, n):
    f, rounds = Fold(p), []
    for mask in masks(f.P, True):
        given = lambda v, mask=mask: n * f.within((v ^ mask) & -mask, mask)
        rounds.append(f.meet(mask, given))
    return f.fold(p * n) + rounds + f.unfold(n)


def doubling_ag(p, n):
    f = Fold(p)
    rounds = [f.meet(mask, lambda v, mask=mask: n * f.within(v & -mask, mask)) for mask in masks(f.P, False)]
    return f.fold(n) + rounds + f.unfold((p - 1) * n)


def doubling(p, n):
    f = Fold(p)
    return f.fold(n) + [f.meet(mask, lambda v: n) for mask in masks(f.P, False)]


def bruck_ag(p, n, k):
    return [[(r, (r - j * w) % p, min(w, p - j * w) * n) for j in range(1, k) if j * w < p for r in range(p)]
            for w in (k ** i for i in range(log_up(p, k)))]


def neighbor(p, n):
    rounds = []
    for i in range(p // 2):
        rounds.append(pairs(range(p), lambda r: (r + (1 if (r + i) % 2 == 0 else -1)) % p, n * (2 if i else 1)))
    return rounds


# ---- the circulant graph, in segments (Traff 2024) ----

class Circulant:
    """In round k each rank sends a segment skip[k mod q] ahead: rec[v] are those that v receives in q rounds."""

    def __init__(self, p):
        self.q = log2_up(p)
        self.skip = [p]
        while len(self.skip) <= self.q:
            self.skip.insert(0, (self.skip[0] + 1) // 2)
        self.rec = [self.received(v, p) for v in range(p)]

    def base(self, v):
        k = self.q
        while v:
            k -= 1
            v -= self.skip[k] if self.skip[k] <= v else 0
        return k

    def received(self, v, p):
        own, used, segments = self.base(v), {self.base(v)}, []
        for k in range(self.q):
            low, high = v + p - self.skip[k + 1], v + p - self.skip[k]
            free = [e for e in (self.base(x % p) for x in range(low + 1, high + 1)) if e not in used]
            e = max(free, default=self.base(low % p))
            used.add(e)
            segments.append(own if e == self.q else e - self.q)
        return segments


def circulant_segments(p, m):
    """From rank 0: rounds of (from, to, segment)."""
    if p == 1:
        return []
    graph, rounds = Circulant(p), []
    q = graph.q
    first = -(m - 1) % q
    for i in range(first, m - 1 + q + first):
        k, ahead = i % q, i // q * q - first
        messages = [((v - graph.skip[k]) % p, v, min(graph.rec[v][k] + ahead, m - 1)) for v in range(1, p)]
        rounds.append([message for message in messages if message[2] >= 0])
    return rounds
