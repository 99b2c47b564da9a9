/**
 * `s3://BUCKET/PREFIX`, read as text: a URL would drop `#` and `?` with what follows, and resolve `..`. The prefix is part
 * of each key character by character; a prefix that a store or a copy of it cannot keep is refused.
 * Proven by `test/host/forwards/prefixes.test.ts`.
 */
import { invalid } from '../config/layers.ts';

interface BucketAddress {
  readonly bucket: string;
  /** Without slashes at its ends; may be empty. */
  readonly prefix: string;
}

export const isBucketAddress = (text: string): boolean => /^s3:\/\//i.test(text);

/** The bucket and the prefix; one slash at the end counts as none. VALIDATION_ERROR names the part that is wrong. */
export function parseBucketAddress(text: string, from: string): BucketAddress {
  const [bucket = '', ...parts] = text.slice('s3://'.length).split('/');
  if (bucket.includes('@')) throw invalid(from, 'an address without a user or password');
  // the bucket is part of a host name or of a path
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,254}$/.test(bucket))
    throw invalid(from, "s3://BUCKET/PREFIX with a bucket of letters, digits, '.', '_' and '-'");
  if (parts.at(-1) === '') parts.pop();
  const part = parts.find((each) => each === '' || each === '.' || each === '..');
  if (part !== undefined)
    throw invalid(from, `a prefix without empty parts, '.' and '..', got the part '${part}'`);
  if (unkept.test(text)) throw invalid(from, 'a prefix without control characters and halves of characters');
  return { bucket, prefix: parts.join('/') };
}

/** The list of a store is XML 1.0, which cannot spell these. */
const unkept = /[\p{Cc}\p{Cs}\ufffe\uffff]/u;
