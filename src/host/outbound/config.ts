/**
 * The settings for what leaves the process, in plane.json and service.json. Proven by
 * `test/host/outbound/config.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { X509Certificate } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import { filePath, invalid, text } from '../config/layers.ts';
import { AllowList } from './allowed.ts';

/** Members of the file. */
export interface OutboundFile {
  /** Receivers inside our networks, see `allowed.ts`. Absent: receivers on the Internet only. */
  readonly outboundAllow?: readonly string[];
  /** Path of a PEM file with additional authorities, relative to the data directory. */
  readonly outboundCa?: string;
}

export const outboundMembers = {
  outboundAllow: { type: 'array', maxItems: limits.outboundAllow, items: text(300) },
  outboundCa: filePath,
} satisfies Readonly<Record<keyof OutboundFile, JsonSchema>>;

export interface OutboundConfig {
  readonly allowed: AllowList;
  /** Additional authorities, PEM. Null: those of Node only. */
  readonly authorities: string | null;
}

/** VALIDATION_ERROR names the member of the file. */
export function outboundOf(
  { outboundAllow = [], outboundCa }: OutboundFile,
  { dataDir, path }: { readonly dataDir: string; readonly path: string },
): OutboundConfig {
  return {
    allowed: new AllowList(outboundAllow, `${path} /outboundAllow`),
    authorities: outboundCa === undefined ? null : pem(resolve(dataDir, outboundCa), `${path} /outboundCa`),
  };
}

function pem(file: string, from: string): string {
  try {
    const found = readFileSync(file, 'utf8');
    void new X509Certificate(found); // throws for anything else
    return found;
  } catch (cause) {
    if (cause instanceof GovError) throw cause;
    throw invalid(from, `a PEM file with certificates, got ${file}`, cause);
  }
}

/** Receivers on the Internet only. */
export const noOutbound: OutboundConfig = outboundOf({}, { dataDir: '', path: '' });
