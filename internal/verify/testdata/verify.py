#!/usr/bin/env python3
"""A second implementation of what proves an exported game: the chain of its
events, the commitment to its seed, the deal, the root, each turned piece's salt
and proof, and the commitments to placements. It shares no code with the referee and needs only the standard
library. It does not know the rules: whether a move was legal, what a clock did
and who pays what `referee verify` tells.

    python3 verify.py FILE...
"""
import base64
import hashlib
import hmac
import json
import re
import sys

CREATED, STARTED, GAME_ENDED, MATCH_ENDED, PLACED = 1, 2, 17, 18, 22
DARK_CHESS = [c for colour in (0, 8) for kind, count in ((7, 1), (6, 2), (5, 2), (4, 2), (3, 2), (2, 2), (1, 5))
        for c in [colour + kind] * count]
# Army chess that begins face down: two sides, each from the flag down to the three
# engineers, on the stops that are no camps.
ARMY_CHESS = [16 * side + rank for side in (0, 1) for rank, count in
              ((12, 1), (11, 3), (10, 2), (9, 1), (8, 1), (7, 2), (6, 2), (5, 2), (4, 2), (3, 3), (2, 3), (1, 3))
              for _ in range(count)]
CAMPS = {11, 13, 17, 21, 23, 36, 38, 42, 46, 48}
STOPS = [stop for stop in range(60) if stop not in CAMPS]
NONE = bytes(32)


def sha256(*parts):
    return hashlib.sha256(b"".join(parts)).digest()


def tag(text):
    return bytes([len(text)]) + text.encode()


class Reader:
    """Reads a detail: varints, and byte strings after their length."""

    def __init__(self, data):
        self.data = data

    def take(self, n):
        part, self.data = self.data[:n], self.data[n:]
        assert len(part) == n, "a detail is cut off"
        return part

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def bytes(self):
        return self.take(self.varint())

    def list(self, read):
        return [read() for _ in range(self.varint())]


def event(raw):
    """Returns the parts of an event's canonical bytes that are needed here."""
    def number(start, size):
        return int.from_bytes(raw[start:start + size], "big")
    parts, rest = [], raw[61:]
    while rest:
        size = int.from_bytes(rest[:4], "big")
        parts.append(rest[4:4 + size])
        rest = rest[4 + size:]
    assert len(parts) == 3, "an event has not three parts at its end"
    return {"match": raw[:16], "game": number(16, 2), "seq": number(18, 4), "kind": raw[27],
            "seat": raw[26], "square": raw[29] if raw[28] == 1 else raw[30], "turned": raw[31], "time": number(33, 8),
            "detail": Reader(parts[2])}


def ending(detail):
    """Returns the seed that an ending reveals, the next commitment and the placements."""
    detail.take(3)  # reason, winners, void
    detail.varint(), detail.varint()  # first and last ply
    detail.list(detail.varint)  # captures
    detail.take(1)  # disconnected
    seed, following = detail.take(32), detail.take(32)
    placements = detail.list(lambda: (detail.varint(), detail.take(32), detail.bytes())) if detail.data else []
    return seed, following, placements


def family(ruleset):
    """Returns what the ruleset's games deal, and the stop of each place in the deal."""
    army = json.loads(ruleset).get("army_chess")
    if army is None:
        return DARK_CHESS, list(range(32))
    return (ARMY_CHESS, STOPS) if army["form"] == "flip" else ([], [])


class Deal:
    def __init__(self, context, seed, players):
        self.seed = seed
        self.context = context
        self.message = tag("referee.deal.v1.stream") + context + len(players).to_bytes(4, "big")
        self.message += b"".join(len(p).to_bytes(4, "big") + p for p in players)

    def stream(self, label):
        message = self.message + len(label).to_bytes(4, "big") + label.encode()
        key = hmac.new(self.seed, message, hashlib.sha256).digest()
        counter = 0
        while True:
            yield from hmac.new(key, counter.to_bytes(8, "big"), hashlib.sha256).digest()
            counter += 1

    def commitment(self, seat, attempt, salt, placement):
        return sha256(tag("referee.placement.v1.commit"), self.context, bytes([seat]), attempt.to_bytes(4, "big"),
                      salt, len(placement).to_bytes(4, "big"), placement)

    def placement_salt(self, seat, attempt):
        stream = self.stream(f"placement:{seat}:{attempt}")
        return bytes(next(stream) for _ in range(32))

    def arrangement(self, deck):
        dealt, stream = list(deck), self.stream("deal")
        for i in range(len(dealt) - 1, 0, -1):
            word = 2**64
            while word >= 2**64 - 2**64 % (i + 1):
                word = int.from_bytes(bytes(next(stream) for _ in range(8)), "big")
            j = word % (i + 1)
            dealt[i], dealt[j] = dealt[j], dealt[i]
        return dealt

    def root(self, dealt):
        stream = self.stream("salt")
        level = [leaf(square, piece, bytes(next(stream) for _ in range(16))) for square, piece in enumerate(dealt)]
        level += [sha256(tag("referee.deal.v1.pad"))] * ((1 << depth(len(dealt))) - len(dealt))
        while len(level) > 1:
            level = [node(a, b) for a, b in zip(level[::2], level[1::2])]
        return rooted(len(dealt), level[0])


def depth(leaves):
    return (leaves - 1).bit_length()


def leaf(square, piece, salt):
    return sha256(tag("referee.deal.v1.leaf"), bytes([square, piece]), salt)


def node(left, right):
    return sha256(tag("referee.deal.v1.node"), left, right)


def rooted(leaves, top):
    return sha256(tag("referee.deal.v1.root"), bytes([leaves]), top)


def verify(line, committed, wrong):
    """Verifies one exported game; returns what it commits the next one to."""
    match, game, head = bytes.fromhex(line["match_id"].replace("-", "")), line["game"], NONE
    root, players, seed, following, turned, last = None, [], NONE, None, {}, 0
    placed, placements, (deck, stops) = {}, [], family(line["ruleset"])
    for seq, (raw, stored) in enumerate(zip(line["events"], line["hashes"]), 1):
        raw, stored = base64.b64decode(raw), base64.b64decode(stored)
        if sha256(b"referee.v1 event\0", head, raw) != stored:
            wrong(seq, "hash")
        head, e = stored, event(raw)
        if (e["match"], e["game"], e["seq"]) != (match, game, seq) or e["time"] < last:
            wrong(seq, "match, game, seq or time")
        last, detail = e["time"], e["detail"]
        if e["kind"] == CREATED:
            committed, ruleset = detail.data[-32:], sha256(line["ruleset"].encode())
            if ruleset not in detail.data:
                wrong(seq, "ruleset_hash")
        elif e["kind"] == STARTED:
            detail.list(detail.varint)  # balances
            detail.list(detail.bytes)  # holds
            players, root = detail.list(detail.bytes), detail.take(32)
        elif e["kind"] == GAME_ENDED:
            seed, following, placements = ending(detail)
        elif e["kind"] == MATCH_ENDED and detail.data[-32:] != NONE:
            seed = detail.data[-32:]
        elif e["kind"] == PLACED:
            attempt = detail.varint()
            placed[e["seat"], attempt] = (seq, detail.take(32))
        elif e["turned"]:
            turned[seq] = (stops.index(e["square"]) if e["square"] in stops else -1, e["turned"])
    if game == 0:
        return committed
    context = match + game.to_bytes(2, "big")
    if committed and sha256(tag("referee.deal.v1.commit"), context, seed) != committed:
        wrong(seq, "server_seed")
    if root:
        deal = Deal(context, seed, players)
        dealt = deal.arrangement(deck)
        if (deal.root(dealt) if deck else NONE) != root:
            wrong(seq, "root")
        for at, (square, piece) in turned.items():
            if not 0 <= square < len(dealt) or dealt[square] != piece:
                wrong(at, "turned")
        for seat, (attempt, salt, placement) in enumerate(placements):
            if attempt == 0 and not any(by == seat for by, _ in placed):
                continue
            at, commitment = placed.get((seat, attempt), (seq, NONE))
            if attempt != max((n for by, n in placed if by == seat), default=0) or salt != deal.placement_salt(seat, attempt):
                wrong(seq, "placements")
            elif deal.commitment(seat, attempt, salt, placement) != commitment:
                wrong(at, "commitment")
    openings = {o["seq"]: o for o in line.get("openings", [])}
    for at in sorted(set(turned) | set(openings)):
        o = openings.get(at)
        if not o or turned.get(at) != (o["square"], o["piece"]) or not opens(o, root, len(deck)):
            wrong(at, "opening")
    return following


def opens(o, root, leaves):
    path = leaf(o["square"], o["piece"], base64.b64decode(o["salt"]))
    for level, beside in enumerate(o["proof"]):
        beside = base64.b64decode(beside)
        path = node(beside, path) if o["square"] >> level & 1 else node(path, beside)
    return leaves > 0 and len(o["proof"]) == depth(leaves) and rooted(leaves, path) == root


def once(pairs):
    """Refuses an object with a key that comes twice."""
    assert len(dict(pairs)) == len(pairs), "a key comes twice"
    return dict(pairs)


def main(paths):
    faults, games, committed = 0, 0, {}
    for path in paths:
        for text in open(path, encoding="utf-8"):
            line, games = json.loads(text, object_pairs_hook=once), games + 1
            match, game = line["match_id"], line["game"]
            assert type(game) is int and re.fullmatch("[0-9a-f-]{36}", match), "no game of a match"

            def wrong(seq, what):
                nonlocal faults
                faults += 1
                print(f"match {match}, game {game}, event {seq}: {what}")
            committed[match, game + 1] = verify(line, committed.get((match, game)), wrong)
    print(f"{games} games, {faults} faults")
    return faults > 0 or games == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
