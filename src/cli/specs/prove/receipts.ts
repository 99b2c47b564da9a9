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
