#!/usr/bin/env python3
"""Checks an export of events that was made with its proof, without any code of this project: Python's standard library,
and openssl for the signature. The format is in docs/reference/export-format.md.

    python3 check-export.py FILE TRUST

FILE is the JSON artifact of `gov export run --resource audit_events --proof`, TRUST the trust file of its log. One line
for each thing that was checked; exit status 1 at the first that does not hold.
"""
import base64
import hashlib
import datetime
import json
import re
import subprocess
import sys
import tempfile


class Refused(Exception):
    pass


def expect(holds, what):
    if not holds:
        raise Refused(what)


def sha256(data):
    return hashlib.sha256(data).digest()


def leaf_hash(record):
    return sha256(b"\0" + record.encode())


def node_hash(left, right):
    return sha256(b"\1" + left + right)


def hashes(texts):
    return [base64.b64decode(text, validate=True) for text in texts]


def b64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Root:
    """The root of a tree of which some leaves are given, the others by the hashes of the subtrees between them."""

    def __init__(self):
        self.at, self.peaks = 0, []  # peaks: (leaves, hash), the largest first

    def add(self, width, value):
        expect(self.at % width == 0, "a subtree that is out of place")
        self.at += width
        while self.peaks and self.peaks[-1][0] == width:
            value, width = node_hash(self.peaks.pop()[1], value), 2 * width
        self.peaks.append((width, value))

    def fill(self, to, gap):
        gap = list(gap)
        while self.at < to:
            width = 1
            while self.at % (2 * width) == 0 and self.at + 2 * width <= to:
                width *= 2
            expect(gap, "too few hashes between rows")
            self.add(width, gap.pop(0))
        expect(self.at == to and not gap, "rows out of order, or too many hashes between them")

    def root(self):
        (_, value), *rest = reversed(self.peaks)
        for _, left in rest:
            value = node_hash(left, value)
        return value


def inclusion_root(index, size, leaf, path):
    """RFC 9162, section 2.1.3.2."""
    expect(0 <= index < size, "index outside of the tree")
    fn, sn, root = index, size - 1, leaf
    for sibling in path:
        expect(sn > 0, "path too long")
        if fn % 2 == 1 or fn == sn:
            root = node_hash(sibling, root)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            root = node_hash(root, sibling)
        fn, sn = fn >> 1, sn >> 1
    expect(sn == 0, "path too short")
    return root


def is_extended(first, second, first_root, second_root, path):
    """RFC 9162, section 2.1.4.2."""
    if first == second:
        return not path and first_root == second_root
    if first == 0 or not path:
        return False
    path = list(path) if first & (first - 1) else [first_root, *path]
    fn, sn = first - 1, second - 1
    while fn % 2 == 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for sibling in path[1:]:
        if sn == 0:
            return False
        if fn % 2 == 1 or fn == sn:
            fr, sr = node_hash(sibling, fr), node_hash(sibling, sr)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node_hash(sr, sibling)
        fn, sn = fn >> 1, sn >> 1
    return sn == 0 and fr == first_root and sr == second_root


class Number(str):
    """A number as it is spelled, so that 1, 1.0 and true are three things."""


def members_of(pairs):
    names = [name for name, _ in pairs]
    expect(len(set(names)) == len(names), "a member that stands twice")
    return dict(pairs)


def refused(word):
    raise Refused(f"no JSON value: {word}")


reading = {"object_pairs_hook": members_of, "parse_int": Number, "parse_float": Number, "parse_constant": refused}


def parsed(text):
    """A JSON value of which nothing is lost."""
    return json.loads(text, **reading)


def written(value, order=list):
    """The value as JSON without white space; `order=sorted`: whatever the order of members."""
    if isinstance(value, dict):
        items = (json.dumps(name, ensure_ascii=False) + ":" + written(value[name], order) for name in order(value))
        return "{" + ",".join(items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, order) for item in value) + "]"
    return str(value) if isinstance(value, Number) else json.dumps(value, ensure_ascii=False)


def exactly(text, what):
    """What a line says, where it is the only way to write that."""
    value = parsed(text)
    expect(written(value) == text, f"{what} that is not as it is written")
    return value


def raw_items(text):
    """The items of a JSON list, each as it is spelled."""
    items, at, decoder = [], 1, json.JSONDecoder()
    while text[at] != "]":
        _, end = decoder.raw_decode(text, at)
        items.append(text[at:end])
        at = end + 1 if text[end] == "," else end
    expect(at == len(text) - 1, "a list that goes on")
    return items


def opened(record, disclosures):
    """The disclosed values, each of which stands in the record."""
    digests = parsed(record)["_sd"]
    for item in raw_items(disclosures):
        digest = b64url(sha256(b64url(item.encode()))).decode()
        expect(digest in digests, "a disclosed value is not of its leaf")
        digests.remove(digest)
    members = {}
    for _salt, pointer, value in parsed(disclosures):
        name, *rest = pointer[1:].split("/", 1)
        if rest:
            members.setdefault(name, {})[rest[0].replace("~1", "/").replace("~0", "~")] = value
        else:
            members[name] = value
    return members, digests


def event_of(index, record, members):
    clear = parsed(record)
    return {
        "eventId": clear["eventId"],
        "runId": clear["runId"],
        "eventType": clear["eventType"],
        "actor": members.get("actor", {}),
        "resource": members.get("resource"),
        "action": members.get("action", ""),
        "timestamp": clear["timestamp"],
        "serverTimestamp": clear["serverTimestamp"],
        "metadata": members.get("metadata", {}),
        "causedBy": clear.get("causedBy"),
        "aiSystemId": clear.get("aiSystemId"),
        "clientEventId": members.get("clientEventId"),
        "sequence": Number(index),
        "leafHash": "sha256:" + leaf_hash(record).hex(),
    }


def milliseconds(text):
    """A timestamp (RFC 3339), in Unix milliseconds."""
    day, hour, fraction, zone = re.fullmatch(r"(\S{10})T(\S{8})(\.[0-9]+)?(Z|[+-][0-9:]{5})", text).groups()
    zone = zone.replace("Z", "+0000").replace(":", "")
    at = datetime.datetime.strptime(f"{day} {hour} {zone}", "%Y-%m-%d %H:%M:%S %z")
    return int(at.timestamp()) * 1000 + int(((fraction or ".0")[1:] + "00")[:3])


def is_asked(row, filters):
    """Whether the filters let a row pass."""
    at, ends = milliseconds(row["timestamp"]), (filters.get("startTime"), filters.get("endTime"))
    expect(set(filters) <= {"runId", "eventType", "startTime", "endTime"}, "a filter that is not known")
    return (
        filters.get("runId", row["runId"]) == row["runId"]
        and filters.get("eventType", row["eventType"]) == row["eventType"]
        and (ends[0] is None or milliseconds(ends[0]) <= at)
        and (ends[1] is None or at <= milliseconds(ends[1]))
    )


def check_row(line, filters, root, erased):
    row = exactly(line, "a row")
    expect("evidence" in row, "a row without evidence: the export was made without --proof")
    evidence = row.pop("evidence")
    known = [name for name in ("index", "gap", "record", "disclosures", "erased") if name in evidence]
    expect(list(evidence) == known, "evidence that says more")
    index, record = int(evidence["index"]), evidence["record"]
    before = line.index('","disclosures":') + len('","disclosures":')
    spelled = line[before : json.JSONDecoder().raw_decode(line, before)[1]]
    members, missing = opened(record, spelled)
    gone = {digest: int(leaf) for leaf, digest in evidence.get("erased", [])}
    expect(sorted(gone) == sorted(missing), "a value is neither disclosed nor said to be erased")
    for digest, leaf in gone.items():
        erased.setdefault(leaf, []).append((index, digest))
    event = event_of(index, record, members)
    if missing:
        event["erased"] = [{"digest": digest, "sequence": Number(gone[digest])} for digest in missing]
    expect(list(event) == list(row), f"the row of leaf {index} has other members")
    expect(written(event, sorted) == written(row, sorted), f"the row of leaf {index} says something else")
    expect(is_asked(row, filters), f"the row of leaf {index} was not asked for")
    root.fill(index, hashes(evidence.get("gap", [])))
    root.add(1, leaf_hash(record))
    return index


def check_signature(note, trust):
    """An Ed25519 signature of the log's key over the note; its size and root."""
    text, signatures = note.split("\n\n", 1)
    text += "\n"
    origin, size, root = text.split("\n")[:3]
    for line in trust.splitlines():
        words = line.split()
        if words[:1] != ["log"] or not words[1].startswith(origin + "+"):
            continue
        key = base64.b64decode(words[1].split("+", 2)[2])
        if key[0] != 1:
            continue  # of another algorithm
        key_id = sha256(f"{origin}\n".encode() + key)[:4]
        for signature in signatures.splitlines():
            mark, name, signed = signature.split(" ")
            expect(mark == "\u2014", "a line that is no signature")
            signed = base64.b64decode(signed, validate=True)
            if name == origin and signed[:4] == key_id and is_signed(text.encode(), key[1:], signed[4:]):
                return int(size), base64.b64decode(root)
    raise Refused("no trusted key signed the checkpoint")


def is_signed(data, key, signature):
    with tempfile.TemporaryDirectory() as folder:
        files = {"key": bytes.fromhex("302a300506032b6570032100") + key, "data": data, "sig": signature}
        for name, content in files.items():
            with open(f"{folder}/{name}", "wb") as file:
                file.write(content)
        command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-keyform", "DER"]
        command += ["-inkey", f"{folder}/key", "-in", f"{folder}/data", "-sigfile", f"{folder}/sig"]
        return subprocess.run(command, capture_output=True, check=False).returncode == 0


def check_request(created, head, size):
    members, missing = opened(created["record"], created["disclosures"])
    clear = parsed(created["record"])
    expect(not missing, "the request is not whole")
    expect(clear["runId"] == "gov.system" and clear["eventType"] == "export.created", "another event")
    asked = dict(members["metadata"])
    export_id = asked.pop("exportId")
    expect(clear["timestamp"] == head["generatedAt"], "asked for at another time")
    expected = {"resource": "audit_events", "format": "json", "includeProof": True, "treeSize": Number(size)}
    expected["filters"] = head["filters"]
    expect(written(asked, sorted) == written(expected, sorted), "the log has another request")
    return export_id


def has(value, names, what):
    expect(list(value) == names.split(), f"{what} with other members")
    return value


def check_rows(file, filters, root, erased):
    """The rows, of which each but the last has a comma behind it; their number, the first, the last, and the end."""
    rows, first, last, comma = 0, None, None, True
    for line in file:
        expect(line.endswith("\n"), "a line without an end")
        line = line[:-1]
        if line.startswith("]"):
            expect(rows == 0 or not comma, "a comma behind the last row")
            expect(file.read() == "", "more behind the end")
            return rows, first, last, exactly("{" + line[2:], "an end")
        expect(comma, "two rows without a comma between them")
        comma = line.endswith(",")
        last = check_row(line[:-1] if comma else line, filters, root, erased)
        first = last if rows == 0 else first
        rows += 1
    raise Refused("cut off")


def check(path, trust_path):
    root, erased = Root(), {}
    with open(path, encoding="utf-8", newline="\n") as file:
        head = exactly(file.readline()[:-1] + "]}", "a beginning")
        has(head, "schemaVersion resource generatedAt filters data", "a file")
        expect(head["schemaVersion"] == "1.0" and head["resource"] == "audit_events", "not an export of events")
        rows, first, last, tail = check_rows(file, head["filters"], root, erased)
    has(tail, "manifest proof", "an end")
    pruned = " prunedBelow" if "prunedBelow" in tail["manifest"] else ""
    manifest = has(tail["manifest"], f"treeSize rootHash firstSequence lastSequence rowCount{pruned}", "a manifest")
    proof = has(tail["proof"], "checkpoint consistency created erasures gap", "a proof")
    size, root_hash = int(manifest["treeSize"]), base64.b64decode(manifest["rootHash"], validate=True)
    counted = [manifest["rowCount"], manifest["firstSequence"], manifest["lastSequence"]]
    shown = [Number(rows), *(None if at is None else Number(at) for at in (first, last))]
    expect(written(counted) == written(shown), "the manifest counts other rows")
    root.fill(size, hashes(proof["gap"]))
    expect(root.root() == root_hash, "the rows are not in the tree")
    print(f"{rows} rows, each what its leaf says, in the tree of {size} leaves")
    with open(trust_path, encoding="utf-8") as file:
        signed_size, signed_root = check_signature(proof["checkpoint"], file.read())
    extended = is_extended(size, signed_size, root_hash, signed_root, hashes(proof["consistency"]))
    expect(extended, "the signed tree does not extend that of the rows")
    print(f"the checkpoint of {signed_size} leaves is signed, and extends that tree")
    expect(int(proof["created"]["index"]) >= size, "asked for before it")
    has(proof["created"], "index record disclosures inclusion", "a request")
    for leaf in [proof["created"], *proof["erasures"]]:
        index = int(leaf["index"])
        path_root = inclusion_root(index, signed_size, leaf_hash(leaf["record"]), hashes(leaf["inclusion"]))
        expect(path_root == signed_root, f"leaf {index} is not in the signed tree")
    print(f"asked for as {check_request(proof['created'], head, size)}")
    for leaf in proof["erasures"]:
        record = parsed(has(leaf, "index record inclusion", "an erasure")["record"])
        expect(record["type"] == "gov.erasure/1", "an erasure that is none")
        named = {(int(target["index"]), digest) for target in record["targets"] for digest in target["digests"]}
        taken = erased.pop(int(leaf["index"]), None)
        expect(taken is not None and set(taken) <= named, "an erasure of something else")
    expect(not erased, "a value that no leaf erased")


if __name__ == "__main__":
    try:
        check(*sys.argv[1:3])
    except (Refused, KeyError, ValueError, IndexError, TypeError, AttributeError) as fault:
        print(f"NOT VERIFIED: {fault}", file=sys.stderr)
        sys.exit(1)
