#!/usr/bin/env python3
"""A second implementation of what proves an exported game: the chain of its
events, the commitment to its seed, the deal, the root, each turned piece's salt
and proof, and the commitments to placements. It shares no code with the referee
and needs only the standard library. It does not know the rules: whether a move
was legal, what a clock did and who pays what `referee verify` tells.

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
# The flip form of army chess: side by side, from the flag down to the engineers.
ARMY_FLIP = [16 * side + rank for side in (0, 1)
             for rank, count in ((12, 1), (11, 3), (10, 2), (9, 1), (8, 1), (7, 2), (6, 2), (5, 2), (4, 2), (3, 3), (2, 3), (1, 3))
             for _ in range(count)]
# Its stops A0 to L4 that are no camps, to which it is dealt.
DEALT_STOPS = [stop for stop in range(60) if stop not in (11, 13, 17, 21, 23, 36, 38, 42, 46, 48)]
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
    return {"match": raw[:16], "game": number(16, 2), "seq": number(18, 4), "kind": raw[27], "seat": raw[26],
            "square": raw[29] if raw[28] == 1 else raw[30], "turned": raw[31], "time": number(33, 8),
            "detail": Reader(parts[2])}


def deck(ruleset):
    """Returns what a ruleset deals, and the squares that it is dealt to; nothing where seats place."""
    army = json.loads(ruleset).get("army_chess")
    if army is None:
        return DARK_CHESS, list(range(32))
    return (ARMY_FLIP, DEALT_STOPS) if army["form"] == "flip" else ([], [])


class Deal:
    def __init__(self, context, seed, players, pieces):
        self.seed, self.context, self.pieces = seed, context, pieces
        self.message = tag("referee.deal.v1.stream") + context + len(players).to_bytes(4, "big")
        self.message += b"".join(len(p).to_bytes(4, "big") + p for p in players)

    def stream(self, label):
        message = self.message + len(label).to_bytes(4, "big") + label.encode()
        key = hmac.new(self.seed, message, hashlib.sha256).digest()
        counter = 0
        while True:
            yield from hmac.new(key, counter.to_bytes(8, "big"), hashlib.sha256).digest()
            counter += 1

    def arrangement(self):
        dealt, stream = list(self.pieces), self.stream("deal")
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
        while len(level) & len(level) - 1:
            level.append(sha256(tag("referee.deal.v1.pad")))
        while len(level) > 1:
            level = [node(a, b) for a, b in zip(level[::2], level[1::2])]
        return rooted(level[0], len(dealt))

    def placement_salt(self, seat, attempt):
        stream = self.stream(f"placement:{seat}:{attempt}")
        return bytes(next(stream) for _ in range(32))

    def placement_commitment(self, seat, attempt, salt, text):
        return sha256(tag("referee.placement.v1.commit"), self.context, bytes([seat]), attempt.to_bytes(4, "big"), salt,
                      len(text).to_bytes(4, "big"), text)


def leaf(square, piece, salt):
    return sha256(tag("referee.deal.v1.leaf"), bytes([square, piece]), salt)


def node(left, right):
    return sha256(tag("referee.deal.v1.node"), left, right)


def rooted(top, squares):
    return sha256(tag("referee.deal.v1.root"), bytes([squares]), top)


def verify(line, committed, wrong):
    """Verifies one exported game; returns what it commits the next one to."""
    match, game, head = bytes.fromhex(line["match_id"].replace("-", "")), line["game"], NONE
    root, players, seed, following, turned, last = None, [], NONE, None, {}, 0
    placed, revealed = {}, []  # commitments by seat and attempt with their events; what the ending opens
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
        elif e["kind"] == PLACED:
            attempt = detail.varint()
            placed[e["seat"], attempt] = seq, detail.take(32)
        elif e["kind"] == GAME_ENDED:
            seed, following, revealed = ended(detail)
        elif e["kind"] == MATCH_ENDED and detail.data[-32:] != NONE:
            seed = detail.data[-32:]
        elif e["turned"]:
            turned[seq] = (e["square"], e["turned"])
    if game == 0:
        return committed
    context = match + game.to_bytes(2, "big")
    if committed and sha256(tag("referee.deal.v1.commit"), context, seed) != committed:
        wrong(seq, "server_seed")
    pieces, squares = deck(line["ruleset"])
    deal = Deal(context, seed, players, pieces)
    if root and pieces:
        dealt = deal.arrangement()
        if deal.root(dealt) != root:
            wrong(seq, "root")
        turned = {at: (squares.index(square), piece) for at, (square, piece) in turned.items()}
        for at, (place, piece) in turned.items():
            if dealt[place] != piece:
                wrong(at, "turned")
    elif root and root != NONE:
        wrong(seq, "root")
    placements(deal, placed, revealed, seq, wrong)
    openings = {o["seq"]: o for o in line.get("openings", [])}
    for at in sorted(set(turned) | set(openings)):
        o = openings.get(at)
        if not o or turned.get(at) != (o["square"], o["piece"]) or not opens(o, root, len(pieces)):
            wrong(at, "opening")
    return following


def ended(detail):
    """Returns what an ending reveals: the seed, what commits to the next game, and the placements."""
    detail.take(1)  # reason
    detail.take(1)  # winners
    detail.take(1)  # void
    detail.varint(), detail.varint()  # plies that prove it
    detail.list(detail.varint)  # captures
    detail.take(1)  # who was reported as gone
    seed, following = detail.take(32), detail.take(32)
    revealed = []
    if detail.data:  # only games that began with placing have more
        revealed = detail.list(lambda: (detail.varint(), detail.take(32), detail.bytes()))
    return seed, following, revealed


def placements(deal, placed, revealed, end, wrong):
    """Opens the commitment to each placement that stood, and finds its salt in the seed."""
    last = {}
    for seat, attempt in placed:
        last[seat] = max(last.get(seat, 0), attempt)
    for seat, (attempt, salt, text) in enumerate(revealed):
        if attempt != last.get(seat, 0):
            wrong(end, "placements")
        elif attempt and deal.placement_commitment(seat, attempt, salt, text) != placed[seat, attempt][1]:
            wrong(placed[seat, attempt][0], "placement")
        elif attempt and deal.placement_salt(seat, attempt) != salt:
            wrong(end, "placement salt")
    if len(revealed) < len(last):
        wrong(end, "placements")


def opens(o, root, squares):
    path = leaf(o["square"], o["piece"], base64.b64decode(o["salt"]))
    for level, beside in enumerate(o["proof"]):
        beside = base64.b64decode(beside)
        path = node(beside, path) if o["square"] >> level & 1 else node(path, beside)
    return len(o["proof"]) == (squares - 1).bit_length() and rooted(path, squares) == root


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
