/** Commands of the noun receipts, as data. Tested by `test/cli/commands/receipts/verify.test.ts`. */
import { command, flag } from '../../program/spec.ts';
import { trusted } from '../../program/trusted.ts';

export const receiptsGet = command({
  name: 'receipts get',
  prints: 'none',
  summary: 'Get a receipt (RFC 9942, COSE) that a leaf is in the log',
  details: [
    'The log signs the root of its newest checkpoint in the COSE form, with the path of the leaf. Programs that know RFC 9942 verify it with the Ed25519 key of the log; so does gov receipts verify.',
  ],
  args: [{ name: 'index', description: 'Index of the leaf in the log' }],
  flags: { out: flag.text('FILE', 'Write to this file; default: standard output', { short: 'O' }) },
  examples: ['gov receipts get 245 -O 245.receipt.cose'],
  exitCodes: { 5: 'the log has no such leaf' },
});

export const receiptsVerify = command({
  name: 'receipts verify',
  prints:
    'verified:boolean code:string|null detail:string|null origin:string|null size:integer|null index:integer|null signedAt:string|null',
  summary: 'Verify a receipt of a leaf, offline',
  details: [
    'The leaf is given by its record, byte for byte as the log has it, or by its hash, SHA-256(0x00 || record). Several --leaf are consecutive leaves. A receipt of few leaves lists their hashes; without --leaf and --record these are verified, and whoever has the record compares it.',
  ],
  args: [{ name: 'file', description: 'Receipt' }],
  flags: {
    leaf: flag.list('HASH', 'Hash of the leaf, sha256: and 64 hex digits; repeatable'),
    record: flag.text('FILE', 'File with the record of the leaf'),
    ...trusted,
  },
  examples: [
    'gov receipts verify 245.receipt.cose',
    'gov receipts verify 245.receipt.cose --leaf sha256:0000000000000000000000000000000000000000000000000000000000000000',
    'gov receipts verify 245.receipt.cose --record 245.json --trust auditor.trust',
  ],
  exitCodes: {
    2: 'no key is trusted, or the file is no receipt',
    3: 'the receipt is not of this leaf or this log',
  },
});

export const receiptsCheck = command({
  name: 'receipts check',
  prints:
    'receipts[] outcome first:integer|null last:integer|null signedAt:string|null lost:integer evidence:string|null detail:string|null',
  summary: 'Check that the log has kept what it acknowledged',
  details: [
    'Recorders with a spool and gov events push --spool keep acknowledged batches with their receipts until the log proves that it has kept them. Hooks, gov run and gov mcp proxy keep the receipts alone, next to the configuration. This command compares the rest with a newer signed tree: of the service, or of a bundle or checkpoint that somebody else has. It changes nothing in the spool.',
    'kept: the log has the same leaves. pending: no newer tree yet, and the receipt is younger than 60 s. lost_admitted: leaves are gone, and a leaf of the log says so. broken: the log lacks a leaf that it acknowledged, or contradicts a tree that it showed; the evidence is written to a file. content_differs: the stored event is not what the spool sent, which nobody else can check. refused: the log gives no valid proof.',
  ],
  flags: {
    spool: flag.text(
      'DIR',
      'Spool; default: that of gov events push, and what commands and hooks without a spool keep',
    ),
    bundle: flag.text('FILE', 'Compare with the checkpoint of this proof'),
    checkpoint: flag.text('FILE', 'Compare with this signed checkpoint'),
    ...trusted,
  },
  examples: [
    'gov receipts check --trust auditor.trust',
    'gov receipts check --spool=/var/lib/agent/spool --checkpoint checkpoint.txt --trust auditor.trust',
  ],
  exitCodes: {
    0: 'every receipt is kept',
    2: 'no key is trusted, or a file or the spool cannot be read',
    3: 'a receipt is broken, leaves are lost, or a stored event differs',
    6: 'another process uses the spool, and checks its receipts itself',
    8: 'a receipt is pending, none is worse',
    9: 'nothing was compared: there is no receipt and no signed tree',
    10: 'the log gives no valid proof, or cannot be reached',
  },
});
