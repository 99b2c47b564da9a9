#!/usr/bin/env python3
"""Checks what a data plane reported, without any code of this project: Python's standard library, and openssl for
the signatures. What is checked is in check-a-usage-report.md.

    python3 check-telemetry.py TRUST TELEMETRY [SERVICE-KEY]

TRUST is the plane's file of that name. TELEMETRY is what `gov plane telemetry show --all` prints: reports, receipts,
and answers to challenges, a line each. SERVICE-KEY is the verifier key of the service, for its cosignatures.
One line for each thing that was checked; exit status 1 at the first that does not hold.
"""
import base64
import hashlib
import json
import subprocess
import sys
import tempfile

TYPES = ("audit_event", "compliance_proof", "risk_decision", "replay_verification")


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


def check_included(head, index, leaf, path, what):
    expect(inclusion_root(index, head["size"], leaf, hashes(path)) == head["root"], f"{what}: not in the tree")


def check_consistent(first, second, path, what):
    """RFC 9162, section 2.1.4.2."""
    path = hashes(path)
    if first["size"] == 0 or first["size"] == second["size"]:
        same = first["size"] == 0 or first["root"] == second["root"]
        return expect(same and path == [], f"{what}: two trees of one size")
    expect(first["size"] < second["size"], f"{what}: the tree shrank")
    if first["size"] & (first["size"] - 1) == 0:
        path = [first["root"]] + path
    expect(len(path) > 0, f"{what}: path too short")
    fn, sn = first["size"] - 1, second["size"] - 1
    while fn % 2 == 1:
        fn, sn = fn >> 1, sn >> 1
    fr = sr = path[0]
    for sibling in path[1:]:
        expect(sn > 0, f"{what}: path too long")
        if fn % 2 == 1 or fn == sn:
            fr, sr = node_hash(sibling, fr), node_hash(sibling, sr)
            while fn % 2 == 0 and fn != 0:
                fn, sn = fn >> 1, sn >> 1
        else:
            sr = node_hash(sr, sibling)
        fn, sn = fn >> 1, sn >> 1
    holds = sn == 0 and fr == first["root"] and sr == second["root"]
    expect(holds, f"{what}: the later tree does not extend the earlier one")


def ed25519(public, message, signature):
    """Whether openssl verifies it."""
    der = bytes.fromhex("302a300506032b6570032100") + public
    with tempfile.TemporaryDirectory() as folder:
        for name, data in (("key", der), ("message", message), ("signature", signature)):
            with open(f"{folder}/{name}", "wb") as file:
                file.write(data)
        words = "openssl pkeyutl -verify -rawin -pubin -keyform DER -inkey key -in message -sigfile signature"
        return subprocess.run(words.split(), cwd=folder, capture_output=True, check=False).returncode == 0


def key_id(name, algorithm, public):
    return sha256(name.encode() + b"\n" + bytes([algorithm]) + public)[:4]


def signature_of(lines, name, wanted):
    """The signature of a key in the signature lines of a note (C2SP signed-note)."""
    for line in lines:
        words = line.split(" ")
        expect(len(words) == 3 and words[0] == "\u2014", f"{line!r} is no signature")
        raw = base64.b64decode(words[2], validate=True)
        if words[1] == name and raw[:4] == wanted:
            return raw[4:]
    raise Refused(f"no signature of {name}")


def open_note(note, name, public):
    """The text of a note that the Ed25519 key signed under this name; other signatures say nothing."""
    text, _, lines = note.rpartition("\n\n")
    text += "\n"
    signature = signature_of(lines.rstrip("\n").split("\n"), name, key_id(name, 1, public))
    expect(ed25519(public, text.encode(), signature), f"{name}: invalid signature")
    return text


def open_head(note, origin, public):
    text = open_note(note, origin, public)
    lines = text.split("\n")
    expect(len(lines) == 4 and lines[0] == origin, f"{origin}: not its checkpoint")
    return {"text": text, "origin": origin, "size": int(lines[1]), "root": base64.b64decode(lines[2], validate=True)}


def read_trust(path):
    """Origin of the audit log and its Ed25519 key; the same key signs the metering log, under that log's name."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            words = line.split()
            if len(words) < 2 or words[0] != "log":
                continue
            name, _, key = words[1].split("+", 2)
            raw = base64.b64decode(key)
            if raw[0] == 1 and len(raw) == 33:
                return name, raw[1:]
    raise Refused("no Ed25519 key in the trust file")


def zero():
    return dict.fromkeys(TYPES, 0)


def check_report(report, line, before, trust):
    """A report by itself and against the one before; what the next one is held against."""
    audit_origin, public = trust
    log, what = report["log"], f"report {report['sequence']}"
    head = open_head(log["checkpoint"], log["origin"], public)
    audit = open_head(report["auditLog"]["checkpoint"], audit_origin, public)
    expect(head["size"] == log["treeSize"], f"{what}: another treeSize")
    expect(audit["size"] == report["auditLog"]["treeSize"], f"{what}: another size of the audit log")
    totals = zero()
    if report["lastLeaf"] is not None:
        last = report["lastLeaf"]
        expect(last["index"] == head["size"] - 1, f"{what}: not the last leaf")
        check_included(head, last["index"], leaf_hash(last["record"]), last["inclusion"], what)
        totals = json.loads(last["record"])["totals"]
    else:
        expect(head["size"] == 0, f"{what}: no last leaf")
    expect(report["totals"] == totals, f"{what}: other totals than its last leaf")
    if before is None or before["epoch"] != log["epoch"]:
        expect(report["sequence"] == 1 and report["previousReportHash"] is None, f"{what}: reports are missing")
        before = {"totals": zero(), "head": {"size": 0, "root": b""}, "sequence": 0}
    else:
        expect(report["sequence"] == before["sequence"] + 1, f"{what}: reports are missing")
        expect(report["previousReportHash"] == before["hash"], f"{what}: follows another report")
        expect(report["periodStart"] == before["end"], f"{what}: the periods do not meet")
    expect(log["fromSize"] == before["head"]["size"], f"{what}: begins elsewhere")
    check_consistent(before["head"], head, log["consistency"], what)
    for name in TYPES:
        expect(report["operations"][name] == totals[name] - before["totals"][name], f"{what}: other operations")
    counts = " ".join(f"{name}={totals[name]}" for name in TYPES)
    print(f"{what}: ok: leaves {log['fromSize']} to {head['size']}, totals {counts}")
    return {
        "report": report, "head": head, "audit": audit, "totals": totals, "epoch": log["epoch"],
        "sequence": report["sequence"], "end": report["periodEnd"],
        "hash": "sha256:" + hashlib.sha256(line.encode()).hexdigest(),
    }


def draw(label, seed, count, first, end):
    """Numbers in [first, end) that follow from the seed."""
    if end <= first:
        return []
    preimage = label.encode() + bytes.fromhex(seed)
    numbers = (sha256(preimage + at.to_bytes(4, "big"))[:16] for at in range(count))
    return [first + int.from_bytes(number, "big") % (end - first) for number in numbers]


def check_sample(sample, unit, head, what):
    """The leaf whose totals first reach the unit, and what it added to those of the leaf before."""
    expect(sample["unit"] == unit, f"{what}: another unit")
    check_included(head, sample["index"], leaf_hash(sample["record"]), sample["inclusion"], what)
    record, totals = json.loads(sample["record"]), zero()
    if sample["index"] > 0:
        previous = sample["previous"]
        check_included(head, sample["index"] - 1, leaf_hash(previous["record"]), previous["inclusion"], what)
        totals = json.loads(previous["record"])["totals"]
    expect(sum(totals.values()) < unit <= sum(record["totals"].values()), f"{what}: not the leaf of the unit")
    expect(record["op"] in TYPES, f"{what}: no metered type")
    totals[record["op"]] += record["units"]
    expect(totals == record["totals"], f"{what}: the totals do not add up")


def check_cross(cross, index, held, what):
    """An audit leaf is in the audit log, and in the batch that the metering leaf counts."""
    expect(cross["auditIndex"] == index, f"{what}: another leaf of the audit log")
    leaf = base64.b64decode(cross["auditLeafHash"], validate=True)
    check_included(held["audit"], index, leaf, cross["auditInclusion"], what)
    record = cross["meterRecord"]
    check_included(held["head"], cross["meterIndex"], leaf_hash(record), cross["meterInclusion"], what)
    first, count = cross["firstAuditIndex"], cross["count"]
    root = inclusion_root(index - first, count, leaf, hashes(cross["batchInclusion"]))
    nonce = base64.urlsafe_b64decode(cross["refNonce"] + "==")
    ref = sha256(b"gov.meterref/v1\n" + nonce + first.to_bytes(8, "big") + count.to_bytes(4, "big") + root)
    written = base64.urlsafe_b64encode(ref).decode().rstrip("=")
    expect(json.loads(record)["ref"] == written, f"{what}: the metering leaf is of another batch")


def check_attestation(proof, challenge, held, earlier, public):
    """The answer to a challenge about a report that was checked before."""
    what, head = f"attestation of report {held['sequence']}", held["head"]
    expect(proof["challengeId"] == challenge["challengeId"], f"{what}: of another challenge")
    expect(challenge["reportId"] == held["report"]["reportId"], f"{what}: of another report")
    root = base64.b64encode(head["root"]).decode()
    asked = [challenge["origin"], challenge["treeSize"], challenge["rootHash"], challenge["auditTreeSize"]]
    expect(asked == [head["origin"], head["size"], root, held["audit"]["size"]], f"{what}: about another tree")
    answer = {name: proof[name] for name in ("consistency", "cross", "samples")}
    text = json.dumps(answer, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signed = (
        f"gov.attestation/v1\n{challenge['challengeId']}\n{head['origin']} {head['size']} {root}\n"
        f"sha256:{hashlib.sha256(text.encode()).hexdigest()}\n"
    )
    expect(open_note(proof["signature"], head["origin"], public) == signed, f"{what}: signed for another answer")
    first, last = challenge["unitRange"]["from"] + 1, challenge["unitRange"]["to"]
    units = draw("gov.attest/v1\n", challenge["seed"], challenge["sampleSize"], first, last + 1)
    units = sorted({first, *units, last}) if last >= first else []
    indexes = draw("gov.attest.cross/v1\n", challenge["seed"], challenge["crossSampleSize"], 1, held["audit"]["size"])
    indexes = sorted(set(indexes))
    expect(len(proof["samples"]) == len(units) and len(proof["cross"]) == len(indexes), f"{what}: other samples")
    for sample, unit in zip(proof["samples"], units):
        check_sample(sample, unit, head, f"{what}, unit {unit}")
    for cross, index in zip(proof["cross"], indexes):
        check_cross(cross, index, held, f"{what}, audit leaf {index}")
    sizes = [each["fromSize"] for each in proof["consistency"]]
    expect(sizes == challenge["consistencySizes"], f"{what}: other sizes")
    for each in proof["consistency"]:
        heads = [known for known in earlier if known["size"] == each["fromSize"]]
        expect(heads, f"{what}: no report of {each['fromSize']} leaves is here")
        for known in heads:
            check_consistent(known, head, each["path"], what)
    print(f"{what}: ok: {len(units)} units, {len(indexes)} audit leaves, {len(sizes)} earlier trees")


def check_cosignature(line, head, service_key):
    """C2SP tlog-cosignature: the service saw this tree, at that time, and none that contradicts it."""
    name, _, key = service_key.split("+", 2)
    raw = base64.b64decode(key)
    expect(raw[0] == 4, "no cosigner's verifier key")
    signature = signature_of([line.rstrip("\n")], name, key_id(name, 4, raw[1:]))
    time = int.from_bytes(signature[:8], "big")
    message = f"cosignature/v1\ntime {time}\n{head['text']}"
    expect(ed25519(raw[1:], message.encode(), signature[8:]), "invalid cosignature")
    print(f"receipt: ok: cosigned by {name}")


def main(trust_path, telemetry_path, service_key=None):
    trust = read_trust(trust_path)
    held, challenge, reports, attestations, earlier = None, None, 0, 0, []
    with open(telemetry_path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            message = json.loads(line)
            schema = message.get("schemaVersion")
            if schema == "gov.usage/1":
                if held is not None and held["epoch"] == message["log"]["epoch"]:
                    earlier.append(held["head"])
                else:
                    earlier = [{"size": 0, "root": b""}]
                held, challenge = check_report(message, line, held, trust), None
                reports += 1
            elif schema == "gov.attest/1":
                expect(challenge is not None, "an answer without its challenge")
                check_attestation(message, challenge, held, earlier, trust[1])
                attestations += 1
            elif "cosignature" in message and "attestation" in message:
                challenge = message["attestation"].get("challenge")
                if service_key is not None and message["cosignature"] != "":
                    check_cosignature(message["cosignature"], held["head"], service_key)
    expect(reports > 0, "no report")
    print(f"ok: {reports} reports, {attestations} attestations")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    try:
        main(*sys.argv[1:])
    except (Refused, KeyError, TypeError, ValueError) as error:
        print(f"refused: {error!r}" if not isinstance(error, Refused) else f"refused: {error}")
        sys.exit(1)
