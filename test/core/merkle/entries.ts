/** Reads entry bundles as an auditor would: C2SP tlog-tiles, each record after its length as a big-endian uint16. */

export function entriesIn(bundle: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < bundle.length; at += 2 + bundle.readUInt16BE(at))
    records.push(bundle.subarray(at + 2, at + 2 + bundle.readUInt16BE(at)));
  return records;
}
