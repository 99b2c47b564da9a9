/** Files with proofs, sound and tampered with, and the verdict on each by the verifier of `gov proofs verify`. */
import { verifyExport } from '../../../src/core/exports/verify.ts';
import { formatTrust, type Trust } from '../../../src/core/note/trust.ts';
import { answerText, verifyAnswer } from '../../../src/core/proofs/answer.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { verifyReport } from '../../../src/core/reports/verify.ts';
import { readReportFonts } from '../../../src/host/reports/fonts.ts';
import { artifactOf, events, inChunks } from '../../core/exports/log.ts';
import { answer } from '../../core/proofs/asked.ts';
import { bytesOf, sample, trust, verify, witnessSigner } from '../../core/proofs/log.ts';
import { byPasskey, lies, signedByEach } from '../../core/proofs/signed-log.ts';
import { sampleReport, signedPdf } from '../../core/reports/sample.ts';
import { parseVerifierKey } from '../../../src/core/note/signed.ts';

/** What the library says of the pages of a report. */
const pages = 'gov report verify renders the printed pages again, and compares them with the data';

export interface Case {
  readonly name: string;
  readonly kind: 'proof' | 'export' | 'answer' | 'report';
  readonly bytes: Uint8Array;
  /** A trust file; null for none. */
  readonly trust: string | null;
  readonly verdict: object;
}

const witnessed: Trust = { ...trust, witnesses: [parseVerifierKey(witnessSigner.verifierKey)], quorum: 1 };
const stranger: Trust = { ...trust, keys: witnessed.witnesses, origin: witnessSigner.name };

/** The bytes with one bit flipped at about every `step` bytes, and cut at some. */
function* tampered(bytes: Uint8Array, step: number): Generator<[string, Uint8Array]> {
  for (let at = 0; at < bytes.length; at += step) {
    const copy = Uint8Array.from(bytes);
    copy[at]! ^= 1 << (at % 8);
    yield [`byte ${at} changed`, copy];
  }
  yield ['cut', bytes.subarray(0, bytes.length / 2)];
  yield ['empty', bytes.subarray(0, 0)];
}

const trustText = (by: Trust | null): string | null => (by === null ? null : formatTrust(by));

export async function cases(changes = 60): Promise<Case[]> {
  const all: Case[] = [];
  const judge = async (kind: Case['kind'], bytes: Uint8Array, by: Trust | null): Promise<object> => {
    if (kind === 'proof') return verifyBundle(bytes, by);
    if (kind === 'answer') return verifyAnswer(bytes, by);
    if (kind === 'report') return verifyReport(bytes, { trust: by, pages });
    return verifyExport(inChunks(bytes), by);
  };
  const add = async (
    name: string,
    kind: Case['kind'],
    bytes: Uint8Array,
    by: Trust | null,
  ): Promise<void> => {
    all.push({ name, kind, bytes, trust: trustText(by), verdict: await judge(kind, bytes, by) });
  };
  const sound = [
    ['proof', bytesOf(sample())],
    ['proof', bytesOf(sample({ disclose: (pointer) => pointer !== '/action' }))],
    ['proof', bytesOf(sample({ disclose: () => true }))],
    ['export', Buffer.from(artifactOf(events(), { later: 3 }))],
    ['report', await signedPdf(sampleReport({ rows: 3 }), { fonts: await readReportFonts() })],
    ['answer', Buffer.from(answerText(answer(['type', 'tool.call'], { since: null, until: null })))],
  ] as const;
  for (const [kind, bytes] of sound) {
    await add('sound', kind, bytes, trust);
    await add('without trust', kind, bytes, null);
    await add('with a witness', kind, bytes, witnessed);
    for (const [name, copy] of tampered(bytes, Math.ceil(bytes.length / changes))) {
      // the verifier looks at how a file begins: one that does not begin like an export, an answer or a report is a proof
      const asProof = name === 'byte 0 changed' || name === 'empty' || (kind === 'answer' && !isJson(copy));
      await add(name, asProof ? 'proof' : kind, copy, trust);
    }
  }
  all.push(...all.slice(0, 1).map((each) => ({ ...each, name: 'foreign key', trust: keyOf(stranger) })));
  const foreign = all.at(-1)!;
  all[all.length - 1] = { ...foreign, verdict: verifyBundle(foreign.bytes, stranger) };
  return all;
}

const keyOf = ({ keys }: Trust): string => keys.map(({ text }) => text).join('\n');

function isJson(bytes: Uint8Array): boolean {
  try {
    const value: unknown = JSON.parse(Buffer.from(bytes).toString());
    return (value as { mediaType?: unknown }).mediaType === 'application/vnd.gov.answer.v1+json';
  } catch {
    return false;
  }
}

/** Bundles with signed approvals: by each kind of key, changed, and of logs that lie. */
export function signedEvidence(): Case[] {
  const { cases: each, end } = signedByEach();
  end();
  return [...each, ...lies(byPasskey('ES256'))].map(({ name, bundle }) => ({
    name,
    kind: 'proof',
    bytes: bytesOf(bundle),
    trust: trustText(trust),
    verdict: verify(bundle),
  }));
}
