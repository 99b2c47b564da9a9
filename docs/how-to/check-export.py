#!/usr/bin/env python3
"""Checks an export of events that was made with its proof, without any code of this project: Python's standard library,
and openssl for the signature. The format is in docs/reference/export-format.md.

    python3 check-export.py FILE TRUST

FILE is the JSON artifact of `gov export run --resource audit_events --proof`, TRUST the trust file of its log. One line
for each thing that was checked; exit status 1 at the first that does not hold. The last line says whether rows are missing:
`none missing`, or `not shown` for a file that has no answer of the log's index.
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


class Lists:
    """The lists of the log's index that have all rows: of the run, of the type, of all types, or of all days."""

    def __init__(self, filters):
        self.filters, self.items = filters, {}  # items: name of a list -> [(place, hash of the item)]
        single = next((kind for kind in ("runId", "eventType") if kind in filters), None)
        timed = "startTime" in filters or "endTime" in filters
        self.kind = {"runId": "run", "eventType": "type"}.get(single, "days" if timed else "types")
        bounds = [filters.get(name) for name in ("startTime", "endTime")]
        self.start, self.end = [None if bound is None else milliseconds(bound) for bound in bounds]

    def add(self, index, record):
        clear = parsed(record)
        server, client = milliseconds(clear["serverTimestamp"]), milliseconds(clear["timestamp"])
        name = {"types": clear["eventType"], "days": day_of(client)}.get(self.kind, "")
        item = (index, leaf_hash(f"{index} {server} {client}"))
        if self.kind == "run":
            item = (int(clear["runSeq"]), leaf_hash(record))
        self.items.setdefault(name, []).append(item)

    def key(self, name):
        if self.kind in ("run", "type"):
            return [self.kind, self.filters["runId" if self.kind == "run" else "eventType"]]
        return ["type" if self.kind == "types" else "day", name]

    def has_day(self, day):
        after = self.start is None or day >= day_of(self.start)
        return after and (self.end is None or day <= day_of(self.end))

    def others(self, answer, size):
        """Items that no row has: of later events, or of events that the filters exclude."""
        found = []
        for record in answer.get("records", []):
            clear = parsed(record)
            own = self.kind == "run" and clear["type"] == "gov.event/1" and clear["runId"] == self.filters["runId"]
            expect(own and not is_asked(clear, self.filters), "a record that the filters do not exclude")
            found.append((int(clear["runSeq"]), leaf_hash(record)))
        for text in answer.get("others", []):
            index, _server, client = map(int, re.fullmatch("(0|[1-9][0-9]*) ([0-9]+) (0|[1-9][0-9]*)", text).groups())
            early = self.start is not None and client < self.start
            excluded = index >= size or early or (self.end is not None and client > self.end)
            expect(self.kind != "run" and excluded, f"item {text}: an event that the filters do not exclude")
            found.append((index, leaf_hash(text)))
        places = [place for place, _ in found]
        expect(places == sorted(set(places)), "items out of order")
        return found


def day_of(ms):
    return (datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=ms // 1000)).isoformat()[:10]


def from_hex(text):
    return bytes.fromhex(re.fullmatch("sha256:([0-9a-f]{64})", text).group(1))


def list_root(items):
    tree = Root()
    for item in items:
        tree.add(1, item)
    return tree.root() if items else None


def open_entry(entry, key, map_root):
    """What the map of the index says of a key: the value of its list, or None where it has none."""
    expect(entry["key"] == key and set(entry) <= {"end", "growth", "key", "siblings"}, f"no entry of {key}")
    own, end, value = sha256(b"gov.index.key/1\n" + written(key).encode()), entry["end"], None
    path, node = entry["siblings"], bytes(32)
    if end is not None and "value" in end:
        value = has(end["value"], "first firstMs last lastMs n root", "a value")
        node = sha256(b"\2" + own + sha256(b"gov.index.value/1\n" + written(value, sorted).encode()))
    elif end is not None:
        other = from_hex(has(end, "keyHash valueHash", "another key")["keyHash"])
        same = all((own[at // 8] ^ other[at // 8]) >> (7 - at % 8) & 1 == 0 for at in range(len(path)))
        expect(other != own and same, "another key that is elsewhere in the map")
        node = sha256(b"\2" + other + from_hex(end["valueHash"]))
    for at in reversed(range(len(path))):
        sibling = bytes(32) if path[at] is None else from_hex(path[at])
        node = sha256(b"\3" + (sibling + node if own[at // 8] >> (7 - at % 8) & 1 else node + sibling))
    expect(node == map_root, f"the entry of {key} is not of the index")
    return value


def goes_on(growth, items, value, size, tree):
    """Whether a list extends these items, and its next one is in the log at `size` or after it."""
    n, of, whole = len(items), int(value["n"]), from_hex(value["root"])
    after = growth["next"]
    index, leaf = int(after["index"]), from_hex(after["leaf"])
    listed = inclusion_root(n, of, leaf, [from_hex(each) for each in after["listInclusion"]]) == whole
    logged = inclusion_root(index, tree[0], leaf, [from_hex(each) for each in after["inclusion"]]) == tree[1]
    path = [from_hex(each) for each in growth.get("consistency", [])]
    extends = not path if n == 0 else is_extended(n, of, list_root(items), whole, path)
    return index >= size and listed and logged and extends


def check_list(answer, key, items, size, index):
    expect(set(answer) <= {"entry", "others", "records"}, "an answer that says more")
    value, growth = open_entry(answer["entry"], key, index["root"]), answer["entry"].get("growth")
    of = 0 if value is None else int(value["n"])
    what = f"events of {' '.join(key)}"
    if growth is not None:
        expect(key[0] == "run" and len(items) < of, "a list that does not go on")
        expect(goes_on(growth, items, value, size, index["tree"]), f"{what} are missing")
    else:
        expect(len(items) >= of, f"{of - len(items)} of {of} {what} are missing")
        same = len(items) == of and (of == 0 or list_root(items) == from_hex(value["root"]))
        expect(same, f"the {what} are not those of the index")


def check_completeness(answer, lists, size, tree, rows):
    """No row is missing: the lists that the rows make are those of the index, whose leaf is in the signed tree."""
    if answer is None:
        print("not shown: whether rows are missing")
        return
    expect(set(answer) <= {"index", "lists", "names"}, "an answer that says more")
    shown = has(answer["index"], "inclusion index record", "an index leaf")
    at, leaf = int(shown["index"]), parsed(shown["record"])
    path = [from_hex(each) for each in shown["inclusion"]]
    expect(inclusion_root(at, tree[0], leaf_hash(shown["record"]), path) == tree[1], "an index leaf outside of the tree")
    functions = ["gov.mapfn/2"] if lists.kind != "run" else ["gov.mapfn/1", "gov.mapfn/2"]
    expect(leaf["type"] == "gov.index/1" and leaf["fn"] in functions, "not an index leaf that serves")
    expect(size <= int(leaf["size"]) <= at, "an index leaf that does not cover the rows")
    index, names = {"root": from_hex(leaf["root"]), "tree": tree}, [""]
    if lists.kind in ("types", "days"):
        names = has(answer["names"], "entry items", "names")["items"]
        check_list({"entry": answer["names"]["entry"]}, [lists.kind], [leaf_hash(name) for name in names], size, index)
        names = [name for name in names if lists.kind == "types" or lists.has_day(name)]
    else:
        expect("names" not in answer, "names for a single list")
    expect(len(answer["lists"]) == len(names) and set(lists.items) <= set(names), "rows of a list that is not shown")
    for name, shown in zip(names, answer["lists"]):
        items = sorted(lists.items.get(name, []) + lists.others(shown, size))
        check_list(shown, lists.key(name), [item for _, item in items], size, index)
    print(f"none missing: {rows} of {rows} rows below leaf {size}, by the index of leaf {at}, the operator's own")


def check_row(line, filters, root, erased, lists):
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
    lists.add(index, record)
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


def check_rows(file, filters, root, erased, lists):
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
        last = check_row(line[:-1] if comma else line, filters, root, erased, lists)
        first = last if rows == 0 else first
        rows += 1
    raise Refused("cut off")


def check(path, trust_path):
    root, erased = Root(), {}
    with open(path, encoding="utf-8", newline="\n") as file:
        head = exactly(file.readline()[:-1] + "]}", "a beginning")
        has(head, "schemaVersion resource generatedAt filters data", "a file")
        expect(head["schemaVersion"] == "1.0" and head["resource"] == "audit_events", "not an export of events")
        lists = Lists(head["filters"])
        rows, first, last, tail = check_rows(file, head["filters"], root, erased, lists)
    has(tail, "manifest proof", "an end")
    pruned = " prunedBelow" if "prunedBelow" in tail["manifest"] else ""
    manifest = has(tail["manifest"], f"treeSize rootHash firstSequence lastSequence rowCount{pruned}", "a manifest")
    answer = " completeness" if "completeness" in tail["proof"] else ""
    proof = has(tail["proof"], f"checkpoint consistency created erasures gap{answer}", "a proof")
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
    check_completeness(proof.get("completeness"), lists, size, (signed_size, signed_root), rows)


if __name__ == "__main__":
    try:
        check(*sys.argv[1:3])
    except (Refused, KeyError, ValueError, IndexError, TypeError, AttributeError) as fault:
        print(f"NOT VERIFIED: {fault}", file=sys.stderr)
        sys.exit(1)
