/**
 * Checks the manifests of forwarded objects in order, one at a time, so that a chain of any length fits into memory. Texts
 * come from the store of the receiver and may be anything. Proven by `test/core/forwards/chain.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256Text } from '../hash.ts';
import { canonicalText } from '../json/canonical.ts';
import { parseJson, type JsonObject } from '../json/parse.ts';
import { count, hashForm, object, refuse, text, type Location } from '../json/shape.ts';
import { type ForwardManifest, manifestSchema } from './manifest.ts';

const root: Location = { file: 'manifest' };
const members = ['leaves', 'object', 'origin', 'previous', 'projectId', 'schema', 'sequence'] as const;
const bounds = { depth: 4, values: 32, nameChars: 64, stringBytes: limits.forwardManifestBytes };
const keyForm = /(?:^|\/)([^/]+)\/records\/((\d{16})-(\d{16})\.ndjson\.gz)$/;

/** The manifest of the last link, and its hash. */
export interface ChainHead {
  readonly manifest: ForwardManifest;
  readonly hash: string;
}

export class ManifestChain {
  #head: ChainHead | null = null;

  get head(): ChainHead | null {
    return this.#head;
  }

  /** Adds the next manifest. VALIDATION_ERROR where it does not continue the chain, which then stays as it was. */
  add(written: string): ChainHead {
    const manifest = readManifest(written);
    const { sequence, previous, leaves, projectId, origin } = manifest;
    const before = this.#head;
    const next = before === null ? 0 : before.manifest.sequence + 1;
    if (sequence !== next) refuse({ up: root, name: 'sequence' }, String(next), sequence);
    if (previous !== (before?.hash ?? null))
      refuse(
        { up: root, name: 'previous' },
        `the hash of the manifest before, ${before?.hash ?? null}`,
        previous,
      );
    if (before !== null) {
      const { projectId: project, origin: log, leaves: covered } = before.manifest;
      if (projectId !== project) refuse({ up: root, name: 'projectId' }, project, projectId);
      if (origin !== log) refuse({ up: root, name: 'origin' }, `the log ${log}`, origin);
      if (leaves.from !== covered.to)
        refuse({ up: root, name: 'leaves' }, `leaves from ${covered.to}`, leaves.from);
    }
    this.#head = { manifest, hash: sha256Text(written) };
    return this.#head;
  }
}

/** Reads one manifest by itself. VALIDATION_ERROR, INVALID_JSON or JSON_TOO_COMPLEX for another text. */
export function readManifest(written: string): ForwardManifest {
  const value = object(parseJson(Buffer.from(written), bounds), root, { required: members });
  if (value['schema'] !== manifestSchema)
    refuse({ up: root, name: 'schema' }, manifestSchema, value['schema']);
  const covered: Location = { up: root, name: 'leaves' };
  const range = object(value['leaves'], covered, { required: ['from', 'to'] });
  const projectId = text(value, 'projectId', root);
  const leaves = { from: count(range, 'from', covered), to: count(range, 'to', covered) };
  const manifest: ForwardManifest = {
    schema: manifestSchema,
    projectId,
    origin: text(value, 'origin', root),
    sequence: count(value, 'sequence', root),
    previous: value['previous'] === null ? null : text(value, 'previous', root, hashForm),
    leaves,
    object: value['object'] === null ? null : readObject(value['object'] as JsonObject, projectId, leaves),
  };
  if (canonicalText(manifest) !== written)
    throw new GovError(
      'VALIDATION_ERROR',
      'manifest: expected canonical JSON (RFC 8785), got another spelling',
    );
  return manifest;
}

function readObject(
  value: JsonObject,
  projectId: string,
  { from, to }: ForwardManifest['leaves'],
): NonNullable<ForwardManifest['object']> {
  const at: Location = { up: root, name: 'object' };
  const named = object(value, at, { required: ['bytes', 'key', 'records', 'sha256'] });
  const key = text(named, 'key', at);
  const [, project, , first, last] = keyForm.exec(key) ?? [];
  const isOfRange = Number(first) >= from && Number(first) <= Number(last) && Number(last) === to - 1;
  if (project !== projectId || !isOfRange)
    refuse({ up: at, name: 'key' }, `a key of the project for leaves from ${from} to ${to - 1}`, key);
  return {
    key,
    bytes: count(named, 'bytes', at),
    sha256: text(named, 'sha256', at, hashForm),
    records: count(named, 'records', at),
  };
}

/** The last part of an object's key, its name below `records/`. */
export const nameOf = ({ key }: NonNullable<ForwardManifest['object']>): string =>
  key.slice(key.lastIndexOf('/') + 1);
