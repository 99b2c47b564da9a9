/**
 * `manifest.json` of a backup: the size and SHA-256 of every file, and the newest signed checkpoint of each
 * log. `manifest.note` is a C2SP signed note over its SHA-256 by the audit log's Ed25519 key. Its text is
 * `gov.backup/1 \n <origin of the audit log> \n <sha256 in hex> \n`, so it is not a checkpoint. Proven by
 * `test/plane/data/backup.test.ts`.
 */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { openNote, signNote, type NoteSigner, type VerifierKey } from '../../src/core/note/signed.ts';
import { explain, type JsonSchema } from '../../src/service/call/explain.ts';
import { oneOf, orNull, text } from '../../src/host/config/layers.ts';
import type { FileSum } from './files.ts';

export interface ManifestLog {
  readonly tree: 'audit' | 'metering';
  readonly origin: string;
  readonly size: number;
  /** Base64. */
  readonly root: string;
  /** The newest signed note. Null where the log has no signed checkpoint. */
  readonly checkpoint: string | null;
}

export interface Manifest {
  readonly schema: 'gov.backup/1';
  readonly createdAt: string;
  /** Version of gov. */
  readonly version: string;
  readonly projectId: string;
  readonly withKeys: boolean;
  readonly logs: readonly ManifestLog[];
  readonly files: readonly FileSum[];
}

export const manifestFile = 'manifest.json';
export const manifestNote = 'manifest.note';

const count: JsonSchema = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const exactly = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

const schema: JsonSchema = exactly({
  schema: oneOf(['gov.backup/1']),
  createdAt: text(64),
  version: text(64),
  projectId: text(64),
  withKeys: { type: 'boolean' },
  logs: {
    type: 'array',
    maxItems: 16,
    items: exactly({
      tree: oneOf(['audit', 'metering']),
      origin: text(255),
      size: count,
      root: text(44),
      checkpoint: orNull(text(1_000_000)),
    }),
  },
  files: {
    type: 'array',
    maxItems: 10_000,
    items: exactly({
      // The path stays below the directory.
      path: { type: 'string', pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]*(?:/[A-Za-z0-9_][A-Za-z0-9._-]*){0,4}$' },
      bytes: count,
      sha256: { type: 'string', pattern: '^[0-9a-f]{64}$' },
    }),
  },
});

const manifestText = (manifest: Manifest): string => `${JSON.stringify(manifest, null, 2)}\n`;

const noteText = (origin: string, manifest: string): string =>
  `gov.backup/1\n${origin}\n${createHash('sha256').update(manifest).digest('hex')}\n`;

/** Formats both files. `signer` is the audit log's Ed25519 key, named by its origin. */
export function formatManifest(
  manifest: Manifest,
  signer: NoteSigner,
): { readonly json: string; readonly note: string } {
  const json = manifestText(manifest);
  return { json, note: signNote(noteText(signer.name, json), [signer]) };
}

/**
 * NOT_FOUND where the directory is not a backup, VALIDATION_ERROR for an invalid manifest. Verifies no
 * signature.
 */
export function readManifest(folder: string): { readonly manifest: Manifest; readonly json: string } {
  let json: string;
  try {
    json = readFileSync(join(folder, manifestFile), 'utf8');
  } catch (cause) {
    const detail = `expected a backup of gov plane backup in ${folder}, got no readable ${manifestFile}`;
    throw new GovError('NOT_FOUND', detail, { cause });
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (cause) {
    throw damaged(`${manifestFile}: expected JSON`, cause);
  }
  const [fault] = explain(schema, value, { in: 'body' }).errors;
  if (fault !== undefined) throw damaged(`${manifestFile} ${fault.pointer}: ${fault.detail}`);
  return { manifest: value as Manifest, json }; // the schema holds what the type says
}

/** INVALID_SIGNATURE where none of the keys signed this manifest. */
export function verifyManifest(
  folder: string,
  { json, origin }: { readonly json: string; readonly origin: string },
  keys: readonly VerifierKey[],
): void {
  let note: string;
  try {
    note = readFileSync(join(folder, manifestNote), 'utf8');
  } catch (cause) {
    throw damaged(`expected ${manifestNote} beside ${manifestFile}`, cause);
  }
  if (openNote(note, keys).text === noteText(origin, json)) return;
  throw new GovError(
    'INVALID_SIGNATURE',
    `expected ${manifestNote} to sign this ${manifestFile}, got another`,
  );
}

export const damaged = (detail: string, cause?: unknown): GovError =>
  new GovError('STORAGE_FAULT', `${detail}; take another backup`, { cause });
